"""A path as its client means it: what base URLs of every habit make of one and the same address.

SDKs put a version behind their base URL, whatever stands in it. So a base that has a version already gives two of them
(google-genai, which asks for `/v1`, on a base that ends in `/v1beta` gives `/v1beta/v1/models/…`), one that ends in a
slash gives two slashes, and Google's address for OpenAI's SDK (`/v1beta/openai/`) moved here by its host alone has its
prefix behind the version. A slash at the end says nothing either: a redirect would make the client send its key and its
whole chat twice. Routes know none of this: they have each path once.
"""

from __future__ import annotations

import re

VERSIONS = ("v1", "v1beta", "v1alpha", "v1beta1")
PREFIXES = ("openai", "anthropic", "gemini")

_VERSION = f"(?:{'|'.join(VERSIONS)})"
_START = re.compile(f"/+(?:({'|'.join(PREFIXES)})(?:/+|$))?((?:{_VERSION}(?:/+|$))*)(openai(?:/+|$))?")


def forgiven(path: str) -> str:
    """The path with one slash between its first segments, the last of the versions that it begins with, and none at its
    end.

    Between those nothing is touched: a model's id is its own.
    """
    start = _START.match(path)
    if start is None:
        return path
    prefix, versions, google = start.groups()
    if google:  # Google's own address for OpenAI's SDK: the version in front of it is not OpenAI's
        prefix, versions = "openai", ""
    segments = [segment for segment in (prefix, *versions.strip("/").split("/")[-1:]) if segment]
    rest = path[start.end() :]
    rest = rest.rstrip("/") if segments else rest  # without one it is a page of our own
    return "/" + "/".join([*segments, rest] if rest else segments)
