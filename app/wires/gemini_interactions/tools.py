"""Tools, in this format's words: functions lie flat, and hosted tools of Google's other API have a type here."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from app.chat.model import Chat, Loss, Tool
from app.wires import schema
from app.wires.envelope import as_object, encode
from app.wires.gemini.names import legal
from app.wires.gemini_interactions.names import NAME
from app.wires.gemini_interactions.searching import tool as search_tool

HOSTED = {
    "googleMaps": "google_maps",
    "codeExecution": "code_execution",
    "urlContext": "url_context",
    "fileSearch": "file_search",
}
"""generateContent's tools that Google runs → their types here."""

HOSTED_FIELDS = {
    "fileSearchStoreNames": "file_search_store_names",
    "topK": "top_k",
    "metadataFilter": "metadata_filter",
    "file_search_store_names": "file_search_store_names",
    "top_k": "top_k",
    "metadata_filter": "metadata_filter",
}


def tools(chat: Chat, model: str, losses: list[Loss]) -> list[Any]:
    """The tools, in their order."""
    written: list[Any] = []
    for tool in chat.tools:
        if tool.native and tool.native.wire == NAME:
            written.append(tool.native.body)
        elif tool.search is not None:
            written.extend(search_tool(chat, tool, tool.search, model, losses))
        elif tool.kind == "hosted":
            written.extend(_hosted(tool, losses))
        else:
            declared, weakened = _declaration(tool)
            written.append(declared)
            losses.extend(Loss(f"tools.{tool.name}", reason) for reason in weakened)
    return written


def _hosted(tool: Tool, losses: list[Loss]) -> list[Any]:
    kind = HOSTED.get(tool.name) if tool.native and tool.native.wire == "gemini" else None
    if kind is None or tool.native is None:
        losses.append(Loss(f"tools.{tool.name}", "This tool runs only at its own provider."))
        return []
    said = as_object(as_object(tool.native.body).get(tool.name))
    kept = {HOSTED_FIELDS[name]: value for name, value in said.items() if name in HOSTED_FIELDS}
    more = " Its settings were left out." if len(kept) < len(said) else ""
    words = "It runs, but what it found is not written into generateContent's own metadata."
    losses.append(Loss(f"tools.{tool.name}", words + more))
    return [{"type": kind, **kept}]


def _declaration(tool: Tool) -> tuple[msgspec.Raw, tuple[str, ...]]:
    if tool.kind == "custom":
        wanted = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
        raw, _ = _declared(tool.name, tool.description, encode(wanted))
        return raw, ("It takes free text: Gemini is given one string argument, and its grammar is left out.",)
    return _declared(tool.name, tool.description, encode(tool.schema))


@lru_cache(maxsize=512)
def _declared(name: str, description: str, parameters: bytes) -> tuple[msgspec.Raw, tuple[str, ...]]:
    """An agent sends the same tools on every turn: each is translated once."""
    body: dict[str, Any] = {"type": "function", "name": legal(name)}
    if description:
        body["description"] = description
    translated, losses = schema.for_gemini(msgspec.json.decode(parameters, type=dict[str, Any]))
    if translated.get("properties"):  # a function without parameters is declared without a schema
        body["parameters"] = translated
    return msgspec.Raw(encode(body)), losses
