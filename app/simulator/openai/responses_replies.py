"""A response as OpenAI writes it: the object with its output items, and what of the request it says again."""

from __future__ import annotations

from dataclasses import dataclass

from app.simulator.billing import Bill
from app.simulator.directives import Directives
from app.simulator.mind.talk import Answer, Call
from app.simulator.openai.responses_reasoning import encrypted
from app.simulator.openai.responses_talk import own_tools
from app.simulator.shapes import Json, as_object, as_text, digest, dump, objects

_INCOMPLETE = frozenset(("max_output_tokens", "content_filter", "max_messages", "steered"))


@dataclass(frozen=True, slots=True)
class Saying:
    """An answer on its way out.

    Attributes:
        body: the request, without nulls.
        identity: the response's id.
        conversation: the id of the conversation that it is added to; empty if there is none.
        transformations: what is told of input items that were left out.
        created: seconds since 1970.
    """

    answer: Answer
    body: Json
    identity: str
    owner: str
    orders: Directives
    bill: Bill
    created: int
    conversation: str = ""
    transformations: tuple[Json, ...] = ()

    @property
    def stored(self) -> bool:
        """Whether it can be continued."""
        return self.body.get("store") is not False

    @property
    def reason(self) -> str:
        """Why it is incomplete; empty if it is not."""
        ordered = self.orders.text("finish")
        if ordered:
            return ordered if ordered in _INCOMPLETE else ""
        return "max_output_tokens" if self.answer.cut else ""

    @property
    def status(self) -> str:
        """How it ended."""
        ordered = self.orders.text("finish")
        if ordered in ("failed", "cancelled"):
            return ordered
        return "incomplete" if self.reason else "completed"


def response(saying: Saying) -> Json:
    """The whole response."""
    body, status = saying.body, saying.status
    failed = {"code": "server_error", "message": "The server had an error while processing your request."}
    whole: Json = {
        "id": saying.identity,
        "object": "response",
        "created_at": saying.created,
        "completed_at": saying.created if status == "completed" else None,
        "status": status,
        "background": body.get("background") is True,
        "error": failed if status == "failed" else None,
        "incomplete_details": {"reason": saying.reason} if saying.reason else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": as_text(body.get("model")),
        "output": [] if status in ("failed", "cancelled") else _output(saying),
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None} | as_object(body.get("reasoning")),
        "service_tier": "default",
        "store": saying.stored,
        "temperature": body.get("temperature", 1.0),
        "text": {"format": {"type": "text"}, "verbosity": "medium"} | as_object(body.get("text")),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": objects(body.get("tools")),
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation", "disabled"),
        "usage": _usage(saying.bill),
        "user": body.get("user"),
        "metadata": body.get("metadata", {}),
    }
    if saying.conversation:
        whole["conversation"] = {"id": saying.conversation}
    if saying.transformations:
        whole["input_transformations"] = list(saying.transformations)
    return whole


def begun(whole: Json, status: str = "in_progress") -> Json:
    """The response as it stands before there is an answer."""
    unsaid = {"error": None, "incomplete_details": None, "completed_at": None, "usage": None}
    return whole | unsaid | {"status": status, "output": []}


def ended(whole: Json, status: str) -> Json:
    """The response that came to nothing."""
    error = {"code": "server_error", "message": "The server had an error while processing your request."}
    return begun(whole, status) | ({"error": error} if status == "failed" else {})


def _output(saying: Saying) -> list[Json]:
    answer, identity = saying.answer, saying.identity
    items: list[Json] = []
    if answer.reasoning:
        shown = as_object(saying.body.get("reasoning")).get("summary") is not None
        name = f"rs_{digest(identity, 'reasoning')}"
        items.append(
            {
                "type": "reasoning",
                "id": name,
                "summary": [{"type": "summary_text", "text": answer.reasoning}] if shown else [],
                "encrypted_content": encrypted(saying.owner, as_text(saying.body.get("model")), name),
            }
        )
    if answer.search is not None:
        action: Json = {"type": "search", "query": answer.search.query, "queries": [answer.search.query]}
        name = f"ws_{digest(identity, 'search')}"
        items.append({"id": name, "type": "web_search_call", "status": "completed", "action": action})
    if answer.text or (not answer.calls and not answer.cut):
        items.append(_message(saying))
    tools = {as_text(tool.get("name")): (as_text(tool.get("type")), space) for tool, space in own_tools(saying.body)}
    return items + [_call(call, identity, at, *tools.get(call.name, ("", ""))) for at, call in enumerate(answer.calls)]


def _message(saying: Saying) -> Json:
    text = saying.answer.text
    part: Json = {"type": "output_text", "text": text, "annotations": _annotations(saying.answer), "logprobs": []}
    if saying.orders.text("finish") == "refusal":
        part = {"type": "refusal", "refusal": text}
    return {
        "type": "message",
        "id": f"msg_{digest(saying.identity, 'message')}",
        "role": "assistant",
        "status": "incomplete" if saying.status == "incomplete" else "completed",
        "content": [part],
    }


def _annotations(answer: Answer) -> list[Json]:
    """What the text rests on; places count its code points."""
    return [
        {
            "type": "url_citation",
            "url": cited.page.url,
            "title": cited.page.title,
            "start_index": cited.start,
            "end_index": cited.end,
        }
        for cited in (answer.search.within(answer.text) if answer.search else ())
    ]


def _call(call: Call, identity: str, at: int, kind: str, namespace: str) -> Json:
    number = digest(identity, at)
    named: Json = {"call_id": f"call_{digest(identity, 'call', at)}", "name": call.name, "status": "completed"}
    named |= {"namespace": namespace} if namespace else {}
    if kind == "custom":
        said = as_text(call.arguments.get("input"))
        return {"type": "custom_tool_call", "id": f"ctc_{number}", **named, "input": said}
    return {"type": "function_call", "id": f"fc_{number}", **named, "arguments": dump(call.arguments)}


def _usage(bill: Bill) -> Json:
    return {
        "input_tokens": bill.input,
        "input_tokens_details": {"cached_tokens": bill.cached, "cache_write_tokens": 0},
        "output_tokens": bill.output + bill.thought,
        "output_tokens_details": {"reasoning_tokens": bill.thought},
        "total_tokens": bill.total,
    }
