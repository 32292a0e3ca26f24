"""When a provider says that it does not know what a request goes on from, and when it says something else."""

from __future__ import annotations

import pytest

from app.chat.events import Failed
from app.errors import Kind, UpstreamError
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.lost import is_lost
from app.wires.openai_chat import OPENAI_CHAT
from tests.wires.gemini_interactions.speaking import read, stream

LOST: list[tuple[int, str, str | None, str | None]] = [
    (404, "Requested entity was not found.", "not_found", None),
    (400, "Requested entity was not found.", "invalid_request", None),
    (404, "Interaction v1_abc not found.", "not_found", None),
    (404, "Interaction not found or expired.", None, None),
    (404, "The interaction `v1_abc` has been deleted.", None, None),
    (404, "Gemini answered with status 404.", None, None),
    (400, "Unknown interaction v1_abc.", "invalid_request", None),
    (400, "previous_interaction_id v1_abc is invalid.", "invalid_request", None),
    (400, "The previous interaction is still in_progress.", "failed_precondition", None),
    (400, "Interaction v1_abc is still running. Wait for it to complete.", "failed_precondition", None),
    (409, "Interaction v1_abc is in progress.", "aborted", None),
    (400, "nothing to say", "previous_interaction_not_found", None),
    (400, "nothing to say", "not_found", None),
    (400, "Previous response with id 'resp_1' not found.", "previous_response_not_found", "previous_response_id"),
    (400, "Previous response with id 'resp_1' not found.", None, None),
    (404, "Response with id 'resp_1' not found.", None, None),
    (400, "anything", "invalid_value", "previous_response_id"),
    (400, "Previous response 'resp_1' is still in progress.", None, None),
    (409, "The response resp_1 is not yet completed.", None, None),
    (404, "Item with id 'rs_0af1' not found. Items are not persisted when `store` is set to false.", None, "input"),
    (400, "Item with id 'rs_0af1' not found.", None, "input"),
    (400, "Unknown name: previous_interaction_id", "parameter_unknown", None),
]
OTHER: list[tuple[int, str, str | None, str | None]] = [
    (404, "The model `gpt-9` does not exist or you do not have access to it.", "model_not_found", "model"),
    (404, "models/gemini-9 is not found for API version v1beta.", "not_found", None),
    (404, "Model not found: gemini-9", "model_not_found", None),
    (404, "File files/abc not found.", "not_found", None),
    (404, "No such File object: file-abc", None, "file_id"),
    (403, "You do not have permission to access the File abc or it may not exist.", "permission_denied", None),
    (404, "Vector store with id 'vs_1' not found.", None, None),
    (404, "Conversation with id 'conv_1' not found.", None, None),
    (404, "CachedContent not found (or permission denied)", "not_found", None),
    (400, "No tool output found for function call call_1.", None, "input"),
    (400, "No tool call found for function call output with call_id call_1.", None, "input"),
    (400, "Tool result for call_1 not found.", "invalid_request", None),
    (400, "function_result: call_id c1 was not found in the function calls.", "invalid_request", None),
    (400, "Please ensure that the number of function response parts is equal.", "invalid_request", None),
    (400, "Invalid value: 'x'. response_format is unknown.", None, None),
    (400, "The input token count (9) exceeds the maximum number of tokens allowed (8).", "invalid_request", None),
    (409, "Another request of this project is running.", "aborted", None),
    (401, "API key not valid.", "authentication", None),
    (429, "Interaction quota not found.", "quota_exceeded", None),
    (500, "Interaction v1_abc not found.", "api_error", None),
    (503, "The previous response could not be loaded.", None, None),
]


def _error(status: int, message: str, code: str | None, param: str | None) -> UpstreamError:
    kinds: dict[str | None, Kind] = {"model_not_found": "model_not_found"}
    return UpstreamError(message, kind=kinds.get(code, "bad_request"), status=status, code=code, param=param)


@pytest.mark.parametrize(("status", "message", "code", "param"), LOST, ids=lambda value: str(value)[:40])
def test_every_wording_for_a_lost_thread_is_understood(
    status: int, message: str, code: str | None, param: str | None
) -> None:
    assert is_lost(_error(status, message, code, param))


@pytest.mark.parametrize(("status", "message", "code", "param"), OTHER, ids=lambda value: str(value)[:40])
def test_what_else_is_missing_or_wrong_is_not_taken_for_a_lost_thread(
    status: int, message: str, code: str | None, param: str | None
) -> None:
    assert not is_lost(_error(status, message, code, param))


def test_it_is_understood_as_the_wires_read_it() -> None:
    gone = b'{"error":{"code":"not_found","message":"Requested entity was not found."}}'
    assert is_lost(GEMINI_INTERACTIONS.failure(404, {}, gone))
    older = b'[{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}]'
    assert is_lost(GEMINI_INTERACTIONS.failure(404, {}, older))
    nowhere = b'{"error":{"code":"not_found","message":"models/x is not found for API version v1."}}'
    assert not is_lost(GEMINI_INTERACTIONS.failure(404, {}, nowhere))
    previous = (
        b'{"error":{"message":"Previous response with id \'resp_1\' not found.","type":"invalid_request_error",'
        b'"param":"previous_response_id","code":"previous_response_not_found"}}'
    )
    assert is_lost(OPENAI_CHAT.failure(400, {}, previous))


def test_it_is_understood_inside_a_stream_that_began_with_200() -> None:
    said = {"code": "not_found", "message": "Interaction not found."}
    (failed,) = read(stream({"event_type": "error", "error": said}))[0]
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, UpstreamError)
    assert is_lost(failed.error)
