"""The tables that only a TOML file can hold: routes, further upstreams, and one tool's results."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from app.settings.units import address, choice, duration, share, switch, whole

Kind = Literal["gemini", "openai", "anthropic"]
Api = Literal["interactions", "generate", "chat", "responses", "messages"]
KINDS: tuple[Kind, ...] = ("gemini", "openai", "anthropic")
OWN_ADDRESS: dict[Kind, str] = {
    "gemini": "https://generativelanguage.googleapis.com",
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}
"""Where each provider serves, as its own SDKs spell it: OpenAI's with /v1, the others' without a version."""

Tokens = Annotated[int, BeforeValidator(whole(1, 100_000_000))]
"""A number of tokens, at least 1."""

Budget = Annotated[int, BeforeValidator(whole(0, 100_000_000))]
"""A number of tokens; 0 for never."""

Messages = Annotated[int, BeforeValidator(whole(1, 10_000))]
"""A number of messages, at least 1."""

Rows = Annotated[int, BeforeValidator(whole(1, 10_000))]
"""A number of rows, at least 1."""

Lifetime = Annotated[float, BeforeValidator(duration(60, 10 * 366 * 86400))]
Share = Annotated[float, BeforeValidator(share)]
Url = Annotated[str, BeforeValidator(address)]
Switch = Annotated[bool, BeforeValidator(switch)]

POLICY = (
    "profile",
    "fold_at_tokens",
    "fold_to_tokens",
    "keep_recent",
    "heavy_tool_tokens",
    "tool_result_tokens",
    "tool_text_tokens",
    "fetch_rows_limit",
    "summary_tokens",
    "min_retention",
)
"""The policy numbers: they have a setting each, a route may override them, and so may a request."""

WORDS = ("summary_model", "summary_when", "chain", "cache_marks")
"""What a route may say beside the numbers."""


class Table(BaseModel):
    """A frozen table; a key that it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Route(Table):
    """One `[[routes]]` table: which models go to which upstream, under which name and with which policy."""

    match: str = Field(description="a model name, or a pattern with * for any characters")
    upstream: str = Field(description="the upstream's name")
    model: str | None = Field(default=None, description="the model name to send instead of the client's")
    fallbacks: tuple[str, ...] = Field(default=(), description="models to ask next when this one cannot be reached")
    profile: Annotated[Literal["chat", "agent", "auto"] | None, BeforeValidator(choice("chat", "agent", "auto"))] = None
    fold_at_tokens: Budget | None = None
    fold_to_tokens: Tokens | None = None
    keep_recent: Messages | None = None
    heavy_tool_tokens: Tokens | None = None
    tool_result_tokens: Tokens | None = None
    tool_text_tokens: Tokens | None = None
    fetch_rows_limit: Rows | None = None
    summary_tokens: Tokens | None = None
    min_retention: Share | None = None
    summary_model: str | None = None
    summary_when: Annotated[Literal["behind", "before"] | None, BeforeValidator(choice("behind", "before"))] = None
    chain: Annotated[Literal["auto", "never"] | None, BeforeValidator(choice("auto", "never"))] = None
    cache_marks: Annotated[
        Literal["auto", "always", "never"] | None, BeforeValidator(choice("auto", "always", "never"))
    ] = None
    off: Switch = Field(default=False, description="true: chats of these models pass through untouched")

    @property
    def policy(self) -> dict[str, Any]:
        """What this route sets of the policy, by name."""
        said = {name: value for name in (*POLICY, *WORDS) if (value := getattr(self, name)) is not None}
        return said | {"off": True} if self.off else said


class UpstreamTable(Table):
    """One `[upstreams.NAME]` table."""

    kind: Annotated[Kind, BeforeValidator(choice(*KINDS))] = Field(description="the API that it speaks")
    base_url: Url | None = Field(default=None, description="where it serves; by default the provider's own address")
    api_key_env: str | None = Field(default=None, description="the environment variable that holds its key")
    api_key: SecretStr | None = Field(default=None, description="the key itself; api_key_env keeps it out of the file")
    api: Annotated[Api | None, BeforeValidator(choice("interactions", "generate", "chat", "responses", "messages"))] = (
        Field(default=None, description="which of the kind's APIs: interactions or generate, chat or responses")
    )
    retention: Lifetime | None = Field(default=None, description="how long it keeps a conversation for sure")
    vertex_project: str | None = Field(
        default=None, description="gemini only: the cloud project, to sign in to Vertex AI"
    )
    vertex_location: str | None = Field(
        default=None, description="gemini only: the Vertex AI location, such as europe-west4"
    )


class Upstream(Table):
    """An upstream as settings describe it: a table, or one of the three that always exist.

    `configured` tells whether the operator gave it a key, an address or a cloud project. Without a key of its own the
    client's key is passed on. `api` is the API spoken there where the provider has two; `only` tells that somebody
    chose it, so that no client is served in the other. `retention` (seconds) is how long it keeps conversations.
    """

    name: str
    kind: Kind
    base_url: str
    api: Api
    only: bool = False
    retention: float = 0
    api_key: SecretStr | None = None
    vertex_project: str | None = None
    vertex_location: str | None = None
    configured: bool = False

    @property
    def holds_key(self) -> bool:
        """True if requests are made with the operator's credential rather than the client's."""
        return self.api_key is not None or self.vertex_project is not None


class ToolTable(Table):
    """One `[tools."NAME"]` table: how that tool's results are made small."""

    keep_fields: tuple[str, ...] = Field(
        default=(), description="the fields of each row that the model needs; empty: all"
    )
    budget: Tokens | None = Field(
        default=None, description="tokens that one result may take; by default TOOL_RESULT_TOKENS"
    )
    compact: Switch = Field(default=True, description="false: this tool's results are never made small")
