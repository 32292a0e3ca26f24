"""Thinking blocks: signed when they are made, judged when they come back.

A signature says in its own bytes which model thought, in front of which conversation, and what, under a keyed seal: so
nothing is stored, and what was made up, reworded, moved or kept while its past changed is known for what it is. Rules,
from Anthropic's pages on thinking and on preserved thinking: a reworded or foreign block is refused; on the models that
bind, so is one whose system text, tools or earlier messages are not those that it was made in front of, or between
whose predecessors one is missing; a model silently leaves out what it cannot read.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

from app.simulator.anthropic.compaction import summarised_line
from app.simulator.anthropic.line import Placed, ends_of, system_of, tools_of
from app.simulator.anthropic.models import Model, reads
from app.simulator.anthropic.problems import refused
from app.simulator.anthropic.seals import opened, sealed
from app.simulator.anthropic.terms import Terms
from app.simulator.shapes import Json, as_object, as_text, digest, objects

_CONTROLS = "thinking-binding-controls-2026-08-01"


@dataclass(frozen=True, slots=True)
class Thought:
    """What a signature says.

    Attributes:
        said: a digest of the text; empty where the text was left out (then any text may come back).
        before: the line of messages, `system` and `tools` in front of which it was thought.
        previous, earlier: the thought before it (empty if it was the first), and how many there were.
        spent: tokens.
    """

    name: str
    model: str
    said: str
    before: str
    system: str
    tools: str
    previous: str
    earlier: int
    spent: int


@dataclass(frozen=True, slots=True)
class Judged:
    """The thinking of a request after the check.

    Attributes:
        line, system, tools: names of what the next thought will stand behind.
        read: the thoughts that the model reads, oldest first, each with the index of its message.
        transformations: what was dropped because the request allows it, as the answer reports it.
    """

    line: str
    system: str
    tools: str
    read: tuple[tuple[int, Thought], ...] = ()
    transformations: tuple[Json, ...] = ()


def thought_of(text: str, spent: int, model: Model, judged: Judged, seed: str, *, shown: bool) -> Thought:
    """What the model thinks in answer to a request; `judged` is what it has read, `seed` makes the name."""
    own = [thought for _, thought in judged.read if thought.model == model.name]
    return Thought(
        name=digest(seed, "thought", length=12),
        model=model.name,
        said=digest(text) if shown else "",
        before=judged.line if model.bound else "",
        system=judged.system if model.bound else "",
        tools=judged.tools if model.bound else "",
        previous=own[-1].name if own else "",
        earlier=len(own),
        spent=spent,
    )


def signature(thought: Thought) -> str:
    """The thought as a signature, or as the data of a redacted one: base64, opaque to clients."""
    return sealed(astuple(thought))


def read(given: str) -> Thought | None:
    """What a signature says; None if it is none of the simulator's."""
    values = opened(given)
    return Thought(*values) if values is not None and len(values) == len(fields(Thought)) else None  # type: ignore[arg-type]  # sealed here, so they are what astuple gave


def judge(body: Json, model: Model, terms: Terms, *, latest: int) -> Judged:
    """Check every thinking block of a request.

    Args:
        latest: the index of the first message of the running turn: a block in it that was reworded is refused in
            other words than an older one.

    Raises:
        RefusalError: a block is corrupted, reworded, or bound to a different conversation.
    """
    drops = _drops(as_object(body.get("thinking")), terms)
    system, tools = digest(system_of(body)), digest(tools_of(body))
    read_so_far: list[tuple[int, Thought]] = []
    dropped: list[Json] = []
    messages = objects(body.get("messages"))
    line = begin = summarised_line(messages)
    for placed, before, line in ends_of(messages, begin):  # noqa: B007  # the last one is what counts
        if placed.kind not in ("thinking", "redacted_thinking"):
            continue
        thought = _signed(placed)
        if not reads(model, thought.model):
            continue
        _check_text(thought, placed, latest=latest)
        own = [one for _, one in read_so_far if one.model == thought.model]
        changed = _changed(thought, before, system, tools, own) if thought.system else ""
        if not changed:
            read_so_far.append((placed.message, thought))
        elif drops:
            reason = "prefix_binding_mismatch"
            dropped.append({"type": "thinking_dropped", "path": placed.path, "reason": reason})
        else:
            raise _moved(placed, changed, terms)
    return Judged(line, system, tools, tuple(read_so_far), tuple(dropped))


def _signed(placed: Placed) -> Thought:
    redacted = placed.kind == "redacted_thinking"
    thought = read(as_text(placed.block.get("data" if redacted else "signature")))
    if thought is None:
        kind = "`data` in `redacted_thinking`" if redacted else "`signature` in `thinking`"
        raise refused(f"{placed.path}: Invalid {kind} block")
    return thought


def _check_text(thought: Thought, placed: Placed, *, latest: int) -> None:
    if placed.kind == "redacted_thinking" or not thought.said:
        return
    if thought.said == digest(as_text(placed.block.get("thinking"))):
        return
    if placed.message >= latest:
        raise unlike_the_original(placed.path)
    raise refused(f"{placed.path}: Invalid `signature` in `thinking` block")


def unlike_the_original(path: str) -> Exception:
    """A block of the running turn was changed or taken away."""
    return refused(
        f"{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
        "These blocks must remain as they were in the original response."
    )


def _changed(thought: Thought, before: str, system: str, tools: str, own: list[Thought]) -> str:
    """What is not as it was when this was thought; empty if all is."""
    if thought.system != system:
        return "`system` changed."
    if thought.tools != tools:
        return "`tools` changed."
    if thought.before != before:
        return "An earlier message changed."
    if own and (own[-1].name != thought.previous or len(own) > thought.earlier):
        return "An earlier thinking block was removed or added."
    return ""


def _drops(thinking: Json, terms: Terms) -> bool:
    binding = as_object(thinking.get("block_binding"))
    return terms.has(_CONTROLS) and binding.get("prefix_mismatch_behavior") == "drop_block"


def _moved(placed: Placed, changed: str, terms: Terms) -> Exception:
    said = (
        f"{placed.path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
        'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    )
    if not terms.has(_CONTROLS):
        said += f" The setting needs the beta header `anthropic-beta: {_CONTROLS}`."
    return refused(f"{said} {changed}")
