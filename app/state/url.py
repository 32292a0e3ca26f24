"""REDIS_URL read into a Place, and every mistake in it named in one line.

    embedded://[DIR]                                        memory://
    redis://[user:password@]host[:port][/db][?options]      rediss:// the same over TLS
    unix://[user:password@]/path/to/socket[?db=1&options]
    redis+cluster://[user:password@]h:p,h:p[?options]       rediss+cluster:// the same over TLS
    redis+sentinel://[user:password@]h:p,h:p/NAME[/db]      rediss+sentinel:// the same over TLS

User and password are percent-encoded. Sentinels that want their own password get it by the options
`sentinel_username` and `sentinel_password`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

Kind = Literal["embedded", "memory", "tcp", "unix", "cluster", "sentinel"]

SCHEMES: dict[str, tuple[Kind, bool]] = {
    "embedded": ("embedded", False),
    "memory": ("memory", False),
    "redis": ("tcp", False),
    "rediss": ("tcp", True),
    "unix": ("unix", False),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
}
PORTS: dict[Kind, int] = {"tcp": 6379, "cluster": 6379, "sentinel": 26379}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the store is.

    Args:
        kind: how it is reached.
        tls: whether connections are encrypted.
        hosts: host and port of each server named.
        path: the socket of unix://, or the directory of embedded:// (empty: the default one).
        master: the name that sentinels know the master by.
        db: number of the database.
        username, password: of the servers; empty if they want none.
        options: what stood in the query, read into its types.
    """

    kind: Kind
    tls: bool = False
    hosts: tuple[tuple[str, int], ...] = ()
    path: str = ""
    master: str = ""
    db: int = 0
    username: str = ""
    password: str = ""
    options: Mapping[str, Any] = {}

    def describe(self) -> str:
        """The place without user, password and options."""
        scheme = next(name for name, (kind, tls) in SCHEMES.items() if (kind, tls) == (self.kind, self.tls))
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        tail = f"/{self.db}" if self.db and self.kind in ("tcp", "sentinel") else ""
        return f"{scheme}://{hosts}{self.path}{'/' + self.master if self.master else ''}{tail}"


def parse(url: str) -> Place:
    """Read REDIS_URL.

    Raises:
        ValueError: one line that names what is wrong; it never shows the password.
    """
    scheme, separator, rest = url.strip().partition("://")
    if not separator or scheme.lower() not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise ValueError(f"REDIS_URL: must begin with one of {known}")
    kind, tls = SCHEMES[scheme.lower()]
    if kind == "embedded":
        return Place(kind=kind, path=unquote(rest))
    if kind == "memory":
        if rest.strip("/"):
            raise ValueError("REDIS_URL: memory:// takes nothing after it; it lives in this process")
        return Place(kind=kind)
    parts = urlsplit(f"//{rest}")
    userinfo, _, netloc = parts.netloc.rpartition("@")
    username, _, password = userinfo.partition(":")
    options = _options(parts.query)
    path, master, db = _path(kind, parts.path)
    db = options.pop("db", db)
    if kind == "cluster" and db:
        raise ValueError("REDIS_URL: a cluster has only database 0")
    if kind == "unix" and netloc:
        raise ValueError("REDIS_URL: unix:// needs an absolute path: unix:///path/to/socket")
    return Place(
        kind=kind,
        tls=tls,
        hosts=() if kind == "unix" else _hosts(kind, netloc),
        path=path,
        master=master,
        db=db,
        username=unquote(username),
        password=unquote(password),
        options=options,
    )


def _hosts(kind: Kind, netloc: str) -> tuple[tuple[str, int], ...]:
    hosts = tuple(_host(kind, text) for text in netloc.split(","))
    if kind == "tcp" and len(hosts) > 1:
        raise ValueError("REDIS_URL: several hosts need redis+cluster:// or redis+sentinel://")
    return hosts


def _host(kind: Kind, text: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"REDIS_URL: {text!r} must be host:port, with a port from 1 to 65535") from None
    if port == 0 or not (host or (kind == "tcp" and not text)):
        raise ValueError(f"REDIS_URL: {text!r} must be host:port, with a port from 1 to 65535")
    return host or "localhost", port or PORTS[kind]


def _path(kind: Kind, path: str) -> tuple[str, str, int]:
    """Socket path, master's name and database that stand in the path."""
    if kind == "unix":
        if len(path) < 2:
            raise ValueError("REDIS_URL: unix:// needs the socket's path: unix:///path/to/socket")
        return unquote(path), "", 0
    segments = [unquote(segment) for segment in path.strip("/").split("/") if segment]
    master = ""
    if kind == "sentinel":
        if not segments:
            raise ValueError(
                "REDIS_URL: redis+sentinel:// needs the master's name after the hosts: redis+sentinel://h:p,h:p/NAME"
            )
        master = segments.pop(0)
    if len(segments) > 1:
        raise ValueError(f"REDIS_URL: there is too much in the path {path!r}")
    return "", master, _number("the database", segments[0]) if segments else 0


def _number(what: str, text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"REDIS_URL: {what} must be a whole number, not {text!r}")
    return int(text)


def _seconds(what: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 3600:
        raise ValueError(f"REDIS_URL: {what} must be seconds above 0, not {text!r}")
    return value


def _flag(what: str, text: str) -> bool:
    if text.lower() in ("1", "true", "yes"):
        return True
    if text.lower() in ("0", "false", "no"):
        return False
    raise ValueError(f"REDIS_URL: {what} must be true or false, not {text!r}")


def _text(what: str, text: str) -> str:
    if not text:
        raise ValueError(f"REDIS_URL: {what} is empty")
    return text


def _requirement(what: str, text: str) -> str:
    if text not in ("none", "optional", "required"):
        raise ValueError(f"REDIS_URL: {what} must be none, optional or required, not {text!r}")
    return text


# Every option that may stand in the query; names are redis-py's own.
OPTIONS: dict[str, Callable[[str, str], Any]] = {
    "db": _number,
    "client_name": _text,
    "socket_timeout": _seconds,
    "socket_connect_timeout": _seconds,
    "max_connections": _number,
    "sentinel_username": _text,
    "sentinel_password": _text,
    "ssl_ca_certs": _text,
    "ssl_ca_path": _text,
    "ssl_certfile": _text,
    "ssl_keyfile": _text,
    "ssl_password": _text,
    "ssl_ciphers": _text,
    "ssl_cert_reqs": _requirement,
    "ssl_check_hostname": _flag,
}


def _options(query: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name not in OPTIONS:
            raise ValueError(f"REDIS_URL: the option {name!r} is not known; known are {', '.join(OPTIONS)}")
        options[name] = OPTIONS[name](name, text)
    return options
