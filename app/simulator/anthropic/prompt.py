"""A request as the prompt that the model reads: tools, system text, messages, block by block, and what each takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.simulator.anthropic.fields import mode_of
from app.simulator.anthropic.line import THOUGHTS, blocks_in, line_of, plain
from app.simulator.anthropic.models import Model
from app.simulator.anthropic.problems import refused
from app.simulator.anthropic.thoughts import Judged
from app.simulator.anthropic.turns import running_turn
from app.simulator.estimate import MESSAGE, PICTURE, tokens, tokens_of
from app.simulator.shapes import Json, as_object, as_text, digest, objects


@dataclass(frozen=True, slots=True)
class Position:
    """One tool or block of the prompt.

    Attributes:
        path: as error messages name it.
        name: a digest of the prompt up to its end, cache marks left out.
        end: tokens up to its end.
        marks: the cache marks that it carries, itself or inside.
        markable: whether an automatic mark may stand on it.
    """

    path: str
    name: str
    end: int
    marks: tuple[tuple[str, Json], ...]
    markable: bool


def positions_of(body: Json, model: Model, judged: Judged, account: str) -> tuple[Position, ...]:
    """The whole prompt. Its settings are part of the names from the first message on, as a change of them is a miss."""
    spent = _thinking(body, model, judged)
    line: list[Position] = []
    name, end = digest(account, model.name), 0
    for path, value, size in _pieces(body, spent):
        if value is None:
            name = digest(name, body.get("tool_choice"), mode_of(body, model), _effort(body))
            continue
        name, end = digest(name, plain(value)), end + size
        markable = path.startswith(("tools", "system")) or as_text(value.get("type")) not in THOUGHTS
        line.append(Position(path, name, end, tuple(_marks(path, value)), markable))
    return tuple(line)


def size_of(positions: tuple[Position, ...]) -> int:
    """Tokens of the whole prompt."""
    return positions[-1].end if positions else 0


def check_window(size: int, most_output: int, model: Model) -> None:
    """RefusalError if the prompt passes the window; for old models, if the prompt and max_tokens together do."""
    if size > model.window:
        raise refused(f"prompt is too long: {size} tokens > {model.window} maximum")
    if size + most_output > model.window and not model.elastic:
        raise refused(
            f"input length and `max_tokens` exceed context limit: {size} + {most_output} > {model.window}, "
            "decrease input length or `max_tokens` and try again"
        )


def _pieces(body: Json, spent: Mapping[int, int]) -> Iterator[tuple[str, Json | None, int]]:
    """Place, value and size of each piece; a None stands where the messages begin."""
    for at, tool in enumerate(objects(body.get("tools"))):
        told = {key: value for key, value in tool.items() if key != "cache_control"}
        yield f"tools.{at}", tool, 0 if tool.get("defer_loading") is True else tokens_of(told)
    for at, block in enumerate(blocks_in(body.get("system"))):
        yield f"system.{at}", block, tokens(as_text(block.get("text"))) + (MESSAGE if at == 0 else 0)
    yield "", None, 0
    message = -1
    for placed in line_of(objects(body.get("messages"))):
        size = _size(placed.block)
        if placed.kind in THOUGHTS:
            size = spent.get(placed.message, 0)
        yield placed.path, {"role": placed.role, **placed.block}, size + (MESSAGE if placed.message != message else 0)
        message = placed.message


def _thinking(body: Json, model: Model, judged: Judged) -> dict[int, int]:
    """Tokens of the thinking that the model sees, by message."""
    since = 0 if model.keeps else running_turn(objects(body.get("messages")))
    return {message: thought.spent for message, thought in judged.read if message >= since}


def _effort(body: Json) -> object:
    return as_object(body.get("output_config")).get("effort")


def _size(block: Json) -> int:
    source = as_object(block.get("source"))
    match block.get("type"):
        case "image":
            return PICTURE
        case "document" if source.get("type") == "text":
            return tokens(as_text(source.get("data")))
        case "document" if source.get("type") == "content":
            return sum(_size(part) for part in blocks_in(source.get("content")))
        case "document":
            return PICTURE
        case "tool_use" | "server_tool_use":
            return tokens(as_text(block.get("name"))) + tokens_of(block.get("input"))
        case "tool_result" | "search_result":
            return sum(_size(part) for part in blocks_in(block.get("content")))
        case "text":
            return tokens(as_text(block.get("text")))
        case "compaction":
            return tokens(as_text(block.get("content")))
        case _:
            return tokens_of({key: value for key, value in block.items() if key not in ("type", "cache_control")})


def _marks(path: str, value: Json) -> Iterator[tuple[str, Json]]:
    if value.get("cache_control") is not None:
        yield f"{path}.cache_control", as_object(value["cache_control"])
    for at, inner in enumerate(objects(value.get("content"))):
        yield from _marks(f"{path}.content.{at}", inner)
