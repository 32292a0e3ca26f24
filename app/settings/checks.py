"""What single values must look like, and which settings contradict each other."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import SecretStr

from app.settings.tables import KINDS, OWN_ADDRESS, Api, Kind, Route, Upstream, UpstreamTable
from app.settings.units import did_you_mean, listed

if TYPE_CHECKING:
    from app.settings.fields import Settings

STORES = ("embedded", "memory", "redis", "rediss", "unix", "redis+cluster", "redis+sentinel")
WITH_TLS = ("rediss+cluster", "rediss+sentinel")


def host(value: object) -> str:
    """An address or a host name to listen on, without scheme and port."""
    text = str(value).strip().removeprefix("[").removesuffix("]")
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", text):
            raise ValueError("an address such as 127.0.0.1, 0.0.0.0 or ::, or a host name, without port") from None
        return text


def store_url(value: object) -> SecretStr:
    """A store URL with a scheme that the store room knows; the room itself reads the rest."""
    text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
    scheme, found, _ = text.strip().partition("://")
    if not found or scheme not in STORES + WITH_TLS:
        forms = [f"{store}://" for store in STORES]
        raise ValueError(f"a URL that begins with {listed(forms)}{did_you_mean(scheme + '://', forms)}")
    return SecretStr(text.strip())


def encryption_keys(value: object) -> SecretStr | None:
    """`id:base64key,…`, each key 32 bytes long and each id used once."""
    if value is None:
        return None
    text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
    ids: set[str] = set()
    for entry in text.split(","):
        name, _, key = entry.strip().partition(":")
        if not re.fullmatch(r"[!-9;-~]{1,64}", name) or name in ids or _key_length(key) != 32:
            shape = "id:base64key,… with different ids and keys of 32 bytes"
            raise ValueError(f"{shape} (make a key with: openssl rand -base64 32)")
        ids.add(name)
    return SecretStr(text.strip())


def _key_length(key: str) -> int:
    try:
        return len(base64.b64decode(key + "=" * (-len(key) % 4), validate=True))
    except (binascii.Error, ValueError):
        return -1


def is_loopback(address: str) -> bool:
    """True for localhost and the loopback ranges of both address families."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address.lower() == "localhost"


def every_upstream(settings: Settings) -> dict[str, Upstream]:
    """gemini, openai and anthropic, each changed by a table of its name, then the further tables."""
    names = [*KINDS, *(name for name in settings.upstreams if name not in KINDS)]
    return {name: _upstream(settings, name, settings.upstreams.get(name)) for name in names}


def _upstream(settings: Settings, name: str, table: UpstreamTable | None) -> Upstream:
    kind: Kind = table.kind if table else KINDS[[*KINDS].index(name)]
    own = name in KINDS
    given = (table and table.base_url) or (getattr(settings, f"{kind}_base_url") if own else None)
    key = (table and table.api_key) or (getattr(settings, f"{kind}_api_key") if own else None)
    return Upstream(
        name=name,
        kind=kind,
        base_url=given or (table and _cloud_address(table)) or OWN_ADDRESS[kind],
        api=_api(settings, kind, own, table),
        only=bool(table and table.api) or (own and f"{kind}_api" in settings.model_fields_set),
        retention=(table and table.retention) or _RETENTION[kind](settings),
        api_key=key,
        vertex_project=table.vertex_project if table else None,
        vertex_location=table.vertex_location if table else None,
        configured=bool(table or given or key),
    )


_APIS: dict[Kind, tuple[Api, ...]] = {
    "gemini": ("interactions", "generate"),
    "openai": ("chat", "responses"),
    "anthropic": ("messages",),
}
_RETENTION: dict[Kind, Callable[[Settings], float]] = {
    "gemini": lambda settings: settings.gemini_retention,
    "openai": lambda settings: settings.openai_retention,
    "anthropic": lambda settings: 0,
}


def _api(settings: Settings, kind: Kind, own: bool, table: UpstreamTable | None) -> Api:
    """The API that is spoken there. Vertex AI is spoken to by generateContent, and a further server that is merely
    OpenAI-compatible by Chat Completions, unless somebody says otherwise."""
    if table and table.api:
        return table.api
    if kind == "gemini":
        said = own and "gemini_api" in settings.model_fields_set
        return "generate" if table and table.vertex_project and not said else settings.gemini_api
    if kind == "openai":
        return settings.openai_api if own else "chat"
    return "messages"


def _cloud_address(table: UpstreamTable) -> str:
    """Vertex AI serves at one host a location, and at a host without one for `global`."""
    if table.vertex_project is None:
        return ""
    location = table.vertex_location or "global"
    return f"https://{'' if location == 'global' else location + '-'}aiplatform.googleapis.com"


def default_routes(settings: Settings) -> tuple[Route, ...]:
    """By the model's name; but where one upstream alone is set up, every model goes there."""
    configured = [upstream.name for upstream in every_upstream(settings).values() if upstream.configured]
    if len(configured) == 1:
        return (Route(match="*", upstream=configured[0]),)
    by_name = [("gemini-*", "gemini"), ("models/*", "gemini"), ("gemma-*", "gemini")]
    by_name += [("tunedModels/*", "gemini"), ("claude-*", "anthropic")]
    return tuple(Route(match=match, upstream=name) for match, name in [*by_name, ("*", "openai")])


def start_refusal(settings: Settings) -> str:
    """The first contradiction among settings that are each right on their own."""
    upstreams = every_upstream(settings)
    store = settings.redis_url.get_secret_value()
    for name, upstream in upstreams.items():
        if upstream.api not in _APIS[upstream.kind]:
            apis = " or ".join(_APIS[upstream.kind])
            return f"upstreams.{name}.api is {upstream.api}, which {upstream.kind} does not have: make it {apis}."
    for number, route in enumerate(settings.routes, 1):
        if route.upstream not in upstreams:
            mend = did_you_mean(route.upstream, [*upstreams])
            return (
                f"routes[{number}] names the upstream {route.upstream!r}, which is not there{mend}: add [upstreams.…]."
            )
    for name, upstream in upstreams.items():
        if _is_own_address(upstream.base_url, settings):
            return f"The base URL of upstream {name!r} is this server itself: unset it, or set another PORT."
    if settings.workers > 1 and store.startswith("memory://"):
        return "WORKERS above 1 need a store that they share: set REDIS_URL to embedded:// or a server, or WORKERS=1."
    if settings.fold_at_tokens and (settings.fold_to_tokens or 0) >= settings.fold_at_tokens:
        return "FOLD_TO_TOKENS must be below FOLD_AT_TOKENS: lower it, or leave it unset for half."
    exposed = not settings.loopback and not settings.api_keys and not settings.allow_anonymous
    if exposed and any(upstream.holds_key for upstream in upstreams.values()):
        return (
            f"Listening on {settings.host} would lend your provider keys to anyone who can reach it: set API_KEYS, "
            "or HOST=127.0.0.1, or ALLOW_ANONYMOUS=true if that is what you want."
        )
    return ""


def _is_own_address(base_url: str, settings: Settings) -> bool:
    parts = urlsplit(base_url)
    return parts.port == settings.port and is_loopback(parts.hostname or "") and settings.port != 0
