"""Gemini: the Developer API by key, or Vertex AI by Google Cloud sign-in."""

from __future__ import annotations

from app.upstreams.upstream import Spoken, Upstream, with_key, with_version
from app.upstreams.vertex import GoogleSignIn
from app.wires.gemini import GEMINI

BASE_URL = "https://generativelanguage.googleapis.com"
SMALL = "gemini-2.5-flash"
VERSION = "v1beta"
"""The version that has every alias (`gemini-flash-latest`) and every field; /v1 lacks some."""

_ANY = Spoken()


def gemini(name: str, base_url: str = "", key: str = "", spoken: Spoken = _ANY) -> Upstream:
    """The Developer API. A base URL without a version gets v1beta."""
    base = with_version(base_url or BASE_URL, VERSION)
    return Upstream(name, "gemini", GEMINI, base, with_key("x-goog-api-key", "", key), bool(key), small=SMALL)


def vertex(name: str, project: str, location: str, base_url: str = "", spoken: Spoken = _ANY) -> Upstream:
    """Gemini on Vertex AI: the same bodies under the project's own path, signed with Google Cloud credentials."""
    host = base_url or (
        "https://aiplatform.googleapis.com" if location == "global" else f"https://{location}-aiplatform.googleapis.com"
    )
    base = f"{with_version(host, 'v1beta1')}/projects/{project}/locations/{location}/publishers/google"
    return Upstream(name, "gemini", GEMINI, base, GoogleSignIn(), keyed=True, small=SMALL)
