"""Compaction on demand: a conversation in, one signed block with its summary out, which later stands in its place.

Source: Anthropic's page on compaction on demand (beta compact-2026-09-04) and the types of its Python SDK. The
signature names the conversation that was summarised, so that thinking of the turns kept behind the block stays good.
"""

from __future__ import annotations

from app.simulator.anthropic.kinds import fields_at, object_at, tag_of
from app.simulator.anthropic.line import blocks_in, line_of
from app.simulator.anthropic.problems import refused
from app.simulator.anthropic.seals import opened, sealed
from app.simulator.anthropic.terms import Terms
from app.simulator.anthropic.tools import forced
from app.simulator.mind.facts import summary
from app.simulator.mind.talk import Talk
from app.simulator.shapes import Json, as_object, as_text, digest, objects

_BETA = "compact-2026-09-04"
_LONGEST = 16_384  # characters of instructions
_TOKENS = 700  # a summary's most


def wants_compaction(body: Json) -> bool:
    """Whether the request asks for nothing but a summary of itself."""
    return body.get("compaction") is not None


def check_compaction(body: Json, terms: Terms) -> None:
    """A request for a summary; RefusalError for what does not go together with it."""
    if not wants_compaction(body):
        return
    given = object_at("compaction", body["compaction"])
    tag_of("compaction", given, ("summarize",))
    fields_at("compaction.summarize", given, (), ("instructions",))
    if not terms.has(_BETA):
        raise refused(f"compaction: needs the beta header `anthropic-beta: {_BETA}`")
    if len(as_text(given.get("instructions"))) > _LONGEST:
        raise refused(f"compaction.summarize.instructions: String should have at most {_LONGEST} characters")
    output = as_object(body.get("output_config"))
    others = {
        "context_management": body.get("context_management"),
        "stop_sequences": body.get("stop_sequences"),
        "output_config.format": output.get("format"),
        "output_config.task_budget.remaining": as_object(output.get("task_budget")).get("remaining"),
        "tool_choice": forced(body) or None,
    }
    clashing = [name for name, value in others.items() if value is not None]
    if clashing:
        raise refused(f"compaction: cannot be combined with {', '.join(clashing)}")
    if all(placed.kind == "compaction" for placed in line_of(objects(body.get("messages")))):
        raise _problem("compaction: there is nothing to summarize", "compaction_nothing_to_summarize")


def check_compacted(messages: list[Json], terms: Terms) -> None:
    """The blocks of earlier compactions on demand; RefusalError for one out of place, changed or made up."""
    signed = [one for one in line_of(messages) if one.kind == "compaction" and one.block.get("signature") is not None]
    if not signed:
        return
    if not terms.has(_BETA):
        raise refused(f"{signed[0].path}.compaction.signature: needs the beta header `anthropic-beta: {_BETA}`")
    if len(signed) > 1:
        said = f"{signed[1].path}: only one compaction block may be sent"
        raise _problem(said, "compaction_block_ambiguous")
    placed = signed[0]
    if placed.path != "messages.0.content.0":
        raise _problem(f"{placed.path}: a compaction block must be first in `messages`", "compaction_block_misplaced")
    values = _signed(placed.block)
    if values is None:
        raise _problem(f"{placed.path}: Invalid `signature` in `compaction` block", "compaction_signature_invalid")
    if values[0] != digest(as_text(placed.block.get("content"))):
        raise _problem(f"{placed.path}: `content` is not as it was returned", "compaction_content_mismatch")


def compaction_block(talk: Talk, line: str) -> Json:
    """The summary of a conversation as a block. `line`: the name of the conversation, as line.py has it."""
    text = summary(talk, _TOKENS)
    return {"type": "compaction", "content": text, "signature": sealed([digest(text), line]), "tool_changes": []}


def summarised_line(messages: list[Json]) -> str:
    """The name of the conversation in whose place the first block stands; empty if it stands for none."""
    first = blocks_in(messages[0].get("content"))[:1] if messages else []
    values = _signed(first[0]) if first and first[0].get("type") == "compaction" else None
    return as_text(values[1]) if values is not None else ""


def _signed(block: Json) -> list[object] | None:
    values = opened(as_text(block.get("signature")))
    return values if values is not None and len(values) == 2 else None  # text and line


def _problem(said: str, code: str) -> Exception:
    return refused(said, details={"error_code": code})
