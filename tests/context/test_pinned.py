"""Whether the model that answered is the pinned one: a table of names as providers and gateways really answer."""

from __future__ import annotations

import pytest

from app.context.pinned import drifted

SAME = [
    ("gemini-2.5-flash", "gemini-2.5-flash"),
    ("gemini-2.5-flash", "Gemini-2.5-Flash"),
    ("models/gemini-2.5-flash", "gemini-2.5-flash"),
    ("gemini-2.5-flash", "google/gemini-2.5-flash"),
    ("google/gemini-2.5-flash", "gemini-2.5-flash"),
    ("gemini-2.5-flash", "publishers/google/models/gemini-2.5-flash"),
    ("openrouter/google/gemini-2.5-flash", "google/gemini-2.5-flash"),
    ("gemini-2.0-flash", "gemini-2.0-flash-001"),
    ("gemini-2.0-flash", "gemini-2.0-flash-002"),
    ("gemini-2.5-flash", "gemini-2.5-flash-preview-09-2025"),
    ("gemini-2.5-flash", "gemini-2.5-flash-preview-05-20"),
    ("gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash-preview-09-2025"),
    ("gpt-5-mini", "gpt-5-mini-2025-08-07"),
    ("openai/gpt-5-mini", "gpt-5-mini-2025-08-07"),
    ("gpt-4", "gpt-4-0613"),
    ("gpt-3.5-turbo", "gpt-3.5-turbo-0125"),
    ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
    ("claude-sonnet-4-5", "claude-sonnet-4-5@20250929"),
    ("claude-sonnet-4-0", "claude-sonnet-4-20250514"),
    ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929"),
    ("mistral-large-latest", "mistral-large-2411"),
    ("gemini-flash-latest", "gemini-3-flash-preview"),
    ("gemini-flash-latest", "gemini-2.5-flash-preview-09-2025"),
    ("gemini-flash-lite-latest", "gemini-2.5-flash-lite"),
    ("deepseek/deepseek-r1:free", "deepseek/deepseek-r1"),
    ("llama3", "llama3:latest"),
    ("lab", "lab"),
    ("lab", ""),
    ("lab", "  "),
    ("", "lab"),
]
OTHERS = [
    ("gemini-2.5-flash", "gemini-2.5-flash-lite"),
    ("gemini-2.5-flash", "gemini-2.5-flash-lite-001"),
    ("gemini-2.5-flash-lite", "gemini-2.5-flash"),
    ("gemini-2.5-flash", "gemini-3-flash"),
    ("gemini-2.5-flash", "gemini-3-flash-preview"),
    ("gemini-2.5-flash", "gemini-2.5-pro"),
    ("gemini-2.0-flash-001", "gemini-2.0-flash-002"),
    ("gemini-2.0-flash-001", "gemini-2.0-flash"),
    ("gpt-5-mini", "gpt-5"),
    ("gpt-5", "gpt-5-mini-2025-08-07"),
    ("gpt-5", "gpt-5.1-2025-11-13"),
    ("gpt-5-mini-2025-08-07", "gpt-5-mini-2026-01-15"),
    ("gpt-4", "gpt-4-32k"),
    ("gpt-4o", "gpt-4o-mini"),
    ("claude-sonnet-4-5", "claude-sonnet-4-6"),
    ("claude-opus-4", "claude-opus-4-1"),
    ("claude-sonnet-4-5", "claude-haiku-4-5-20251001"),
    ("gemini-flash-latest", "gemini-2.5-flash-lite"),
    ("mistral-large-latest", "mistral-small-2506"),
    ("meta-llama/llama-3", "unsloth/llama-3"),
    ("llama3-70b", "llama3-70b-8192"),
    ("qwen3:8b", "qwen3:14b"),
    ("lab", "lab-2"),
    ("lab", "la"),
]


@pytest.mark.parametrize(("pinned", "served"), SAME)
def test_an_alias_answered_by_its_version_is_the_pinned_model(pinned: str, served: str) -> None:
    assert not drifted(pinned, served)


@pytest.mark.parametrize(("pinned", "served"), OTHERS)
def test_another_model_than_the_pinned_one_is_drift(pinned: str, served: str) -> None:
    assert drifted(pinned, served)
