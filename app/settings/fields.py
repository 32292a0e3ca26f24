"""Every setting: its name, its default and one sentence about it, which `foldline config` and the docs show."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from app.settings import checks
from app.settings.tables import (
    Budget,
    Lifetime,
    Messages,
    Route,
    Rows,
    Share,
    Switch,
    Tokens,
    ToolTable,
    Upstream,
    UpstreamTable,
    Url,
)
from app.settings.units import choice, duration, keys, size, whole

PREFIX = "FOLDLINE_"

ALSO: dict[str, tuple[str, ...]] = {
    "port": ("PORT",),
    "redis_url": ("REDIS_URL",),
    "gemini_base_url": ("GOOGLE_GEMINI_BASE_URL",),
    "openai_base_url": ("OPENAI_BASE_URL",),
    "anthropic_base_url": ("ANTHROPIC_BASE_URL",),
    "gemini_api_key": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "openai_api_key": ("OPENAI_API_KEY",),
    "anthropic_api_key": ("ANTHROPIC_API_KEY",),
}
"""Names without the prefix that are read too. Plain HOST is left out: shells and compilers set it to other things."""

SECRETS = (
    "redis_url",
    "gemini_api_key",
    "openai_api_key",
    "anthropic_api_key",
    "api_keys",
    "admin_token",
    "secret",
    "encryption_keys",
)
"""Settings that may also come from a file: NAME_FILE holds its path."""

NEVER_EMPTY = ("secret", "encryption_keys")
"""Set but empty, these would quietly mean less protection than was asked for."""

Host = Annotated[str, BeforeValidator(checks.host)]
Port = Annotated[int, BeforeValidator(whole(0, 65535))]
Workers = Annotated[int, BeforeValidator(whole(1, 256))]
Duration = Annotated[float, BeforeValidator(duration())]
Wait = Annotated[float, BeforeValidator(duration(0, 3600))]
Size = Annotated[int, BeforeValidator(size())]


def _default(spoken: str) -> dict[str, Any]:
    """What to show where the default depends on something else."""
    return {"default": spoken}


class Settings(BaseSettings):
    """Frozen settings. `Settings(…)` takes values as given; `app.settings.load` reads them from everywhere.

    Durations are seconds, sizes are bytes, secrets are SecretStr. None means: not set.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid", case_sensitive=True)

    host: Host = Field(default="127.0.0.1", description="The address to listen on.")
    port: Port = Field(default=4000, description="The port to listen on; 0 takes a free one.")
    workers: Workers = Field(default=1, description="Processes that serve; they share one store.")
    redis_url: Annotated[SecretStr, BeforeValidator(checks.store_url)] = Field(
        default=SecretStr("embedded://"),
        description="Where state is kept: embedded://[DIR] (a bundled Valkey), memory://, redis://, rediss://, "
        "unix://, redis+cluster://h:p,h:p or redis+sentinel://h:p,h:p/NAME.",
    )
    session_ttl: Lifetime = Field(
        default=30 * 86400.0, description="State that nobody used for this long is forgotten."
    )
    gemini_base_url: Url | None = Field(
        default=None,
        description="Where the Gemini API is reached.",
        json_schema_extra=_default("https://generativelanguage.googleapis.com"),
    )
    openai_base_url: Url | None = Field(
        default=None,
        description="Where the OpenAI API, or a server like it, is reached; with its /v1.",
        json_schema_extra=_default("https://api.openai.com/v1"),
    )
    anthropic_base_url: Url | None = Field(
        default=None,
        description="Where the Anthropic API is reached.",
        json_schema_extra=_default("https://api.anthropic.com"),
    )
    gemini_api_key: SecretStr | None = Field(
        default=None, description="The key for Gemini; unset, the client's is passed on."
    )
    openai_api_key: SecretStr | None = Field(
        default=None, description="The key for OpenAI; unset, the client's is passed on."
    )
    anthropic_api_key: SecretStr | None = Field(
        default=None, description="The key for Anthropic; unset, the client's is passed on."
    )
    api_keys: Annotated[tuple[SecretStr, ...], BeforeValidator(keys)] = Field(
        default=(), description="Comma-separated keys, one of which a client must present; unset, any client is served."
    )
    allow_anonymous: Switch = Field(
        default=False, description="Lets a server that holds provider keys listen beyond loopback without API_KEYS."
    )
    gemini_api: Annotated[Literal["interactions", "generate"], BeforeValidator(choice("interactions", "generate"))] = (
        Field(
            default="interactions",
            description="The Gemini API that is spoken upstream; unset, generateContent clients still get their own.",
        )
    )
    openai_api: Annotated[Literal["chat", "responses"], BeforeValidator(choice("chat", "responses"))] = Field(
        default="chat",
        description="The OpenAI API that is spoken upstream; unset, Responses clients of OpenAI itself get their own.",
    )
    gemini_retention: Lifetime = Field(
        default=86400.0,
        description="How long Gemini keeps an interaction for sure: 1d on its free tier, 55d when paid.",
    )
    openai_retention: Lifetime = Field(default=30 * 86400.0, description="How long OpenAI keeps a response for sure.")
    chain: Annotated[Literal["auto", "never"], BeforeValidator(choice("auto", "never"))] = Field(
        default="auto", description="Whether what a provider keeps is gone on from; never also forbids it to keep any."
    )
    profile: Annotated[Literal["auto", "chat", "agent"], BeforeValidator(choice("auto", "chat", "agent"))] = Field(
        default="auto", description="Which defaults a request gets; auto means agent if it carries tools, else chat."
    )
    fold_at_tokens: Budget | None = Field(
        default=None,
        description="A prompt above this many tokens is folded; 0 folds none.",
        json_schema_extra=_default("chat 8000, agent 60 % of the model's window and at most 100000"),
    )
    fold_to_tokens: Tokens | None = Field(
        default=None,
        description="Folding stops at this many tokens, so that folds are rare and the prompt prefix stays stable.",
        json_schema_extra=_default("half of FOLD_AT_TOKENS"),
    )
    keep_recent: Messages = Field(
        default=6, description="This many of the newest messages stay verbatim, unless these alone would not fit."
    )
    heavy_tool_tokens: Tokens = Field(default=4000, description="A tool result above this many tokens is heavy.")
    tool_result_tokens: Tokens = Field(
        default=6000, description="Tokens that a compacted tool result made of rows (JSON, CSV, tables) may take."
    )
    tool_text_tokens: Tokens = Field(
        default=20000, description="Tokens that a tool result of text, code or logs may take."
    )
    fetch_rows_limit: Rows = Field(default=40, description="Rows that one fetch_rows call returns.")
    summary_model: str = Field(
        default="auto",
        description="The model that writes summaries; auto is the upstream's small one, else the chat's.",
    )
    summary_tokens: Tokens = Field(
        default=1024, description="Tokens that all carried summary segments together may take."
    )
    min_retention: Share = Field(
        default=0.9, description="The share of URLs, numbers, names, paths and stated rules that a summary must keep."
    )
    summary_when: Annotated[Literal["behind", "before"], BeforeValidator(choice("behind", "before"))] = Field(
        default="behind", description="Summaries are made behind the turn, for the next one, or before it goes out."
    )
    cache_marks: Annotated[Literal["auto", "always", "never"], BeforeValidator(choice("auto", "always", "never"))] = (
        Field(
            default="auto",
            description="Whether cache marks are set where a client set none; auto: for clients of other formats.",
        )
    )
    exact_counts: Switch = Field(
        default=False,
        description="Asks the provider for its own count of a prompt whose estimate is near a threshold.",
    )
    http_client: Annotated[Literal["lean", "aiohttp"], BeforeValidator(choice("lean", "aiohttp"))] = Field(
        default="lean",
        description="What requests to providers are sent by; aiohttp costs more, and goes through HTTPS_PROXY.",
    )
    connect_timeout: Duration = Field(default=5.0, description="How long a connection to a provider may take to open.")
    first_byte_timeout: Duration = Field(
        default=600.0, description="How long a provider may think before its first byte."
    )
    idle_timeout: Duration = Field(default=120.0, description="How long a provider may be silent in mid-stream.")
    keepalive_after: Duration = Field(default=15.0, description="A stream silent for this long gets a keep-alive.")
    max_body: Size = Field(default=64 * 2**20, description="The largest request body that is read.")
    max_retries: Annotated[int, BeforeValidator(whole(0, 10))] = Field(
        default=2, description="Further tries after a failed connection or a 5xx, only before the first byte."
    )
    drain_seconds: Wait = Field(default=60.0, description="How long open streams may run on after SIGTERM.")
    store_timeout: Duration = Field(
        default=0.5, description="The deadline of each store step; past it a turn runs stateless."
    )
    admin_token: SecretStr | None = Field(
        default=None, description="The token for /foldline/* and /metrics, needed when listening beyond loopback."
    )
    secret: SecretStr | None = Field(
        default=None,
        description="Keys tenants and handles; set it, the same on every replica, in production.",
        json_schema_extra=_default("made once, kept in the store"),
    )
    encryption_keys: Annotated[SecretStr | None, BeforeValidator(checks.encryption_keys)] = Field(
        default=None, description="id:base64key,… to store chat text encrypted; the first key writes, all read."
    )
    strict: Switch = Field(
        default=False, description="Refuses what the target format cannot say, instead of reporting it."
    )
    log_format: Annotated[Literal["console", "json"], BeforeValidator(choice("console", "json"))] = Field(
        default="console", description="How log lines look."
    )
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], BeforeValidator(choice("debug", "info", "warning", "error"))
    ] = Field(default="info", description="The least important log line that is written.")
    simulator_url: Url | None = Field(
        default=None, description="A running simulator that serves when no provider is set up; unset, one is started."
    )
    routes: tuple[Route, ...] = Field(
        default=(), description="Which model goes to which upstream; the first match wins."
    )
    upstreams: dict[str, UpstreamTable] = Field(default={}, description="Further upstreams, by name.")
    tools: dict[str, ToolTable] = Field(
        default={}, description="How single tools' results are made small, by tool name."
    )

    _provenance: dict[str, str] = PrivateAttr(default_factory=dict[str, str])

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only the given values: what is read, and from where, is decided in one place (`load`)."""
        return (init_settings,)

    @property
    def provenance(self) -> MappingProxyType[str, str]:
        """Where each setting that is not at its default came from, such as `environment FOLDLINE_PORT`."""
        return MappingProxyType(self._provenance)

    @property
    def every_upstream(self) -> dict[str, Upstream]:
        """All upstreams by name: gemini, openai and anthropic, and those of the TOML file."""
        return checks.every_upstream(self)

    @property
    def every_route(self) -> tuple[Route, ...]:
        """The configured routes, then the default ones. The last matches every model."""
        return self.routes + checks.default_routes(self)

    @property
    def demo(self) -> bool:
        """True if no provider key, no base URL and no upstream is configured: then the simulator serves."""
        return not any(upstream.configured for upstream in self.every_upstream.values())

    @property
    def loopback(self) -> bool:
        """True if only this machine can reach the listening address."""
        return checks.is_loopback(self.host)

    @property
    def start_refusal(self) -> str:
        """Why serving with these settings would be wrong, in one line that says the mend; empty if it is fine."""
        return checks.start_refusal(self)


TABLES = ("routes", "upstreams", "tools")
"""Settings that only a TOML file can hold."""

NAMES: tuple[str, ...] = tuple(name for name in Settings.model_fields if name not in TABLES)
"""Every setting that is one value, in the order in which they are shown."""
