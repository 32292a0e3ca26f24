"""Which content blocks there are, where each may stand, and what it holds. Blocks of betas are taken as they come."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping

from app.simulator.anthropic.kinds import fields_at, flag_at, list_at, object_at, one_of, tag_of, text_at
from app.simulator.anthropic.problems import refused
from app.simulator.anthropic.searching import check_search
from app.simulator.anthropic.terms import Terms
from app.simulator.shapes import Json, as_list, as_object, as_text, is_list, is_object

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_WEB_RESULTS = ("web_search_tool_result", "web_fetch_tool_result")
_CODE_RESULTS = (
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
)
_BETA = (
    "mcp_tool_use",
    "mcp_tool_result",
    "mcp_tool_listing",
    "compaction",
    "fallback",
    "advisor_tool_result",
    "tool_addition",
    "tool_removal",
    "browser_state",
)
_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # kind: required, optional
    "text": (("text",), ("cache_control", "citations")),
    "image": (("source",), ("cache_control", "transformations")),
    "document": (("source",), ("cache_control", "title", "context", "citations")),
    "search_result": (("source", "title", "content"), ("cache_control", "citations")),
    "thinking": (("thinking", "signature"), ()),
    "redacted_thinking": (("data",), ()),
    "tool_use": (("id", "name", "input"), ("cache_control", "caller", "toolset_name")),
    "tool_result": (("tool_use_id",), ("content", "is_error", "cache_control", "toolset_name")),
    "tool_reference": (("tool_name",), ("cache_control",)),
    "server_tool_use": (("id", "name", "input"), ("cache_control", "caller")),
    "container_upload": (("file_id",), ("cache_control",)),
    **dict.fromkeys(_WEB_RESULTS, (("tool_use_id", "content"), ("cache_control", "caller"))),
    **dict.fromkeys(_CODE_RESULTS, (("tool_use_id", "content"), ("cache_control",))),
}
_OF_THE_MODEL = ("thinking", "redacted_thinking", "tool_use", "server_tool_use", *_WEB_RESULTS, *_CODE_RESULTS)
_OF_THE_USER = ("image", "search_result", "tool_result", "container_upload")
_IN_RESULTS = ("text", "image", "document", "search_result", "tool_reference", "browser_state")
_SOURCES: Mapping[str, tuple[str, ...]] = {
    "image": ("base64", "url", "file"),
    "document": ("base64", "text", "url", "file", "content"),
}
_SOURCE_FIELDS = {
    "base64": ("media_type", "data"),
    "text": ("media_type", "data"),
    "url": ("url",),
    "file": ("file_id",),
    "content": ("content",),
}


def check_blocks(place: str, content: object, role: str, terms: Terms) -> None:
    """A message's content; RefusalError if a block is unknown, out of place, or wrong inside."""
    if isinstance(content, str):
        return
    for at, block in enumerate(list_at(place, content)):
        where = f"{place}.{at}"
        kind = tag_of(where, block, ("text",) if role == "system" and not _is_beta(block) else (*_FIELDS, *_BETA))
        if kind in _OF_THE_MODEL and role != "assistant":
            raise refused(f"{where}: `{kind}` blocks can only be in `assistant` messages")
        if kind in _OF_THE_USER and role != "user":
            raise refused(f"{where}: `{kind}` blocks can only be in `user` messages")
        if kind == "document" and role != "user" and terms.strict:
            raise refused(f"{where}: `document` blocks can only be in `user` messages")
        if kind == "text" and role == "user" and as_list(block.get("citations")) and terms.strict:
            raise refused(
                f"{where}.text.citations: `citations` can only be set on `text` blocks of `assistant` messages"
            )
        _check(where, block, kind)


def check_system(system: object) -> None:
    """The top-level system text; RefusalError if it is neither a string nor text blocks."""
    if system is None or isinstance(system, str):
        return
    for at, block in enumerate(list_at("system", system)):
        one_of(f"system.{at}.type", block.get("type"), ("text",))
        fields_at(f"system.{at}", block, *_FIELDS["text"])
        if not text_at(f"system.{at}.text", block["text"]):
            raise refused("system: text content blocks must be non-empty")


def _is_beta(block: Json) -> bool:
    return as_text(block.get("type")) in _BETA


def _check(where: str, block: Json, kind: str) -> None:
    if kind in _BETA:
        return
    inside = f"{where}.{kind}"
    fields_at(inside, block, *_FIELDS[kind])
    check: Callable[[str, Json], None] | None = {
        "text": _check_text,
        "image": _check_source,
        "document": _check_document,
        "thinking": _check_thinking,
        "tool_use": _check_call,
        "server_tool_use": _check_call,
        "tool_result": _check_result,
    }.get(kind)
    if check is not None:
        check(inside, block)
    check_search(inside, block)


def _check_text(inside: str, block: Json) -> None:
    text = text_at(f"{inside}.text", block["text"])
    if not text and block.get("cache_control") is not None:
        raise refused(f"{inside}: cache_control cannot be set for empty text blocks")
    if not text:
        raise refused("messages: text content blocks must be non-empty")
    if not text.strip():
        raise refused("messages: text content blocks must contain non-whitespace text")


def _check_thinking(inside: str, block: Json) -> None:
    text_at(f"{inside}.thinking", block["thinking"])
    text_at(f"{inside}.signature", block["signature"])


def _check_call(inside: str, block: Json) -> None:
    if not _ID.fullmatch(text_at(f"{inside}.id", block["id"])):
        raise refused(f"{inside}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not _NAME.fullmatch(text_at(f"{inside}.name", block["name"])):
        raise refused(f"{inside}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
    if not is_object(block["input"]):
        raise refused(f"{inside}.input: Input should be a valid dictionary")


def _check_result(inside: str, block: Json) -> None:
    if not _ID.fullmatch(text_at(f"{inside}.tool_use_id", block["tool_use_id"])):
        raise refused(f"{inside}.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    flag_at(f"{inside}.is_error", block.get("is_error"))
    content = block.get("content")
    if content is None or isinstance(content, str):
        return
    if not is_list(content):
        raise refused(f"{inside}.content: Input should be a valid list")
    for at, part in enumerate(list_at(f"{inside}.content", content)):
        where = f"{inside}.content.{at}"
        kind = tag_of(where, part, _IN_RESULTS)
        if block.get("is_error") is True and kind != "text":
            raise refused(f"{inside}: all content must be type `text` if `is_error` is true")
        _check(where, part, kind)


def _check_document(inside: str, block: Json) -> None:
    for name in ("title", "context"):
        if block.get(name) is not None:
            text_at(f"{inside}.{name}", block[name], 1)
    if block.get("citations") is not None:
        flag_at(f"{inside}.citations.enabled", object_at(f"{inside}.citations", block["citations"]).get("enabled"))
    _check_source(inside, block)


def _check_source(inside: str, block: Json) -> None:
    kind = as_text(block.get("type"))
    source = object_at(f"{inside}.source", block["source"])
    form = tag_of(f"{inside}.source", source, _SOURCES[kind])
    place = f"{inside}.source.{form}"
    fields_at(place, source, _SOURCE_FIELDS[form])
    if form == "url" and not as_text(source["url"]).startswith("https://"):
        raise refused(f"{place}.url: Only HTTPS URLs are supported.")
    if form == "text":
        one_of(f"{place}.media_type", source["media_type"], ("text/plain",))
        text_at(f"{place}.data", source["data"])
    if form == "base64":
        one_of(f"{place}.media_type", source["media_type"], _IMAGES if kind == "image" else ("application/pdf",))
        if not _decodes(text_at(f"{place}.data", source["data"])):
            raise refused(f"{place}: Could not process {'image' if kind == 'image' else 'PDF'}")
    if form == "content" and not isinstance(source["content"], str):
        for at, part in enumerate(list_at(f"{place}.content", source["content"])):
            _check(f"{place}.content.{at}", part, tag_of(f"{place}.content.{at}", part, ("text", "image")))


def cites(block: Json) -> bool:
    """Whether a document asks for citations."""
    return as_object(block.get("citations")).get("enabled") is True


def _decodes(data: str) -> bool:
    try:
        return bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return False
