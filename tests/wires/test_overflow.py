"""What providers say when a request is too long, each in words of its own, and the numbers in it."""

from __future__ import annotations

import pytest

from app.wires.failure import kind_of
from app.wires.overflow import overflow

WORDINGS: dict[str, tuple[str, tuple[int, int]]] = {
    "OpenAI": (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 10500 tokens. "
        "Please reduce the length of the messages.",
        (8192, 10500),
    ),
    "OpenAI with tools": (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130500 tokens "
        "(130000 in the messages, 500 in the functions).",
        (128_000, 130_500),
    ),
    "OpenAI, the newer words": (
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        (0, 0),
    ),
    "OpenAI, input limit": (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 280123 tokens. "
        "Please reduce the length of the messages.",
        (272_000, 280_123),
    ),
    "OpenAI completions": (
        "This model's maximum context length is 4097 tokens, however you requested 4927 tokens (3927 in your prompt; "
        "1000 for the completion). Please reduce your prompt; or completion length.",
        (4097, 4927),
    ),
    "DeepSeek": (
        "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (62000 in the "
        "messages, 8000 in the completion). Please reduce the length of the messages or completion.",
        (65_536, 70_000),
    ),
    "OpenRouter": (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (148000 "
        'of text input, 2000 in the output). Please reduce the length of either one, or use the "middle-out" transform',
        (131_072, 150_000),
    ),
    "vLLM": (
        "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. "
        "Please reduce the length of the input messages.",
        (4096, 5000),
    ),
    "vLLM, answer too long beside the prompt": (
        "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 4096 "
        "tokens and your request has 3500 input tokens (1000 > 4096 - 3500).",
        (4096, 4500),
    ),
    "vLLM, newest": (
        "You passed 5001 input tokens and requested 1000 output tokens. However, the model's context length is only "
        "4096 tokens, resulting in a maximum input length of 3096 tokens. Please reduce the length of the input prompt",
        (4096, 6001),
    ),
    "vLLM's engine": (
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that "
        "`max_model_len` is no smaller than the number of text tokens.",
        (4096, 5000),
    ),
    "SGLang": (
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        (4096, 5000),
    ),
    "SGLang with the answer": (
        "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of "
        "5000 tokens: 4000 tokens from the input messages and 1000 tokens for the completion.",
        (4096, 5000),
    ),
    "llama.cpp": (
        "request (5012 tokens) exceeds the available context size (4096 tokens), try increasing it",
        (4096, 5012),
    ),
    "llama.cpp without numbers": (
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        (0, 0),
    ),
    "LM Studio": (
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context "
        "length of only 4096 tokens, which is not enough.",
        (4096, 5000),
    ),
    "Ollama": ("prompt too long; exceeded max context length by 904 tokens", (0, 0)),
    "Gemini": (
        "The input token count (1200345) exceeds the maximum number of tokens allowed (1048576).",
        (1_048_576, 1_200_345),
    ),
    "Gemini without the count": (
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        (1_048_576, 0),
    ),
    "Vertex AI": (
        "Unable to submit request because the input token count is 1200345 but model only supports up to 1048576. "
        "Reduce the input token count and try again.",
        (1_048_576, 1_200_345),
    ),
    "Anthropic": ("prompt is too long: 210000 tokens > 200000 maximum", (200_000, 210_000)),
    "Anthropic with the answer": (
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or "
        "`max_tokens` and try again",
        (200_000, 210_000),
    ),
    "Groq": ("Please reduce the length of the messages or completion.", (0, 0)),
    "Cerebras": (
        "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
        (8192, 9000),
    ),
    "Mistral": (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        (32_768, 40_000),
    ),
    "Fireworks": ("The prompt is too long: 140000, model maximum context length: 131071", (131_071, 140_000)),
    "Together": (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens and "
        "512 `max_new_tokens`",
        (4097, 5512),
    ),
    "text-generation-inference": (
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000",
        (1024, 2000),
    ),
    "xAI": (
        "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
        (131_072, 150_000),
    ),
    "Cohere": (
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.",
        (4081, 5000),
    ),
    "Moonshot": (
        "Invalid request: Your request exceeded model token limit: 131072 (requested: 135012)",
        (131_072, 135_012),
    ),
    "Qwen": ("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]", (129_024, 0)),
    "GitHub Copilot": ("prompt token count of 130000 exceeds the limit of 128000", (128_000, 130_000)),
    "GitHub Models": ("Request body too large for gpt-4o model. Max size: 8000 tokens.", (8000, 0)),
    "Bedrock": (
        "This model's maximum context length is 8192 tokens. Please reduce the length of the prompt",
        (8192, 0),
    ),
    "written with separators": (
        "This model's maximum context length is 131,072 tokens. However, your messages resulted in 1,150,000 tokens.",
        (131_072, 1_150_000),
    ),
    "MiniMax, whose number is an error code": ("invalid params, context window exceeds limit (2013)", (0, 0)),
    "a rate, which is no window": (
        "Request too large for model `llama-3.1-8b` on tokens per minute (TPM): Limit 6000, Requested 8000, please "
        "reduce your message size and try again.",
        (0, 0),
    ),
    "a number beyond all sense": (f"This model's maximum context length is {'9' * 5000} tokens.", (0, 0)),
    "nothing": ("", (0, 0)),
}


@pytest.mark.parametrize("name", WORDINGS)
def test_a_refusal_says_the_limit_and_what_was_asked_for(name: str) -> None:
    words, expected = WORDINGS[name]
    assert overflow(words) == expected
    assert overflow(f"Provider returned error: 400 {words.upper()}") == expected


def test_a_refusal_of_any_length_is_read_in_no_time() -> None:
    assert overflow("prompt is too long: " * 500_000) == (0, 0)
    assert overflow("context length is 1" * 100_000)[1] == 0


@pytest.mark.parametrize("name", [name for name in WORDINGS if name not in ("a rate, which is no window", "nothing")])
def test_every_known_wording_is_recognised_as_too_long(name: str) -> None:
    assert kind_of(400, WORDINGS[name][0]) == "too_long"
