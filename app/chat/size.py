"""How many tokens a text takes, estimated. What a provider reported is always better."""

from __future__ import annotations


def rough(body: bytes) -> int:
    """Tokens of a whole request, from its bytes: a quarter of them.

    Within 10 % for English and Japanese in UTF-8; JSON and logs take up to twice as many, pictures as base64 far fewer.
    """
    return len(body) // 4
