"""The estimates stay as near to real tokenizers as docs/tokens.md says, and count all that a request holds."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.calibration import Calibration
from app.chat.model import (
    Chat,
    Media,
    Message,
    Native,
    Opaque,
    OutputFormat,
    Sampling,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from app.chat.script import script_of
from app.chat.size import (
    PER_MESSAGE,
    Family,
    family_of,
    known_plus_tail,
    of_chat,
    of_message,
    of_part,
    of_text,
    of_tools,
)

SAMPLES = Path(__file__).parent / "samples"
COUNTS: dict[str, dict[str, int]] = json.loads((SAMPLES / "counts.json").read_text(encoding="utf-8"))
TOKENS_PAGE = Path(__file__).parents[2] / "docs" / "tokens.md"
FAMILIES: tuple[Family, ...] = get_args(Family)

COLUMNS: tuple[tuple[Family, str], ...] = (
    ("openai", "o200k"),
    ("openai", "cl100k"),
    ("claude", "claude48"),
    ("claude", "claude46"),
    ("other", "cl100k"),
    ("other", "qwen"),
)
"""The columns of the page's table: whose weights, against which tokenizer."""


@cache
def sample(name: str) -> str:
    """One of the texts whose tokens were counted."""
    return (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")


def off(name: str, family: Family, tokenizer: str) -> float:
    """How far the estimate is off, in per cent; above 0 it is too high."""
    return 100 * (of_text(sample(name), family) / COUNTS[name][tokenizer] - 1)


@pytest.mark.parametrize("name", COUNTS)
def test_estimates_keep_within_the_documented_bounds(name: str) -> None:
    assert -5 <= off(name, "openai", "o200k") <= 15
    assert -5 <= off(name, "claude", "claude48") <= 15
    larger = max("cl100k", "qwen", key=lambda tokenizer: COUNTS[name][tokenizer])
    assert -5 <= off(name, "other", larger) <= 25


@pytest.mark.parametrize("name", ["json", "log"])
def test_json_and_logs_are_never_estimated_more_than_three_per_cent_too_low(name: str) -> None:
    assert all(off(name, family, tokenizer) >= -3 for family, tokenizer in COLUMNS)


def test_the_page_says_how_far_off_the_estimates_really_are() -> None:
    lines = TOKENS_PAGE.read_text(encoding="utf-8").splitlines()
    said = {cells[0]: cells[1:7] for line in lines if (cells := [cell.strip() for cell in line.strip("|").split("|")])}
    for name in COUNTS:
        measured = [round(off(name, family, tokenizer)) for family, tokenizer in COLUMNS]
        assert [int(cell.removesuffix(" %").replace("−", "-")) for cell in said[name]] == measured, name


@pytest.mark.parametrize("name", COUNTS)
def test_gemini_is_estimated_no_lower_than_the_nearest_public_tokenizer(name: str) -> None:
    assert of_text(sample(name), "gemini") >= COUNTS[name]["o200k"]


@given(st.text(max_size=300), st.sampled_from(FAMILIES))
def test_any_text_has_a_size(text: str, family: Family) -> None:
    assert (of_text(text, family) > 0) == bool(text)


@given(st.text(max_size=100))
def test_every_character_of_a_text_is_counted_once(text: str) -> None:
    counted = script_of(text)
    assert sum(counted) - counted.words - counted.numbers == len(text)


def test_half_a_surrogate_pair_is_counted_too() -> None:
    assert of_text("\ud83d", "openai") >= 1


def test_long_encoded_runs_are_told_from_long_words_and_rules() -> None:
    assert script_of("here: " + "aG9sYSBtdW5kbyEgMTIzNDU2Nzg5MA" * 4).encoded == 120
    assert script_of("=" * 200).encoded == 0
    assert script_of("test_a_hung_store_delays_a_turn_by_no_more_than_its_deadline").encoded == 0
    assert script_of("/usr/lib/python3/dist-packages/some/long/path/to/a/file").encoded == 0


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-6.1", "openai"),
        ("o3-mini", "openai"),
        ("openai/gpt-oss-120b", "openai"),
        ("models/gemini-3.8-flash", "gemini"),
        ("gemma-3-27b-it", "gemini"),
        ("us.anthropic.claude-opus-5-5", "claude"),
        ("Claude-Sonnet-4-5", "claude"),
        ("qwen3-32b", "other"),
        ("gpt-neox-20b", "other"),
        ("lab", "other"),
    ],
)
def test_a_models_name_tells_its_family(model: str, family: Family) -> None:
    assert family_of(model) == family


PARTS = (
    Text("How far is the moon?"),
    Thinking("The user asks for a distance."),
    ToolCall("c1", "look_up", '{"what": "distance of the moon"}'),
    ToolResult("c1", (Text("384,400 km"), Media("image", url="https://example.org/moon.png"))),
    Media("audio", url="https://example.org/moon.mp3"),
    Opaque(Native("anthropic", {"type": "search_result", "title": "The moon and its distance"})),
)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_message_is_its_parts_and_a_frame(family: Family) -> None:
    sizes = [of_part(part, family) for part in PARTS]
    assert all(size > 3 for size in sizes)
    assert of_message(Message("user", PARTS), family) == PER_MESSAGE + sum(sizes)


def test_a_chat_counts_its_system_texts_tools_and_the_answers_schema() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string", "description": "the city's name"}}}
    said = (Message("user", (Text("hello"),)),)
    system = (Message("system", (Text("Answer in short sentences, and never in verse."),)),)
    tools = (Tool("weather", "The weather of a city", schema),)
    bare = of_chat(Chat("gpt-6", said), "openai")
    assert of_chat(Chat("gpt-6", said, system), "openai") == bare + of_message(system[0], "openai")
    assert of_chat(Chat("gpt-6", said, tools=tools), "openai") == bare + of_tools(tools, "openai")
    output = Sampling(output=OutputFormat("place", schema))
    assert of_chat(Chat("gpt-6", said, sampling=output), "openai") > bare + 15


def test_a_hosted_tool_is_counted_by_what_its_own_wire_says() -> None:
    body: dict[str, Any] = {"type": "web_search", "user_location": {"type": "approximate", "country": "JP"}}
    hosted = Tool("web_search", kind="hosted", native=Native("openai_responses", body))
    assert of_tools((hosted,), "openai") > of_tools((Tool("web_search", kind="hosted"),), "openai")


def test_claude_pays_for_the_hidden_prompt_of_its_tools_only_with_tools() -> None:
    assert of_tools((), "claude") == 0
    assert of_tools((Tool("a"),), "claude") > 286


def test_media_hidden_in_an_unknown_part_is_not_counted_as_text() -> None:
    body = {"type": "hologram", "data": "aG9sYSBtdW5kbyEgMTIzNDU2Nzg5MA" * 30_000}
    assert of_part(Opaque(Native("anthropic", body)), "claude") < 5_000


def test_a_sealed_thought_is_counted_by_its_signature() -> None:
    assert of_part(Thinking("", signature="x" * 5_000), "claude") == 1_000


def test_what_the_provider_reported_is_taken_as_it_is() -> None:
    tail = (Message("user", (Text("And how far is the sun?"),)),)
    assert known_plus_tail(10_000, 500, (), "openai") == 10_500
    assert known_plus_tail(10_000, 500, tail, "openai") == 10_500 + of_message(tail[0], "openai")


def test_a_calibrated_estimate_comes_near_what_is_reported() -> None:
    calibration = Calibration()
    for _ in range(20):
        calibration.observe("claude-opus-4-5", 10_000, 7_500)
    assert calibration.correct("claude-opus-4-5", 10_000) == pytest.approx(7_500, rel=0.01)
    assert calibration.correct("never-seen", 10_000) == 10_000


def test_one_odd_report_does_not_overturn_what_was_learnt() -> None:
    calibration = Calibration()
    for reported in (10_000, 10_000, 900_000):
        calibration.observe("m", 10_000, reported)
    assert calibration.correct("m", 10_000) == 10_000


@pytest.mark.parametrize("reported", [1, 20, 10**9])
def test_a_server_that_makes_its_numbers_up_teaches_nothing(reported: int) -> None:
    calibration = Calibration()
    calibration.observe("m", 1_000, reported)
    assert calibration.ratio("m") == 1.0


@pytest.mark.parametrize(("reported", "ratio"), [(450, 0.5), (2_400, 2.0)])
def test_a_ratio_stays_within_its_bounds(reported: int, ratio: float) -> None:
    calibration = Calibration()
    calibration.observe("m", 1_000, reported)
    assert calibration.ratio("m") == ratio


def test_small_chats_and_missing_reports_teach_nothing() -> None:
    calibration = Calibration()
    calibration.observe("m", 20, 60)
    calibration.observe("m", 5_000, 0)
    assert calibration.ratio("m") == 1.0


def test_only_so_many_models_are_remembered_and_the_busy_ones_stay() -> None:
    calibration = Calibration(most_models=3)
    for index in range(50):
        calibration.observe("busy", 1_000, 1_500)
        calibration.observe(f"made-up-{index}", 1_000, 1_500)
    assert calibration.ratio("busy") == 1.5
    assert sum(calibration.ratio(f"made-up-{index}") != 1.0 for index in range(50)) == 2


def test_pages_table_names_every_sample() -> None:
    page = TOKENS_PAGE.read_text(encoding="utf-8")
    assert [name for name in COUNTS if not re.search(rf"^\| {name} \|", page, re.MULTILINE)] == []
