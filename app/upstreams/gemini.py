"""Gemini: the Developer API by key, or Vertex AI by Google Cloud sign-in; its Interactions, or generateContent."""

from __future__ import annotations

from msgspec.structs import replace

from app.upstreams.upstream import Keeps, Spoken, Upstream, with_key, with_version
from app.upstreams.vertex import GoogleSignIn
from app.wires.gemini import GEMINI
from app.wires.gemini_interactions import GEMINI_INTERACTIONS

BASE_URL = "https://generativelanguage.googleapis.com"
SMALL = "gemini-2.5-flash"
VERSION = "v1beta"
"""The version that has every alias (`gemini-flash-latest`) and every field; /v1 lacks some."""

FREE_TIER = 86_400.0
"""Seconds that an interaction is kept on the free tier; a paid one keeps it for 55 days (Interactions API overview at
ai.google.dev)."""

_GENERATE = Spoken("generate")


def gemini(name: str, base_url: str = "", key: str = "", spoken: Spoken = _GENERATE) -> Upstream:
    """The Developer API. A base URL without a version gets v1beta."""
    base = with_version(base_url or BASE_URL, VERSION)
    generate = Upstream(name, "gemini", GEMINI, base, with_key("x-goog-api-key", "", key), bool(key), small=SMALL)
    return _speaking(generate, base, spoken)


def vertex(name: str, project: str, location: str, base_url: str = "", spoken: Spoken = _GENERATE) -> Upstream:
    """Gemini on Vertex AI: the same bodies under the project's own path, signed with Google Cloud credentials."""
    host = base_url or (
        "https://aiplatform.googleapis.com" if location == "global" else f"https://{location}-aiplatform.googleapis.com"
    )
    project_base = f"{with_version(host, 'v1beta1')}/projects/{project}/locations/{location}"
    base = f"{project_base}/publishers/google"
    generate = Upstream(name, "gemini", GEMINI, base, GoogleSignIn(), keyed=True, small=SMALL)
    return _speaking(generate, project_base, spoken)


def _speaking(generate: Upstream, base: str, spoken: Spoken) -> Upstream:
    """The upstream by the API that is spoken there. A client of generateContent gets that one, as Interactions cannot
    say all that it says, unless somebody chose."""
    if spoken.api == "generate":
        return generate
    keeps = Keeps("/interactions/", spoken.retention or FREE_TIER, across_models=True, names_unkept=False)
    native = {} if spoken.only else {GEMINI.name: generate}
    return replace(generate, wire=GEMINI_INTERACTIONS, base_url=base, keeps=keeps, native=native)
