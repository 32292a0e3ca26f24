"""pydantic-ai: the second argument is its prefix for the model, as in `openai-chat:gpt-5`."""

import asyncio
import sys

from pydantic_ai import Agent
from talk import MODEL, SAID, get_weather, report

name = f"{sys.argv[2]}:{MODEL}"


async def main():
    """Two turns, a stream, a tool."""
    agent = Agent(name)
    first = await agent.run(SAID["first"])
    second = await agent.run(SAID["second"], message_history=first.all_messages())
    async with agent.run_stream(SAID["stream"]) as stream:
        chunks = [chunk async for chunk in stream.stream_text(delta=True, debounce_by=None)]
    told = await Agent(name, tools=[get_weather]).run(SAID["ask"])
    report("pydantic-ai-slim", second.output, chunks, told.output)


asyncio.run(main())
