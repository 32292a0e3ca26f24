"""What is no summary, told without reading it: a table of answers as models and gateways really give them."""

from __future__ import annotations

import pytest

from app.chat.model import Message, Text
from app.context.asking import Wish, ask, flaw

GOOD = [
    "The user is Ann Sato and wants invoice INV-20931 fixed by 2026-12-04.",
    "- The user is Ann.\n- Budget: $1,200.50",
    "Error: ECONNREFUSED came from port 8080.\nThe user changed it to 9090.\nIt works now.\nOpen: restart the worker.",
    "The assistant said it cannot open the file; the user promised to send it again.",
    'The user asked for a JSON error object such as {"error": 1}.',
    "404 pages were migrated to https://example.com/docs.",
    "Timeouts of 30 s were raised to 60 s.",
    "Errors in the build were traced to a missing header.",
    "No messages are to be sent to customers before Monday.",
    "I/O errors on /dev/sda1: the user replaced the disk.",
    "佐藤さんの予算は120万円、期限は11月30日。",
    "ユーザーは金曜日には参加できません。月曜日の10時30分を希望。",
    "会話の件名は「新年会」。",
    "エラーの原因は設定ファイルの誤り。修正済み。",
    '{"name": "Ann", "invoice": "INV-20931"}',
    "Vec<Said> was renamed to Vec<Spoken>.",
]
BAD = [
    ("", "empty"),
    (" \n\t", "empty"),
    ("…", "empty"),
    ("Error: model overloaded", "error"),
    ("An error occurred while processing your request.", "error"),
    ("Internal Server Error", "error"),
    ("503 Service Unavailable", "error"),
    ("HTTP/1.1 429 Too Many Requests", "error"),
    ("upstream error: connection reset", "error"),
    ("ValueError: bad input", "error"),
    ("Traceback (most recent call last):\n  File x", "error"),
    ("エラー: 接続できません", "error"),
    ("{\"error\": {\"message\": \"quota\"}}", "error"),
    ("[{\"error\": {\"code\": 429}}]", "error"),
    ("```json\n{\"error\": \"quota\"}\n```", "error"),
    ("{\"error\": {\"message\": \"cut of", "error"),
    ("{\"detail\": \"Not Found\"}", "error"),
    ("<!DOCTYPE html><html><body>502</body></html>", "web page"),
    ("<html>\n<head>", "web page"),
    ("I'm sorry, but I can't help with that.", "refused"),
    ("I’m sorry, but I can’t help with that.", "refused"),
    ("I cannot summarise this conversation.", "refused"),
    ("I am unable to do this.", "refused"),
    ("Sorry, I can't.", "refused"),
    ("Unfortunately, I cannot.", "refused"),
    ("\"I apologize, but no.\"", "refused"),
    ("As an AI language model, I do not.", "refused"),
    ("Please provide the conversation you would like me to summarize.", "refused"),
    ("There is no conversation to summarise.", "refused"),
    ("申し訳ありませんが、そのご依頼にはお応えできません。", "refused"),
    ("申し訳ございませんが、要約できません。", "refused"),
    ("ご要望にはお応えいたしかねます。", "refused"),
    ("抱歉，我不能这样做。", "refused"),
    ("<said by=\"user\">\nhello", "marks"),
    ("The user said hello.\n</said>", "marks"),
    ("<think>Let me see", "thinking"),
]  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_what_may_be_a_summary_is_left_to_the_retention_gate(text: str) -> None:
    assert flaw(text, "stop", original=1000, tokens=100, limit=300) == ""


@pytest.mark.parametrize(("text", "why"), BAD)
def test_what_is_no_summary_is_told_apart_with_a_reason(text: str, why: str) -> None:
    said = flaw(text, "stop", original=1000, tokens=100, limit=300)
    assert why in said
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("finish", "why"),
    [
        ("length", "cut off"),
        ("content_filter", "filter"),
        ("tool_calls", "tool"),
        ("paused", "paused"),
        ("malformed_call", "tool"),
        ("", "end"),
        ("something new", "end"),
    ],
)
def test_an_answer_that_did_not_come_to_its_end_is_no_summary(finish: str, why: str) -> None:
    assert why in flaw("The user is Ann.", finish, original=1000, tokens=10, limit=300)


@pytest.mark.parametrize(
    ("original", "tokens", "limit", "why"),
    [
        (100, 100, 300, "not shorter"),
        (100, 101, 0, "not shorter"),
        (9000, 1200, 300, "far more"),
        (9000, 600, 300, ""),
        (9000, 8000, 0, ""),
    ],
)
def test_a_summary_is_shorter_than_its_original_and_not_far_beyond_its_limit(
    original: int, tokens: int, limit: int, why: str
) -> None:
    said = flaw("The user is Ann.", "stop", original=original, tokens=tokens, limit=limit)
    assert bool(said) is bool(why)
    assert why in said


@pytest.mark.parametrize("words", ["hello there, nice to meet you", "こんにちは、はじめまして"])
@pytest.mark.parametrize("paragraph", [0, 1, 2])
def test_an_echo_of_the_instructions_is_no_summary(words: str, paragraph: int) -> None:
    chat = ask(Wish((Message("user", (Text(words),)),)), "lab", family="other", window=8000)
    system = chat.system[0].parts[0]
    assert isinstance(system, Text)
    rules = system.text.split("\n\n")[paragraph].replace('<said by="…">', "").replace("</said>", "")
    assert "instructions" in flaw(f"1. {rules}", "stop", original=9000, tokens=100, limit=300)
