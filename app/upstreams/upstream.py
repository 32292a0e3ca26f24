"""What we know of a provider: where it is, what it speaks, how it takes a key, and what its models can do."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, Protocol

import msgspec

from app.chat.model import Chat
from app.errors import DeniedError
from app.wires.wire import Outbound, Target, Wire

Kind = Literal["gemini", "openai", "anthropic"]


class Credential(msgspec.Struct, frozen=True):
    """What a client presented: the scheme it came by, and the secret itself. Never stored, never logged."""

    scheme: str = ""
    secret: str = ""

    def __repr__(self) -> str:
        """Without the secret: a credential may end up in a traceback."""
        return f"Credential({self.scheme!r}, ***)"


class Signer(Protocol):
    """Gives the headers that authorise one request."""

    def __call__(self, credential: Credential) -> Mapping[str, str] | Awaitable[Mapping[str, str]]: ...


def _nothing(_: Chat) -> bytes:
    return b""


class Keeps(msgspec.Struct, frozen=True):
    """How a provider keeps conversations on its side.

    Args:
        path: below the base URL, where what it keeps is read and deleted by id.
        seconds: how long it keeps an answer for sure.
        across_models: a chain may be gone on with by another of its models, which reads the thoughts in it.
        cached_price: of an input token that its prompt cache holds, as a share of another.
        cache_seconds: how long that cache may be trusted to hold a prompt.
        names_unkept: whether an answer that it may not keep has an id all the same.
        inherits: a digest of what stands before a chat's messages and is kept with them, so that it is not sent again;
            empty if there is nothing of the kind.
    """

    path: str
    seconds: float
    across_models: bool = False
    cached_price: float = 0.1
    cache_seconds: float = 300
    names_unkept: bool = True
    inherits: Callable[[Chat], bytes] = _nothing


class Spoken(msgspec.Struct, frozen=True):
    """How an upstream is spoken to.

    Args:
        api: which of its APIs: interactions, generate, chat, responses; empty: its usual one.
        only: nobody is served in another one.
        retention: seconds that it keeps a conversation for sure; 0: as it says itself.
        both: it serves all APIs of its kind, as only the provider itself is known to.
    """

    api: str = ""
    only: bool = False
    retention: float = 0
    both: bool = False


class Upstream(msgspec.Struct, frozen=True):
    """One provider, as configured.

    Args:
        name: as in the settings; checkpoints are bound to it.
        kind: whose service, or whose format, it is.
        wire: the format it speaks.
        base_url: without a slash at the end, API version included.
        sign: gives the authorising headers.
        keyed: whether we hold a key for it (otherwise the client's own is passed on).
        own: the provider's own service, not a compatible server.
        keeps: how it keeps conversations; None: it keeps none, or is spoken to in a format that cannot say so.
        native: other formats that it speaks, by name, each as an upstream of the same name: a client of such a format
            is served in it, so that nothing of what it says is lost.
        headers: what a request needs whose client sent none of this name.
        small: the model that writes summaries here unless another is pinned; empty: the one that the chat is for.
    """

    name: str
    kind: Kind
    wire: Wire
    base_url: str
    sign: Callable[[Credential], Mapping[str, str] | Awaitable[Mapping[str, str]]]
    keyed: bool = False
    own: bool = True
    small: str = ""
    keeps: Keeps | None = None
    native: Mapping[str, Upstream] = {}
    headers: Mapping[str, str] = {}

    def speaking(self, wire: str) -> Upstream:
        """The upstream as a client of this format is best served by it."""
        return self.native.get(wire, self)

    @property
    def keeping(self) -> Upstream | None:
        """The upstream in the API in which it keeps conversations; None if it has none."""
        if self.keeps is not None:
            return self
        return next((other for other in self.native.values() if other.keeps is not None), None)

    async def signed(self, credential: Credential) -> Mapping[str, str]:
        """The headers that authorise one request. Raises DeniedError where there is no key."""
        headers = self.sign(credential)
        return await headers if inspect.isawaitable(headers) else headers

    def target(self, model: str, marks: bool = False) -> Target:
        """What encoding needs to know to ask for `model` here; `marks` as in Target."""
        return Target(self.name, model, self.own, marks)

    def url(self, outbound: Outbound) -> str:
        """Where the request goes."""
        return self.base_url + outbound.path


def with_key(header: str, prefix: str, key: str) -> Callable[[Credential], Mapping[str, str]]:
    """A signer that sends our key, or the client's where we hold none."""
    ours = {header: prefix + key}

    def sign(credential: Credential) -> Mapping[str, str]:
        if key:
            return ours
        if not credential.secret:
            raise DeniedError("No API key: send your provider's key, as your SDK does, or have the operator set one.")
        return {header: prefix + credential.secret}

    return sign


def with_version(base_url: str, version: str) -> str:
    """The base URL with an API version behind it, unless its path has one already; no slash at the end."""
    base = base_url.rstrip("/")
    return base if re.search(r"/v\d+[a-z0-9]*(/[\w.-]+)*$", base) else f"{base}/{version}"
