"""GET /v1/models[/{id}] in Anthropic's shape: newest first, in pages."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING
from urllib.parse import unquote

from app.simulator.anthropic.models import ALL_EFFORTS, Model, model_named
from app.simulator.anthropic.problems import head_of, problem, refused
from app.simulator.anthropic.terms import terms_of
from app.simulator.reply import Reply, json_reply
from app.simulator.shapes import Json

if TYPE_CHECKING:
    from app.simulator.desk import Asked

LISTED: dict[str, date] = {  # when each came out, as far as it is known; newest first
    "claude-fable-5-2": date(2026, 11, 3),
    "claude-haiku-5-5": date(2026, 10, 8),
    "claude-sonnet-5-5": date(2026, 9, 22),
    "claude-opus-5-5": date(2026, 9, 1),
    "claude-fable-5-1": date(2026, 8, 18),
    "claude-sonnet-5": date(2026, 7, 14),
    "claude-opus-5": date(2026, 7, 7),
    "claude-opus-4-8": date(2026, 5, 28),
    "claude-opus-4-7": date(2026, 4, 16),
    "claude-sonnet-4-6": date(2026, 2, 17),
    "claude-opus-4-6": date(2026, 2, 5),
    "claude-opus-4-5": date(2025, 11, 24),
    "claude-haiku-4-5": date(2025, 10, 15),
    "claude-sonnet-4-5": date(2025, 9, 29),
    "lab": date(2025, 1, 1),
}
_DEFAULT_PAGE, _LARGEST_PAGE = 20, 1000
_MODES = ("adaptive", "enabled", "disabled", "between_tools")


class MessagesModels:
    """The models endpoint; any name is a model, but those that contain `no-such`."""

    def answer(self, asked: Asked) -> Reply:
        """A page of the list, or the one whose name the path says; RefusalError (404) for an unknown name."""
        terms_of(asked.headers)
        name = unquote(asked.path.partition("/models")[2].strip("/"))
        body = _card(model_named(name)) if name else _page(asked.query)
        return json_reply(body, headers=head_of(asked.seed))

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in Anthropic's words."""
        del asked
        return problem(status, message)


def _page(query: dict[str, str]) -> Json:
    names = list(LISTED)
    given = query.get("limit") or str(_DEFAULT_PAGE)
    if not re.fullmatch(r"\d{1,6}", given, re.ASCII):
        raise refused("limit: Input should be a valid integer, unable to parse string as an integer")
    limit = int(given)
    if not 1 <= limit <= _LARGEST_PAGE:
        raise refused(f"limit: Input should be between 1 and {_LARGEST_PAGE}")
    behind, before = query.get("after_id"), query.get("before_id")
    if behind and before:
        raise refused("before_id: cannot be used together with after_id")
    cursor = behind or before
    if cursor and cursor not in names:
        raise refused(f"{'after_id' if behind else 'before_id'}: no model {cursor} is listed")
    if before:
        rest = names[: names.index(before)]
        shown, more = rest[-limit:], len(rest) > limit
    else:
        rest = names[names.index(behind) + 1 :] if behind else names
        shown, more = rest[:limit], len(rest) > limit
    data = [_card(model_named(name)) for name in shown]
    ends = {"first_id": shown[0] if shown else None, "last_id": shown[-1] if shown else None}
    return {"data": data, "has_more": more, **ends}


def _card(model: Model) -> Json:
    came = LISTED.get(model.name, LISTED["lab"])
    line = re.search(r"fable|mythos|opus|sonnet|haiku", model.name)
    return {
        "type": "model",
        "id": model.name,
        "display_name": _shown(model.name),
        "created_at": datetime(came.year, came.month, came.day, tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lifecycle": "active",
        "line": line[0] if line else None,
        "max_input_tokens": model.window,
        "max_tokens": model.most_output,
        "capabilities": _capabilities(model),
    }


def _shown(name: str) -> str:
    """A name for people: claude-opus-5-5 is Claude Opus 5.5."""
    found = re.fullmatch(r"claude-([a-z]+)-(\d+)(?:[-.](\d{1,2}))?(?:-\d{8})?", name)
    if found is None:
        return name
    return f"Claude {found[1].title()} {found[2]}{'.' + found[3] if found[3] else ''}"


def _capabilities(model: Model) -> Json:
    def able(supported: bool) -> Json:
        return {"supported": supported}

    return {
        "batch": able(False),
        "citations": able(False),
        "code_execution": able(False),
        "image_input": able(True),
        "pdf_input": able(True),
        "structured_outputs": able(True),
        "effort": able(bool(model.efforts)) | {level: able(level in model.efforts) for level in ALL_EFFORTS},
        "thinking": able(model.modes != ("disabled",))
        | {"types": {mode: able(mode in model.modes) for mode in _MODES}},
    }
