"""What a model takes: the table for models that it knows, the provider's word over it, a safe number for all others."""

from __future__ import annotations

from typing import Any

import pytest

from app.chat.windows import UNKNOWN, Window, learnt, window_of


@pytest.mark.parametrize(
    ("model", "context", "output"),
    [
        ("gpt-6.1-mini", 922_000, 128_000),
        ("gpt-5.5-pro", 922_000, 128_000),
        ("gpt-5.4-mini", 272_000, 128_000),
        ("gpt-5-nano", 272_000, 128_000),
        ("gpt-5.2-chat-latest", 128_000, 16_384),
        ("openai/gpt-4.1", 1_047_576, 32_768),
        ("gpt-4o-mini", 128_000, 16_384),
        ("gpt-4", 8_192, 4_096),
        ("o4-mini", 200_000, 100_000),
        ("models/gemini-3.8-flash", 1_048_576, 65_536),
        ("gemini-flash-latest", 1_048_576, 65_536),
        ("gemini-2.0-flash", 1_048_576, 8_192),
        ("gemini-2.5-flash-lite", 1_048_576, 65_536),
        ("gemma-3-27b-it", 131_072, 8_192),
        ("claude-opus-5-5", 1_000_000, 128_000),
        ("claude-fable-5-1", 1_000_000, 128_000),
        ("claude-haiku-5-5", 1_000_000, 128_000),
        ("us.anthropic.claude-sonnet-4-6", 1_000_000, 128_000),
        ("claude-haiku-4-5-20251001", 200_000, 64_000),
        ("claude-sonnet-4-20250514", 200_000, 64_000),
        ("deepseek-chat", 128_000, 8_192),
        ("Qwen/Qwen3-32B", 131_072, 8_192),
        ("meta-llama/Llama-3.1-8B-Instruct", 128_000, 8_192),
        ("llama-3-8b", 8_192, 4_096),
        ("mistral-large-latest", 128_000, 8_192),
    ],
)
def test_a_known_model_has_its_published_limits(model: str, context: int, output: int) -> None:
    assert window_of(model) == Window(context, output)


@pytest.mark.parametrize("model", ["lab", "", "my-own-model", "ollama/smollm"])
def test_an_unknown_model_has_a_common_window(model: str) -> None:
    assert window_of(model) == UNKNOWN == Window(128_000, 8_192)


@pytest.mark.parametrize(
    ("listing", "model", "window"),
    [
        (
            {"data": [{"type": "model", "id": "claude-next", "max_input_tokens": 2_000_000, "max_tokens": 256_000}]},
            "claude-next",
            Window(2_000_000, 256_000),
        ),
        (
            {"models": [{"name": "models/gemini-9", "inputTokenLimit": 4_194_304, "outputTokenLimit": 131_072}]},
            "gemini-9",
            Window(4_194_304, 131_072),
        ),
        ({"data": [{"id": "local", "max_model_len": 40_960}]}, "local", Window(40_960, 8_192)),
        (
            {"data": [{"id": "a/b", "context_length": 99_000, "top_provider": {"max_completion_tokens": 7_000}}]},
            "a/b",
            Window(99_000, 7_000),
        ),
        ({"id": "one-alone", "context_window": 50_000}, "one-alone", Window(50_000, 8_192)),
    ],
    ids=["anthropic", "gemini", "vllm", "openrouter", "one model"],
)
def test_what_a_provider_lists_is_learnt(listing: dict[str, Any], model: str, window: Window) -> None:
    assert window_of(model, learnt(listing)) == window


def test_the_providers_word_stands_over_the_table_and_the_newest_over_the_older() -> None:
    first = learnt({"data": [{"id": "gpt-4o", "context_length": 64_000}, {"id": "x", "context_length": 1_000}]})
    second = learnt({"data": [{"id": "gpt-4o", "context_length": 32_000}]}, first)
    assert window_of("gpt-4o", second) == Window(32_000, 16_384)
    assert window_of("x", second).context == 1_000
    assert window_of("gpt-4o", first).context == 64_000


@pytest.mark.parametrize(
    "listing",
    [
        {},
        {"data": None},
        {"data": "no list"},
        {"data": [None, 5, {"id": 7, "context_length": 5}, {"id": "gpt-4o"}]},
        {
            "data": [
                {"id": "gpt-4o", "context_length": -1},
                {"id": "gpt-4o", "context_length": "big", "top_provider": 1},
            ]
        },
        {"data": [{"id": "gpt-4o", "context_length": True}]},
    ],
)
def test_an_odd_list_teaches_nothing(listing: dict[str, Any]) -> None:
    assert learnt(listing) == {}
