"""A URL becomes one Link: the lean one for single servers, redis-py's client for a cluster and for fakeredis.

redis-py's own defaults let a request hang for a minute on a silent server. Here every form gets the same short
timeouts, no retries inside redis-py, and RESP2, in which a server never speaks unasked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from redis import exceptions as errors
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel
from redis.backoff import NoBackoff

from app.state.client import ClusterLink, MemoryLink
from app.state.lean import CONNECTIONS, Connector, Handover, LeanLink, TcpHandover, TlsHandover, UnixHandover
from app.state.link import Link
from app.state.url import Place, parse

CONNECT_SECONDS = 0.5
CLIENT_NAME = "foldline"
HEALTH_CHECK_SECONDS = 15


async def open_link(url: str, *, options: Mapping[str, Any] | None = None) -> Link:
    """Make the link that REDIS_URL names. Nothing is dialled yet, except that an embedded server is started.

    Args:
        url: see url.py for all its forms.
        options: `timeout`, seconds for one step (STORE_TIMEOUT, 0.5 by default), and anything that may stand in the
            URL's query, which wins. A longer `socket_timeout` is cut to `timeout`.

    Raises:
        ValueError: the URL is wrong; one line says where.
        EmbeddedError: there is no server to embed, or it did not start; the message says what to do.
    """
    place = parse(url)
    given = dict(options or {})
    timeout = float(given.pop("timeout", 0.5))
    given |= place.options
    connections = int(given.pop("max_connections", CONNECTIONS)) or CONNECTIONS
    if place.kind == "memory":
        return _memory(place, timeout)
    if place.kind == "cluster":
        return _cluster(place, given, timeout, connections)
    if place.kind == "embedded":
        from app.state.embedded import open_embedded

        server = await open_embedded(place.path)
        connector = _connector(parse(server.url), given, timeout)
        return LeanLink(connector, f"embedded://{server.directory}", timeout=timeout, on_close=server.aclose)
    connector = _connector(place, given, timeout)
    return LeanLink(connector, place.describe(), timeout=timeout, connections=connections)


def settings(place: Place, options: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """What redis-py is told about every connection, in its own words."""
    chosen = {name: value for name, value in options.items() if not name.startswith("sentinel_")}
    chosen["socket_timeout"] = min(chosen.get("socket_timeout", timeout), timeout)
    chosen["socket_connect_timeout"] = min(chosen.get("socket_connect_timeout", CONNECT_SECONDS), timeout)
    chosen.setdefault("client_name", CLIENT_NAME)
    chosen["protocol"] = 2
    chosen["driver_info"] = None
    if place.username:
        chosen["username"] = place.username
    if place.password:
        chosen["password"] = place.password
    return chosen


def _connector(place: Place, options: Mapping[str, Any], timeout: float) -> Connector:
    chosen = settings(place, options, timeout)
    chosen["db"] = place.db
    if place.kind == "unix":

        async def unix() -> Handover:
            return UnixHandover(path=place.path, **chosen)

        return unix
    kind: Callable[..., Handover] = TlsHandover if place.tls else TcpHandover
    if not place.tls:
        chosen = {name: value for name, value in chosen.items() if not name.startswith("ssl_")}
    if place.kind == "sentinel":
        masters = Masters(place, options, timeout)

        async def master() -> Handover:
            host, port = await masters.find()
            return kind(host=host, port=port, **chosen)

        return master
    host, port = place.hosts[0]

    async def tcp() -> Handover:
        return kind(host=host, port=port, **chosen)

    return tcp


class Masters:
    """Asks all sentinels at once who the master is; the first good answer counts: a silent sentinel costs nothing."""

    def __init__(self, place: Place, options: Mapping[str, Any], timeout: float) -> None:
        self._name = place.master
        chosen = settings(Place(kind="sentinel"), options, timeout)
        chosen["retry"] = Retry(NoBackoff(), 0)
        if place.tls:
            chosen["ssl"] = True
        else:
            chosen = {name: value for name, value in chosen.items() if not name.startswith("ssl_")}
        for name in ("username", "password"):
            if value := options.get(f"sentinel_{name}"):
                chosen[name] = value
        self._place = place
        self._chosen = chosen

    async def find(self) -> tuple[str, int]:
        """Host and port of the master.

        Raises:
            MasterNotFoundError: no sentinel knows one, or none answers.
        """
        asking = [asyncio.create_task(self._ask(host)) for host in self._place.hosts]
        try:
            for answer in asyncio.as_completed(asking):
                try:
                    return await answer
                except (errors.RedisError, OSError):
                    continue
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        raise MasterNotFoundError(f"no sentinel names a master for {self._name!r}")

    async def _ask(self, host: tuple[str, int]) -> tuple[str, int]:
        async with Sentinel([host], sentinel_kwargs=self._chosen) as sentinel:
            found: Any = await sentinel.discover_master(self._name)  # pyright: ignore - untyped in redis-py
            return found


def _cluster(place: Place, options: Mapping[str, Any], timeout: float, connections: int) -> Link:
    # Half the deadline a step: a node that hangs then leaves time to say so, and to ask another one for the map.
    chosen = settings(place, options, timeout / 2)
    if place.tls:
        chosen["ssl"] = True
    else:
        chosen = {name: value for name, value in chosen.items() if not name.startswith("ssl_")}
    try:
        client = RedisCluster(
            startup_nodes=[ClusterNode(host, port) for host, port in place.hosts],
            max_connections=connections,
            health_check_interval=HEALTH_CHECK_SECONDS,
            retry=Retry(NoBackoff(), 2),
            **chosen,
        )
    except TypeError as error:
        raise ValueError(f"REDIS_URL: a cluster does not take one of these options ({error})") from None
    return ClusterLink(client, place.describe(), timeout=timeout, connections=connections)


def _memory(place: Place, timeout: float) -> Link:
    from fakeredis import FakeAsyncRedis, FakeServer

    return MemoryLink(FakeAsyncRedis(server=FakeServer()), place.describe(), timeout=timeout)
