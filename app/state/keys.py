"""Every key and field spelled once, with its hash tag and lifetime.

    fl1:{tenant.root}:s         hash    checkpoints by address, and the fields below   SESSION_TTL from the last turn
    fl1:{tenant.root}:t:<id>    string  the record of one turn                         7 days, or SESSION_TTL if shorter
    fl1:{tenant.root}:l:<name>  string  a lease: its holder's token                    the lease's own
    fl1:{tenant.root}:p:<name>  string  a pause: nobody makes that now                 the pause's own
    fl1:{tenant.root}:a:<handle> string a tool result, parked whole, compressed        SESSION_TTL from its last use
    fl1:{tenant.root}:a         zset    the sizes of those, by age                     the same
    fl1:{tenant.root}:k         string  ids that providers still keep of a forgotten session  SESSION_TTL
    fl1:{tenant.<hash>}:i       string  where an answer is whose id a provider made    SESSION_TTL from its last use
    fl1:secret                  string  the server's secret, where none is set         for ever

The braces are the cluster's hash tag: all that belongs to a session shares one slot, and the tenant is part of it.
"""

from __future__ import annotations

import re

import msgspec

PREFIX = "fl1:"
SECRET = PREFIX + "secret"
EVERY_SESSION = PREFIX + "{*}:s"

# Fields of the session hash. An address has 16 bytes, and no other field has.
ADDRESS_BYTES = 16
EPOCH = b"e"  # random, made with the hash: tells a cache that the session it knew is gone
VERSION = b"v"  # random, new with every write: tells a cache that somebody else wrote
MEMORY = b"m"  # sticky memory, JSON
INFO = b"i"  # what the list of sessions shows, msgpack

TURN_SECONDS = 7 * 24 * 3600

_ID = re.compile(r"s-([0-9a-f]{16})([0-9a-f]{24})")
_TAG = re.compile(r"fl1:\{([0-9a-f]{16})\.([0-9a-f]{24})\}:s")


class Session(msgspec.Struct, frozen=True):
    """One conversation of one tenant.

    Args:
        tenant: 16 hex digits, the HMAC of the client's credential.
        root: 24 hex digits, where the conversation begins.
    """

    tenant: str
    root: str

    @property
    def id(self) -> str:
        """The form that clients see: `s-` and 40 hex digits."""
        return f"s-{self.tenant}{self.root}"

    @property
    def key(self) -> str:
        """The hash that holds the session."""
        return f"fl1:{{{self.tenant}.{self.root}}}:s"

    def turn_key(self, turn_id: str) -> str:
        """The record of one turn: the tag, then the turn's field."""
        return f"fl1:{{{self.tenant}.{self.root}}}:{turn_field(turn_id)}"

    def lease_key(self, name: str) -> str:
        """The lease called `name`."""
        return f"fl1:{{{self.tenant}.{self.root}}}:l:{name}"

    def parked_key(self, handle: str) -> str:
        """The tool result that is parked under a handle."""
        return f"fl1:{{{self.tenant}.{self.root}}}:a:{handle}"

    @property
    def parking_key(self) -> str:
        """What is parked, by age."""
        return f"fl1:{{{self.tenant}.{self.root}}}:a"

    @property
    def kept_key(self) -> str:
        """What providers still keep of the session after it was forgotten here."""
        return f"fl1:{{{self.tenant}.{self.root}}}:k"

    def pause_key(self, name: str) -> str:
        """While it is there, `name` is not made for this session."""
        return f"fl1:{{{self.tenant}.{self.root}}}:p:{name}"

    @staticmethod
    def parse(id: str) -> Session | None:  # noqa: A002 - the wire's own word for it
        """Read the form that clients see; None if it is not one."""
        found = _ID.fullmatch(id)
        return Session(tenant=found[1], root=found[2]) if found else None

    @staticmethod
    def of_key(key: bytes) -> Session | None:
        """Whose hash `key` is; None if it is another kind of key."""
        found = _TAG.fullmatch(key.decode("ascii", "replace"))
        return Session(tenant=found[1], root=found[2]) if found else None


def turn_field(turn_id: str) -> str:
    """The field that notes a turn in the session's hash, so that its record goes when the session is forgotten."""
    field = f"t:{turn_id}"
    return field if len(field.encode()) != ADDRESS_BYTES else field + ":"
