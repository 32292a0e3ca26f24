"""Google's SDK, Interactions: each turn goes on from the one before by its id."""

from google import genai
from talk import MODEL, SAID, get_weather, report

client = genai.Client()


def text(interaction):
    """All that an answer says."""
    return "".join(
        content.text
        for step in interaction.steps
        if step.type == "model_output"
        for content in step.content
        if content.type == "text"
    )


first = client.interactions.create(model=MODEL, input=SAID["first"])
second = client.interactions.create(model=MODEL, input=SAID["second"], previous_interaction_id=first.id)

chunks = []
for event in client.interactions.create(model=MODEL, input=SAID["stream"], stream=True):
    if event.event_type == "step.start" and event.step.type == "model_output":  # may hold the first words already
        chunks += [content.text for content in event.step.content or [] if content.type == "text"]
    elif event.event_type == "step.delta" and event.delta.type == "text":
        chunks.append(event.delta.text)

tools = [{"type": "function", **SAID["tool"]}]
asked = client.interactions.create(model=MODEL, input=SAID["ask"], tools=tools)
results = [
    {"type": "function_result", "call_id": step.id, "name": step.name, "result": get_weather(**step.arguments)}
    for step in asked.steps
    if step.type == "function_call"
]
told = client.interactions.create(model=MODEL, input=results, tools=tools, previous_interaction_id=asked.id)

report("google-genai", text(second), chunks, text(told))
