"""A chat refused as too long is folded and sent once more; the client sees an answer, or one refusal."""

from __future__ import annotations

from tests.engine.folding import POLICY, folding_stage, long_talk
from tests.engine.scripts import Given, whole

TOO_LONG = "This model's maximum context length is {} tokens. However, your messages resulted in {} tokens."


def _too_long(limit: int, asked: int) -> Given:
    error = {"message": TOO_LONG.format(limit, asked), "type": "invalid_request_error", "param": "messages"}
    return whole({"error": {**error, "code": "context_length_exceeded"}}, 400)


async def test_a_chat_that_the_provider_refuses_as_too_long_is_folded_and_sent_once_more() -> None:
    stage = await folding_stage(policy={**POLICY, "fold_at_tokens": 8000, "fold_to_tokens": 4000})
    stage.refusals = [_too_long(900, 1800)]
    seen = await stage.says_all(long_talk(17))
    assert seen.reply.text == "fine"
    assert len(stage.chats) == 2
    assert len(stage.asked) == 1
    assert stage.last[0].startswith("<summary")
    assert "summary=" in seen.headers["x-foldline-plan"]


async def test_the_limit_that_it_named_counts_on_the_next_turns() -> None:
    stage = await folding_stage(policy={**POLICY, "fold_at_tokens": 8000, "fold_to_tokens": 4000})
    stage.refusals = [_too_long(900, 1800)]
    await stage.says_all(long_talk(17))
    before = len(stage.chats)
    await stage.says_all([*long_talk(17), {"role": "assistant", "content": "fine"}, *long_talk(1, 50, "more")])
    assert len(stage.chats) == before + 1
    assert stage.last[0].startswith("<summary")


async def test_a_second_refusal_goes_to_the_client() -> None:
    stage = await folding_stage()
    stage.refusals = [_too_long(900, 1800), _too_long(300, 800), _too_long(200, 700)]
    seen = await stage.says_all(long_talk(17))
    assert seen.status == 400
    assert seen.json["error"]["code"] == "context_length_exceeded"
    assert len(stage.chats) == 2


async def test_a_refusal_that_nothing_can_be_done_about_goes_to_the_client_at_once() -> None:
    stage = await folding_stage()
    stage.refusals = [_too_long(900, 1800)]
    seen = await stage.says_all(long_talk(1, 100))
    assert seen.status == 400
    assert len(stage.chats) == 1


async def test_a_request_that_wants_to_be_left_alone_is_not_healed() -> None:
    stage = await folding_stage()
    stage.refusals = [_too_long(900, 1800)]
    seen = await stage.says_all(long_talk(17), foldline={"off": True})
    assert seen.status == 400
    assert len(stage.chats) == 1
