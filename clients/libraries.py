"""SDKs and frameworks: each runs one script, which talks, streams, calls a tool, and prints what it heard."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clients.running import PLAIN, Place, Turn, lines_for

HERE = Path(__file__).parent
SAID: dict[str, Any] = json.loads((HERE / "conversation.json").read_text("utf-8"))
PYTHON = HERE / ".made/python/bin/python"
OLDER = HERE / ".made/older/bin/python"
LONGEST = 120
"""Seconds that a script may take."""
MODELS = ("gpt-5", "claude-sonnet-5-5", "gemini-3-pro")
"""One of each provider: every client is also served by the two whose format it does not speak."""


@dataclass(frozen=True, slots=True)
class Library:
    """An SDK or a framework.

    Args:
        name: as the table shows it. language: of the script.
        speaks: the client format.
        env: the name by which `foldline env` knows what it reads.
        script: its file, and the arguments behind the model's name.
        python: the interpreter, where it is a Python script.
    """

    name: str
    speaks: str
    env: str
    script: tuple[str, ...]
    python: Path = PYTHON
    models: tuple[str, ...] = MODELS

    @property
    def language(self) -> str:
        """Python or JavaScript."""
        return "JavaScript" if self.script[0].endswith(".mjs") else "Python"


def _vercel(package: str, speaks: str, env: str, way: str) -> Library:
    return Library(f"ai, {package}", speaks, env, ("javascript/vercel_ai.mjs", way))


CHAT, RESPONSES, MESSAGES = "Chat Completions", "Responses", "Messages"
GENERATE, INTERACTIONS = "generateContent", "Interactions"

LIBRARIES = (
    Library("openai", CHAT, "openai", ("python/openai_chat.py",)),
    Library("openai", RESPONSES, "openai", ("python/openai_responses.py",)),
    Library("anthropic", MESSAGES, "anthropic", ("python/anthropic_messages.py",)),
    Library("google-genai", GENERATE, "google-genai", ("python/google_generate.py",)),
    Library("google-genai", INTERACTIONS, "google-genai", ("python/google_interactions.py",)),
    Library("openai", CHAT, "openai", ("javascript/openai_chat.mjs",)),
    Library("openai", RESPONSES, "openai", ("javascript/openai_responses.mjs",)),
    Library("@anthropic-ai/sdk", MESSAGES, "anthropic", ("javascript/anthropic_messages.mjs",)),
    Library("@google/genai", GENERATE, "google-genai", ("javascript/google_generate.mjs",)),
    Library("@google/genai", INTERACTIONS, "google-genai", ("javascript/google_interactions.mjs",)),
    _vercel("@ai-sdk/openai", CHAT, "openai", "openai-chat"),
    _vercel("@ai-sdk/openai", RESPONSES, "openai", "openai-responses"),
    _vercel("@ai-sdk/anthropic", MESSAGES, "anthropic", "anthropic"),
    _vercel("@ai-sdk/google", GENERATE, "google-genai", "google"),
    Library("langchain-openai", CHAT, "openai", ("python/langchain_models.py", "langchain-openai")),
    Library("langchain-openai", RESPONSES, "openai", ("python/langchain_models.py", "langchain-openai-responses")),
    Library("langchain-anthropic", MESSAGES, "anthropic", ("python/langchain_models.py", "langchain-anthropic")),
    Library(
        "langchain-google-genai", GENERATE, "google-genai", ("python/langchain_models.py", "langchain-google-genai")
    ),
    Library("pydantic-ai", CHAT, "openai", ("python/pydantic_ai_agent.py", "openai-chat")),
    Library("pydantic-ai", RESPONSES, "openai", ("python/pydantic_ai_agent.py", "openai-responses")),
    Library("pydantic-ai", MESSAGES, "anthropic", ("python/pydantic_ai_agent.py", "anthropic")),
    Library("pydantic-ai", GENERATE, "google-genai", ("python/pydantic_ai_agent.py", "google"), OLDER),
    Library("llm", CHAT, "openai", ("python/llm_models.py", "llm"), OLDER),
    Library(
        "llm-anthropic", MESSAGES, "anthropic", ("python/llm_models.py", "llm-anthropic"), OLDER, ("claude-sonnet-4-5",)
    ),
)
"""Every library that is tried."""


def try_library(place: Place, library: Library, model: str, key: str, node: Path) -> tuple[str, list[str]]:
    """Run the script once: the library's version (empty if it told none), and what was wrong."""
    _, variables = lines_for(library.env, place.url, key)
    script = HERE / library.script[0]
    interpreter = node if library.language == "JavaScript" else library.python
    place.turns()
    place.refusals()
    try:
        done = subprocess.run(
            [interpreter, script, model, *library.script[1:]],
            env={**PLAIN, "HOME": str(place.folder), **variables},
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", [f"no end within {LONGEST} s"]
    if done.returncode:
        return "", [done.stderr[-1500:].strip() or f"exit code {done.returncode}"]
    heard = json.loads(done.stdout.splitlines()[-1])
    return heard["version"], [*judged(heard), *place.refusals(), *told_apart(place.turns())]


def judged(heard: dict[str, Any]) -> Iterator[str]:
    """What is wrong in what a client heard."""
    if SAID["expected"] not in heard["second"]:
        yield f"the second turn does not know the first: {heard['second']!r}"
    if heard["streamed"].strip() != SAID["streamed"] or heard["chunks"] < 2:
        yield f"the stream is not what was said: {heard['streamed']!r} in {heard['chunks']} pieces"
    if heard["called"] != [SAID["arguments"]]:
        yield f"the tool was called with {heard['called']!r}"
    if SAID["result"] not in heard["told"]:
        yield f"the tool's result did not arrive: {heard['told']!r}"


def told_apart(turns: list[Turn]) -> Iterator[str]:
    """What is wrong in how Foldline took the turns: the talk, the stream and the tool's talk are three sessions."""
    if failed := [turn.status for turn in turns if turn.status != 200]:
        yield f"turns that failed: {failed}"
    counts = sorted(Counter(turn.session for turn in turns).values())
    if counts != [1, 2, 2]:
        yield f"turns by session: {counts}, not two talks of two turns and a stream"
