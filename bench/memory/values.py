"""Values that a fact may have: exact, invented, and unlike anything in the talk around them."""

from __future__ import annotations

import random
from collections.abc import Callable

Make = Callable[[random.Random], str]
"""Makes a value."""


def _digits(rng: random.Random, count: int) -> str:
    return str(rng.randrange(10 ** (count - 1), 10**count))


def _letters(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("BCDFGHJKLMNPQRSTVWXZ", k=count))


def _hexadecimal(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("0123456789abcdef", k=count - 1)) + rng.choice("abcdef")


def order_number(rng: random.Random) -> str:
    """Like an order number."""
    return f"{_letters(rng, 3)}-{_digits(rng, 5)}-{_letters(rng, 2)}"


def url(rng: random.Random) -> str:
    """An address on the web."""
    host = rng.choice(("wiki.kestrel", "status.northfield", "docs.halvorsen", "files.ostrava"))
    page = rng.choice(("runbooks", "orders", "minutes", "drafts"))
    return f"https://{host}.example/{page}/{_hexadecimal(rng, 6)}"


def path(rng: random.Random) -> str:
    """Of a file."""
    top = rng.choice(("/srv/exports", "/home/ops/reports", "/var/lib/ledger", "/data/archive"))
    quarter, file = rng.choice(("q1", "q2", "q3", "final")), rng.choice(("totals.csv", "index.db"))
    return f"{top}/{quarter}_{_hexadecimal(rng, 4)}/{file}"


def email(rng: random.Random) -> str:
    """A mail address."""
    name = rng.choice(("okafor", "tanabe", "lindgren", "moreau", "castillo"))
    return f"{rng.choice('abdefhkmnrst')}.{name}{_digits(rng, 2)}@northfield.example"


def host(rng: random.Random) -> str:
    """An address in a private network, with its port."""
    return f"10.{rng.randrange(20, 250)}.{rng.randrange(20, 250)}.{rng.randrange(20, 250)}:{_digits(rng, 4)}"


def version(rng: random.Random) -> str:
    """Of a program."""
    return f"v{rng.randrange(2, 19)}.{rng.randrange(10, 60)}.{rng.randrange(1, 30)}"


def clock(rng: random.Random) -> str:
    """A time of day."""
    return f"{rng.randrange(6, 23):02d}:{rng.choice((7, 13, 19, 26, 34, 41, 52, 58)):02d}"


def dollars(rng: random.Random) -> str:
    """An amount of US dollars."""
    return f"${rng.randrange(2_000, 98_000):,}.{rng.randrange(10, 99)}"


def yen(rng: random.Random) -> str:
    """An amount of yen."""
    return f"{rng.randrange(120_000, 9_800_000):,}円"


def day(rng: random.Random) -> str:
    """A date in digits."""
    return f"{rng.randrange(2027, 2031)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"


def japanese_day(rng: random.Random) -> str:
    """A date as it is written in Japanese."""
    return f"{rng.randrange(2027, 2031)}年{rng.randrange(1, 13)}月{rng.randrange(1, 29)}日"


def london(rng: random.Random) -> str:
    """A phone number in London."""
    return f"+44 20 {_digits(rng, 4)} {_digits(rng, 4)}"


def tokyo(rng: random.Random) -> str:
    """A phone number in Tokyo."""
    return f"03-{_digits(rng, 4)}-{_digits(rng, 4)}"


def commit(rng: random.Random) -> str:
    """A short commit hash."""
    return _hexadecimal(rng, 8)


def measure(rng: random.Random) -> str:
    """A weight or a length."""
    return f"{rng.randrange(11, 99)}.{rng.randrange(1, 10)} {rng.choice(('kg', 'cm'))}"


def one_of(*values: str) -> Make:
    """One of these."""
    return lambda rng: rng.choice(values)


def joined(first: tuple[str, ...], last: tuple[str, ...], between: str = " ") -> Make:
    """One of each, side by side."""
    return lambda rng: rng.choice(first) + between + rng.choice(last)
