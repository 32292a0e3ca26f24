"""What the simulated model answers to a Messages request: thinking, text, calls, and why it ended."""

from __future__ import annotations

import dataclasses

from app.simulator.anthropic.asking import Asking
from app.simulator.anthropic.cache import Spent
from app.simulator.anthropic.compaction import compaction_block
from app.simulator.anthropic.replies import Ending, Saying
from app.simulator.anthropic.talks import begun
from app.simulator.anthropic.thoughts import Thought, thought_of
from app.simulator.anthropic.tools import on_server
from app.simulator.directives import Directives
from app.simulator.estimate import tokens
from app.simulator.mind.answers import think
from app.simulator.mind.talk import Answer, Talk
from app.simulator.shapes import Json, as_object, as_text, digest, objects

REDACTS = (
    "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING_46C9A13E193C177646C7398A98432ECCCE4C1253D5E2D82641AC0E52CC2876CB"
)
REFUSES = "ANTHROPIC_MAGIC_STRING_TRIGGER_REFUSAL_1FAEFB6177B4672DEE07F9D3AFC62588CCD2631EDCF22E8CCC1FB35B501C9C86"
_REFUSAL: Json = {
    "type": "refusal",
    "category": "general_harms",
    "explanation": "The request was declined by the simulator, as it was told to.",
}


def saying_of(
    asking: Asking, talk: Talk, orders: Directives, spent: Spent, seed: str, *, resumes: bool, most: int
) -> Saying:
    """The answer.

    Args:
        talk: its cap on tokens is what `most` and the window leave.
        resumes: the last message is a paused answer, which goes on.
        most: `max_tokens` of the request; 0 asks for nothing but a warm cache.
    """
    answer = Answer(cut=True) if most == 0 else think(talk, orders)
    answer = dataclasses.replace(answer, reasoning=answer.reasoning if talk.thinks else "")
    ending = _ending(answer, talk, orders, most)
    saying = Saying(answer, asking.model.name, seed, spent, ending, more=_more(asking))
    if ending.reason == "refusal":
        return dataclasses.replace(saying, answer=Answer())
    paused = ending.reason == "pause_turn"
    if paused and resumes:
        paused, saying = False, dataclasses.replace(saying, ending=Ending())
    saying = dataclasses.replace(saying, answer=_without(answer, begun(asking.messages)))
    saying = _with_server_tools(saying, asking, paused=paused)
    return _with_thought(saying, asking, talk)


def compacted(asking: Asking, talk: Talk, spent: Spent, seed: str) -> Saying:
    """A summary of the conversation in place of an answer. What it takes stands in `usage.iterations` alone."""
    block = compaction_block(talk, asking.judged.line)
    return Saying(Answer(), asking.model.name, seed, spent, Ending("compaction"), behind=(block,))


def _ending(answer: Answer, talk: Talk, orders: Directives, most: int) -> Ending:
    told = orders.text("finish") or ("refusal" if REFUSES in talk.asked else "")
    if told:
        return Ending(told, details=_REFUSAL if told == "refusal" else None)
    if answer.cut:
        window_ended = talk.max_tokens is not None and talk.max_tokens < most
        return Ending("model_context_window_exceeded" if window_ended else "max_tokens")
    if answer.calls:
        return Ending("tool_use")
    met = _stop_met(talk, orders)
    return Ending("stop_sequence", met) if met else Ending()


def _stop_met(talk: Talk, orders: Directives) -> str | None:
    """The stop sequence that ended the text: the one that comes first in what would have been said."""
    if not talk.stop:
        return None
    text = think(dataclasses.replace(talk, stop=(), max_tokens=None), orders).text
    found = [(at, stop) for stop in talk.stop if (at := text.find(stop)) >= 0]
    return min(found)[1] if found else None


def _without(answer: Answer, said: str | None) -> Answer:
    """The rest of an answer whose beginning is there already."""
    if said and answer.text.startswith(said):
        return dataclasses.replace(answer, text=answer.text[len(said) :])
    return answer


def _with_server_tools(saying: Saying, asking: Asking, *, paused: bool) -> Saying:
    """A paused answer stops half-way, with a call of a tool that the provider runs, if one was offered."""
    waiting = [block for block in objects(asking.messages[-1].get("content")) if block.get("type") == "server_tool_use"]
    if waiting and asking.messages[-1].get("role") == "assistant":
        name = as_text(waiting[-1].get("name"))
        result: Json = {"type": f"{name}_tool_result", "tool_use_id": as_text(waiting[-1].get("id")), "content": []}
        saying = dataclasses.replace(saying, before=(result,))
    if not paused:
        return saying
    text = saying.answer.text
    half = text[: len(text) // 2]
    answer = dataclasses.replace(saying.answer, text=half if half.strip() else text, calls=())
    offered = [as_text(tool.get("name")) for tool in objects(asking.body.get("tools")) if on_server(tool)]
    names = [name for name in offered if name in ("web_search", "web_fetch", "code_execution")]
    call: Json = {"type": "server_tool_use", "id": f"srvtoolu_{digest(saying.seed, 'server')}", "input": {"query": "x"}}
    behind = tuple(call | {"name": name} for name in names[:1])
    return dataclasses.replace(saying, answer=answer, behind=behind)


def _with_thought(saying: Saying, asking: Asking, talk: Talk) -> Saying:
    reasoning = saying.answer.reasoning
    if not reasoning:
        return saying
    display = as_text(as_object(asking.body.get("thinking")).get("display"))
    shown = display != "omitted" if display else not asking.model.hides
    thought: Thought = thought_of(reasoning, tokens(reasoning), asking.model, asking.judged, saying.seed, shown=shown)
    return dataclasses.replace(saying, thought=thought, shown=shown, redacted=REDACTS in talk.asked)


def _more(asking: Asking) -> tuple[tuple[str, object], ...]:
    more: list[tuple[str, object]] = []
    if asking.judged.transformations:
        more.append(("input_transformations", list(asking.judged.transformations)))
    if "context_management" in asking.body:
        more.append(("context_management", {"applied_edits": []}))
    return tuple(more)
