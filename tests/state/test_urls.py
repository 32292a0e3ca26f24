"""Every form of REDIS_URL is understood, and every mistake in one is named in a line without the password."""

from __future__ import annotations

import pytest

from app.state.url import Place, parse

GOOD = {
    "embedded://": Place(kind="embedded"),
    "embedded://.foldline": Place(kind="embedded", path=".foldline"),
    "embedded:///var/lib/fold%20line": Place(kind="embedded", path="/var/lib/fold line"),
    "memory://": Place(kind="memory"),
    "redis://": Place(kind="tcp", hosts=(("localhost", 6379),)),
    "redis://h": Place(kind="tcp", hosts=(("h", 6379),)),
    "redis://[::1]:7000/3": Place(kind="tcp", hosts=(("::1", 7000),), db=3),
    "redis://:p%40ss%2Fword@h:1": Place(kind="tcp", hosts=(("h", 1),), password="p@ss/word"),
    "rediss://u:p@h:1/2?ssl_cert_reqs=none&ssl_check_hostname=false": Place(
        kind="tcp", tls=True, hosts=(("h", 1),), db=2, username="u", password="p",
        options={"ssl_cert_reqs": "none", "ssl_check_hostname": False},
    ),
    "unix:///run/redis/s.sock?db=1": Place(kind="unix", path="/run/redis/s.sock", db=1),
    "unix://u:p@/run/s.sock": Place(kind="unix", path="/run/s.sock", username="u", password="p"),
    "redis+cluster://u:p@a:1,b:2": Place(kind="cluster", hosts=(("a", 1), ("b", 2)), username="u", password="p"),
    "rediss+cluster://a,b": Place(kind="cluster", tls=True, hosts=(("a", 6379), ("b", 6379))),
    "redis+sentinel://u:p@a:1,b/main/4": Place(
        kind="sentinel", hosts=(("a", 1), ("b", 26379)), master="main", db=4, username="u", password="p"
    ),
}  # fmt: skip

BAD = {
    "localhost:6379": "must begin with one of",
    "http://h": "must begin with one of",
    "memory://x": "memory:// takes nothing",
    "redis://u:secret@h:port": "'h:port' must be host:port",
    "redis://h:0": "must be host:port",
    "redis://h:70000": "must be host:port",
    "redis://a,b": "several hosts",
    "redis://h/one": "the database must be a whole number",
    "redis://h/1/2": "too much in the path",
    "redis://h?ssl_ca_cert=x": "the option 'ssl_ca_cert' is not known",
    "redis://h?socket_timeout=soon": "socket_timeout must be seconds",
    "rediss://h?ssl_cert_reqs=maybe": "ssl_cert_reqs must be none, optional or required",
    "rediss://h?ssl_check_hostname=perhaps": "ssl_check_hostname must be true or false",
    "unix://": "unix:// needs the socket's path",
    "unix://run/s.sock": "unix:// needs an absolute path",
    "redis+cluster://": "must be host:port",
    "redis+cluster://a:1,": "must be host:port",
    "redis+cluster://a:1/2": "only database 0",
    "redis+cluster://a:1?db=2": "only database 0",
    "redis+sentinel://a:1": "needs the master's name",
}


@pytest.mark.parametrize("url", GOOD)
def test_a_url_is_understood(url: str) -> None:
    assert parse(url) == GOOD[url]


@pytest.mark.parametrize("url", BAD)
def test_a_mistake_is_named_in_one_line(url: str) -> None:
    with pytest.raises(ValueError, match=r"^REDIS_URL: ") as caught:
        parse(url)
    assert BAD[url] in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_description_holds_no_password() -> None:
    shown = [parse(url).describe() for url in GOOD]
    assert not any("p@" in text or "p%40" in text for text in shown)
    assert "redis+sentinel://a:1,b:26379/main/4" in shown
    assert "redis://[::1]:7000/3" in shown
