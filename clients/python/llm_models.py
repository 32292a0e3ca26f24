"""Simon Willison's llm, by its library: the second argument says by which plugin it reaches a model."""

import os
import sys
import tempfile
from pathlib import Path

from talk import MODEL, SAID, get_weather, report

os.environ["LLM_USER_PATH"] = tempfile.mkdtemp()
plugin = sys.argv[2]
if plugin == "llm":  # its own OpenAI plugin: a model at another address stands in a file
    models = Path(os.environ["LLM_USER_PATH"], "extra-openai-models.yaml")
    models.write_text(
        f"- model_id: foldline\n  model_name: {MODEL}\n  api_base: {os.environ['OPENAI_BASE_URL']}\n"
        "  supports_tools: true\n"
    )

import llm  # noqa: E402  # it reads its folder when it is imported

model = llm.get_model("foldline" if plugin == "llm" else f"anthropic/{MODEL}")

conversation = model.conversation()
conversation.prompt(SAID["first"], stream=False).text()
second = conversation.prompt(SAID["second"], stream=False).text()

chunks = list(model.prompt(SAID["stream"], stream=True))

told = model.conversation().chain(SAID["ask"], tools=[get_weather]).text()
report(plugin, second, chunks, told)
