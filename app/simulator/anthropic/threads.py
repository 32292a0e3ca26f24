"""Conversations that the provider holds: `thread` bodies of the beta message-threads-2026-08-12.

`create` keeps the conversation under the answer's id; `continue` sends only what is new. Source: the thread types and
errors of Anthropic's Python SDK. At most 1000 are kept, each for the account that made it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.simulator.anthropic.kinds import fields_at, list_at, object_at, tag_of, text_at
from app.simulator.anthropic.problems import refused
from app.simulator.anthropic.terms import Terms
from app.simulator.shapes import Json, as_object, as_text, digest, is_list, is_object

_BETA = "message-threads-"
_MOST = 1000
_STABLE = ("model", "thinking", "output_config", "container", "metadata")
_UNSUPPORTED = ("context_management", "fallbacks")


@dataclass(frozen=True, slots=True)
class _Held:
    messages: tuple[Json, ...]
    stated: Json
    fingerprint: str
    continued: bool = False


class Threads:
    """The conversations that this simulator holds."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, str], _Held] = OrderedDict()

    def whole(self, body: Json, terms: Terms) -> Json:
        """The request with the conversation that it continues in front; the request itself if it continues none.

        Raises:
            RefusalError: the thread is unknown (404), continued already, or the request does not fit it.
        """
        if body.get("thread") is None or not terms.has(_BETA):
            return body
        thread = object_at("thread", body["thread"])
        kind = tag_of("thread", thread, ("create", "continue"))
        fields_at(f"thread.{kind}", thread, ("previous_message_id",) if kind == "continue" else ())
        unsupported = [*_unsupported(body)]
        if unsupported:
            said = f"thread: not supported together with {', '.join(unsupported)}"
            raise _problem(400, said, "thread_unsupported_request", unsupported=unsupported)
        if kind == "create":
            return body
        held = self._continued(text_at("thread.continue.previous_message_id", thread["previous_message_id"]), terms)
        for name in ("system", "tools"):
            if name in body:
                raise refused(f"{name}: must be absent where a thread is continued: the thread's own is used")
        if held.fingerprint != _fingerprint(body):
            said = f"thread: {', '.join(_STABLE)} must be as they were when the thread was created"
            raise _problem(400, said, "thread_fingerprint_mismatch")
        return body | held.stated | {"messages": [*held.messages, *list_at("messages", body.get("messages"))]}

    def keep(self, body: Json, whole: Json, answer: Json, terms: Terms) -> None:
        """Hold the conversation under the answer's id, if the request is one of a thread.

        Args:
            body, whole: the request as it came, and with what it continues.
            answer: the message that answers it.
        """
        thread = as_object(body.get("thread"))
        if not thread or not terms.has(_BETA):
            return
        key = (terms.account, as_text(thread.get("previous_message_id")))
        if key in self._held:
            self._held[key] = replace(self._held[key], continued=True)
        said = {"role": "assistant", "content": answer["content"]}
        messages = (*whole["messages"], *([said] if answer["content"] else []))
        stated = {name: whole[name] for name in ("system", "tools") if name in whole}
        self._held[terms.account, as_text(answer["id"])] = _Held(messages, stated, _fingerprint(whole))
        while len(self._held) > _MOST:
            self._held.popitem(last=False)

    def _continued(self, name: str, terms: Terms) -> _Held:
        held = self._held.get((terms.account, name))
        if held is None:
            raise _problem(404, f"thread: no message {name} is held", "thread_not_found")
        if held.continued:
            raise _problem(400, f"thread: message {name} has been continued already", "thread_already_continued")
        return held


def _fingerprint(body: Json) -> str:
    return digest(*(body.get(name) for name in _STABLE))


def _unsupported(body: Json) -> Iterator[str]:
    if _is_marked(body):
        yield "cache_control"
    yield from (name for name in _UNSUPPORTED if body.get(name) is not None)


def _is_marked(value: object) -> bool:
    """Whether a cache mark stands anywhere in what is sent, arguments of tools left aside."""
    if is_object(value):
        inner = (one for key, one in value.items() if key not in ("input", "input_schema", "schema"))
        return value.get("cache_control") is not None or any(_is_marked(one) for one in inner)
    return is_list(value) and any(_is_marked(one) for one in value)


def _problem(status: int, said: str, code: str, **details: object) -> Exception:
    return refused(said, status=status, details={"error_code": code, **details})
