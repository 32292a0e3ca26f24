"""What lies in the store under ENCRYPTION_KEYS opens only in its own place, and never raises."""

from __future__ import annotations

import base64
import os

import pytest

from app.state.crypto import make_seal
from tests.state.samples import session

KEY = base64.b64encode(bytes(range(32))).decode()
OTHER = base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")


@pytest.mark.parametrize(
    "value", [b"", b"short", b"\x00" * 5000, os.urandom(5000)], ids=["empty", "short", "zeros", "noise"]
)
@pytest.mark.parametrize("setting", ["", f"a:{KEY}", f" b:{OTHER} , a:{KEY}"], ids=["none", "one", "two"])
def test_a_value_comes_back(setting: str, value: bytes) -> None:
    seal, who = make_seal(setting), session()
    assert seal.open(who, b"m", seal.close(who, b"m", value)) == value


def test_a_value_opens_only_for_its_tenant_session_and_field() -> None:
    seal, who, other = make_seal(f"a:{KEY}"), session("a" * 16), session("a" * 16)
    stored = seal.close(who, b"m", b"text")
    assert b"text" not in stored
    assert seal.open(who, b"i", stored) is None
    assert seal.open(other, b"m", stored) is None
    assert seal.open(session("b" * 16), b"m", stored) is None


def test_whatever_is_broken_counts_as_not_there() -> None:
    seal, who = make_seal(f"a:{KEY}"), session()
    for value in (b"text", b"text" * 1000):
        stored = seal.close(who, b"m", value)
        for end in range(min(len(stored), 64)):
            assert seal.open(who, b"m", stored[:end]) is None
        for position in range(1, min(len(stored), 64)):
            changed = bytearray(stored)
            changed[position] ^= 1
            assert seal.open(who, b"m", bytes(changed)) is None
    assert seal.open(who, b"m", b"\x09anything") is None


def test_the_first_key_writes_and_all_read() -> None:
    old, both, new = make_seal(f"old:{KEY}"), make_seal(f"new:{OTHER},old:{KEY}"), make_seal(f"new:{OTHER}")
    who = session()
    assert both.open(who, b"m", old.close(who, b"m", b"text")) == b"text"
    assert new.open(who, b"m", both.close(who, b"m", b"text")) == b"text"
    assert new.open(who, b"m", old.close(who, b"m", b"text")) is None
    assert make_seal("").open(who, b"m", new.close(who, b"m", b"text")) is None


def test_switching_encryption_on_loses_nothing() -> None:
    who = session()
    assert make_seal(f"a:{KEY}").open(who, b"m", make_seal("").close(who, b"m", b"text")) == b"text"


@pytest.mark.parametrize(
    "setting",
    ["nothing", ":" + KEY, "a:!!", "a:" + base64.b64encode(b"short").decode(), f"a:{KEY},a:{KEY}", f"a:{KEY},"],
)
def test_a_wrong_setting_is_named_and_its_key_not_shown(setting: str) -> None:
    with pytest.raises(ValueError, match=r"^ENCRYPTION_KEYS: ") as caught:
        make_seal(setting)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
