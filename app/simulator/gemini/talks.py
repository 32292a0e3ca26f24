"""A generateContent request, read by proto.py, as a talk for the mind; and its size in tokens."""

from __future__ import annotations

from app.simulator.estimate import MESSAGE, PICTURE, tokens, tokens_of
from app.simulator.gemini.models import Model
from app.simulator.gemini.problems import refused
from app.simulator.gemini.rules import declarations
from app.simulator.mind.talk import Call, Talk, Tool, Utterance
from app.simulator.shapes import Json, as_list, as_number, as_object, as_text, dump, objects


def talk_of(request: Json, model: Model, received: object) -> Talk:
    """The talk; `received` is the body as it came, for [[echo]]."""
    config = as_object(request.get("generationConfig"))
    calling = as_object(as_object(request.get("toolConfig")).get("functionCallingConfig"))
    mode = as_text(calling.get("mode"))
    most = as_number(config.get("maxOutputTokens"))
    return Talk(
        said=tuple(_said(request)),
        tools=tuple(_tool(one) for one in declarations(request)),
        choice="required" if mode == "ANY" else "none" if mode == "NONE" else "auto",
        allowed=tuple(as_text(name) for name in as_list(calling.get("allowedFunctionNames"))),
        schema=_schema(config),
        stop=tuple(as_text(one) for one in as_list(config.get("stopSequences"))),
        max_tokens=None if most is None else int(most),
        thinks=_thinks(as_object(config.get("thinkingConfig")), model),
        searches=any("googleSearch" in tool for tool in objects(request.get("tools"))),
        received=received,
    )


def prompt_tokens(request: Json) -> tuple[int, int]:
    """Estimated tokens of the text (system text, contents and tools) and of the media."""
    contents = objects(request.get("contents"))
    if "systemInstruction" in request:
        contents = [as_object(request["systemInstruction"]), *contents]
    parts = [part for content in contents for part in objects(content.get("parts"))]
    media = PICTURE * sum(1 for part in parts if part.keys() & {"inlineData", "fileData"})
    spoken = sum(tokens(as_text(part.get("text"))) for part in parts)
    exchanged = sum(
        tokens_of(part.get(kind)) for part in parts for kind in ("functionCall", "functionResponse") if kind in part
    )
    return MESSAGE * len(contents) + spoken + exchanged + tokens_of(request.get("tools")), media


def check_window(request: Json, model: Model) -> tuple[int, int]:
    """The prompt's size as `prompt_tokens` has it; RefusalError if the window is smaller."""
    text, media = prompt_tokens(request)
    if text + media > model.window:
        raise refused(
            f"The input token count ({text + media}) exceeds the maximum number of tokens allowed ({model.window})."
        )
    return text, media


def _thinks(config: Json, model: Model) -> bool:
    budget = as_number(config.get("thinkingBudget"))
    if budget is not None:
        return budget != 0
    return model.thinks


def _schema(config: Json) -> Json | None:
    if config.get("responseMimeType") != "application/json":
        return None
    return as_object(config.get("responseSchema")) or as_object(config.get("responseJsonSchema"))


def _tool(one: Json) -> Tool:
    schema = as_object(one.get("parameters")) or as_object(one.get("parametersJsonSchema"))
    return Tool(as_text(one.get("name")), as_text(one.get("description")), schema)


def _said(request: Json) -> list[Utterance]:
    said: list[Utterance] = []
    system = objects(as_object(request.get("systemInstruction")).get("parts"))
    if system:
        said.append(Utterance("system", _text(system)))
    for content in objects(request.get("contents")):
        parts = objects(content.get("parts"))
        for part in parts:
            if "functionResponse" in part:
                response = as_object(part["functionResponse"])
                said.append(
                    Utterance("tool", _result(as_object(response.get("response"))), tool=as_text(response["name"]))
                )
        calls = tuple(_call(as_object(part["functionCall"])) for part in parts if "functionCall" in part)
        pictures = sum(1 for part in parts if part.keys() & {"inlineData", "fileData"})
        text = _text(parts)
        if text or calls or pictures:
            said.append(Utterance("model" if content.get("role") == "model" else "user", text, calls, pictures))
    return said


def _text(parts: list[Json]) -> str:
    return "".join(as_text(part.get("text")) for part in parts if not part.get("thought"))


def _call(call: Json) -> Call:
    return Call(as_text(call.get("name")), as_object(call.get("args")), as_text(call.get("id")))


def _result(response: Json) -> str:
    for key in ("output", "error", "result"):
        if isinstance(response.get(key), str) and len(response) == 1:
            return response[key]
    return dump(response)
