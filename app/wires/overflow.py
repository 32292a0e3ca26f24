"""What providers say when a prompt is too long, each in words of its own, and the numbers in it."""

from __future__ import annotations

import re

LONGEST_MESSAGE = 4_000
"""Characters of a refusal that are read."""

_N = r"\d[\d,]{0,11}(?!\d)"
_LIMIT, _ASKED, _MORE = (f"(?P<{name}>{_N})" for name in ("limit", "asked", "more"))

_WORDINGS: tuple[str, ...] = (
    # the first that fits counts, so those that name more stand first; each is some server's own sentence
    # vLLM, when prompt and answer together are too much: the answer's share is part of what was asked for
    rf"context length is (?:only )?{_LIMIT} tokens and your request has {_ASKED} input tokens \({_MORE} >",
    rf"passed {_ASKED} input tokens and requested {_MORE} output tokens.{{0,80}}?context length is (?:only )?{_LIMIT}",
    # Anthropic, input and max_tokens together
    rf"exceed context limit: {_ASKED} \+ {_MORE} > {_LIMIT}",
    # text-generation-inference, Together
    rf"must be <= {_LIMIT}\. Given: {_ASKED} `inputs` tokens and {_MORE}",
    rf"`inputs` must have less than {_LIMIT} tokens\. Given: {_ASKED}",
    # SGLang; vLLM's engine
    rf"context length of {_LIMIT} tokens\. You requested a total of {_ASKED}",
    rf"input \({_ASKED} tokens\) is longer than the model's context length \({_LIMIT}",
    rf"prompt \((?:total )?length {_ASKED}\) is (?:too )?long.{{0,60}}?(?:context length|model length of) {_LIMIT}",
    # OpenAI, Azure, DeepSeek, OpenRouter, vLLM; the tail is missing now and then
    rf"(?:maximum )?context length is (?:only )?{_LIMIT}(?: tokens)?[.,]? (?:however,? )?"
    rf"(?:your messages resulted in|you requested(?: about)?|your request has|your prompt contains(?: at least)?)"
    rf" {_ASKED}",
    rf"exceed the configured limit of {_LIMIT} tokens\. Your messages resulted in {_ASKED}",
    # Gemini, both spellings; Vertex AI
    rf"input token count \({_ASKED}\) exceeds the maximum number of tokens allowed \(?{_LIMIT}",
    rf"input token count is {_ASKED} but (?:the )?model only supports up to {_LIMIT}",
    rf"exceeds the maximum number of tokens allowed \(?{_LIMIT}",
    # Anthropic
    rf"prompt is too long: {_ASKED} tokens > {_LIMIT}",
    # Fireworks
    rf"prompt is too long: {_ASKED}, model maximum context length: {_LIMIT}",
    # llama.cpp; LM Studio
    rf"request \({_ASKED} tokens\) exceeds the available context size \({_LIMIT}",
    rf"keep the first {_ASKED} tokens.{{0,80}}?context length of only {_LIMIT}",
    # Mistral
    rf"prompt contains {_ASKED} tokens.{{0,80}}?model with {_LIMIT} maximum context length",
    # xAI
    rf"maximum prompt length is {_LIMIT} but the request contains {_ASKED}",
    # Cerebras (Groq says the same first half, and no numbers)
    rf"current length is {_ASKED} while limit is {_LIMIT}",
    # Moonshot
    rf"exceeded model token limit: {_LIMIT}(?: \(requested: {_ASKED}\))?",
    # Cohere
    rf"tokens in the prompt cannot exceed {_LIMIT} - received {_ASKED}",
    # GitHub
    rf"prompt token count of {_ASKED} exceeds the limit of {_LIMIT}",
    rf"request body too large for \S+ model\. Max size: {_LIMIT} tokens",
    # Qwen
    rf"range of input length should be \[1, {_LIMIT}\]",
    # whoever names the limit alone, in OpenAI's words
    rf"maximum (?:context|model) length (?:is|of) {_LIMIT}",
    rf"context length of only {_LIMIT}",
)
_NUMBERLESS = re.compile(
    r"maximum context length|context_length_exceeded"
    r"|exceeds? the (?:model's |available )?context (?:window|length|size)"
    r"|input token count.{0,40}exceeds the maximum|exceeds the maximum number of tokens|prompt (?:is )?too long"
    r"|context window exceeds limit|reduce the length of (?:the )?(?:messages|input|prompt)"
    r"|exceeds? (?:the )?context limit|input (?:is )?too long for (?:the )?(?:requested )?model",
    re.IGNORECASE,
)
_PATTERNS = tuple(re.compile(wording, re.IGNORECASE | re.DOTALL) for wording in _WORDINGS)


def overflow(message: str) -> tuple[int, int]:
    """The limit, and what the request would have taken, read out of a provider's words for "too long".

    Both in tokens, 0 for what is not said. Where a provider counts the answer's share in, so does the second number:
    the prompt must shrink by as much. Words about tokens per minute are about rates, and give nothing.
    """
    said = message[:LONGEST_MESSAGE]
    for pattern in _PATTERNS:
        if found := pattern.search(said):
            given = {name: int(number.replace(",", "")) for name, number in found.groupdict().items() if number}
            return given["limit"], given.get("asked", 0) + given.get("more", 0)
    return 0, 0


def is_overflow(message: str) -> bool:
    """Whether a refusal says that the prompt is too long, with or without a number."""
    said = message[:LONGEST_MESSAGE]
    return bool(_NUMBERLESS.search(said)) or any(pattern.search(said) for pattern in _PATTERNS)
