"""Google's SDK, generateContent: a chat object, a stream, and automatic function calling."""

from google import genai
from google.genai import types
from talk import MODEL, SAID, get_weather, report

client = genai.Client()

chat = client.chats.create(model=MODEL)
chat.send_message(SAID["first"])
second = chat.send_message(SAID["second"])

stream = client.models.generate_content_stream(model=MODEL, contents=SAID["stream"])
chunks = [chunk.text or "" for chunk in stream]

told = client.models.generate_content(
    model=MODEL, contents=SAID["ask"], config=types.GenerateContentConfig(tools=[get_weather])
)

report("google-genai", second.text, chunks, told.text)
