"""`foldline doctor`: tests settings, store, clock and each configured upstream; one line each, with the mend."""

from __future__ import annotations

import argparse
import asyncio
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal

from app.commands.command import Command
from app.commands.terminal import Colour, coloured

if TYPE_CHECKING:
    import httpx2

    from app.settings import Settings
    from app.settings.tables import Upstream

SKEW = 30.0
"""Seconds that this machine's clock may differ from a provider's before sign-in and expiry go wrong."""

PATIENCE = 10.0
"""Seconds that one check may take."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `bad` makes the command fail; `note` is only worth knowing."""

    state: Literal["ok", "note", "bad"]
    what: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What an upstream answered to a list of its models: a status, and the seconds that our clock is ahead of its."""

    status: int
    skew: float | None


def arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""


def run(given: argparse.Namespace) -> int:
    """Print one line a check; 1 if any of them is bad."""
    from app.settings import SettingsError, load

    try:
        settings = load(given.config)
    except SettingsError as error:
        print(_line(Finding("bad", "settings", str(error))))
        return 1
    findings = asyncio.run(examine(settings))
    print("\n".join(_line(finding) for finding in findings))
    return int(any(finding.state == "bad" for finding in findings))


def _line(finding: Finding) -> str:
    colours: dict[str, Colour] = {"ok": "green", "note": "yellow", "bad": "red"}
    return f"{coloured(f'{finding.state:<5}', colours[finding.state])} {finding.what:<18} {finding.text}"


async def examine(settings: Settings) -> list[Finding]:
    """All findings, in the order in which they are shown."""
    upstreams = [upstream for upstream in settings.every_upstream.values() if upstream.configured]
    store, answers = await asyncio.gather(_store(settings), asyncio.gather(*(_ask(each) for each in upstreams)))
    skews = [answer.skew for answer in answers if isinstance(answer, Answer) and answer.skew is not None]
    if not upstreams:
        told = [Finding("note", "upstreams", "none is set up, the simulator serves: set a provider's key to go on.")]
    else:
        told = [_judged(upstream, answer) for upstream, answer in zip(upstreams, answers, strict=True)]
    return [_settings(settings), store, _clock(skews), *told]


def _settings(settings: Settings) -> Finding:
    if refusal := settings.start_refusal:
        return Finding("bad", "settings", refusal)
    return Finding("ok", "settings", f"{len(settings.provenance)} set, the others at their defaults")


async def _store(settings: Settings) -> Finding:
    from app.commands.storing import opened
    from app.errors import StateError
    from app.settings import SettingsError

    try:
        async with opened(settings) as store:
            return Finding("ok", "store", f"{store.describe()} answers")
    except SettingsError as error:
        return Finding("bad", "store", str(error))
    except StateError as error:
        return Finding("bad", "store", error.message)


def _clock(skews: list[float]) -> Finding:
    if not skews:
        return Finding("note", "clock", "nothing to compare it with: no upstream told the time.")
    worst = max(skews, key=abs)
    if abs(worst) > SKEW:
        side = "ahead of" if worst > 0 else "behind"
        return Finding("bad", "clock", f"{abs(worst):.0f} s {side} a provider's: synchronise it (NTP).")
    return Finding("ok", "clock", "agrees with the providers'")


async def _ask(upstream: Upstream) -> Answer | str:
    """List the upstream's models with its key; text says why that did not work."""
    import httpx2

    if upstream.vertex_project:
        return await asyncio.to_thread(_cloud_sign_in)
    url, headers = _request(upstream)
    try:
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            response = await client.get(url, headers=headers)
    except httpx2.TimeoutException:
        return f"did not answer within {PATIENCE:g} s: check its base URL and the network."
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return f"cannot be reached ({type(error).__name__}): check its base URL, the network and any proxy."
    return Answer(response.status_code, _skew(response))


def _request(upstream: Upstream) -> tuple[str, dict[str, str]]:
    from app.upstreams.gemini import gemini
    from app.upstreams.openai import openai

    key = upstream.api_key.get_secret_value() if upstream.api_key else ""
    match upstream.kind:
        case "openai":
            base = openai(upstream.name, upstream.base_url).base_url
            return f"{base}/models", {"authorization": f"Bearer {key}"} if key else {}
        case "anthropic":
            headers = {"anthropic-version": "2023-06-01"}
            return f"{upstream.base_url}/v1/models", headers | ({"x-api-key": key} if key else {})
        case "gemini":
            base = gemini(upstream.name, upstream.base_url).base_url
            return f"{base}/models", {"x-goog-api-key": key} if key else {}


def _skew(response: httpx2.Response) -> float | None:
    try:
        return time.time() - parsedate_to_datetime(response.headers["date"]).timestamp()
    except (KeyError, ValueError):
        return None


def _cloud_sign_in() -> Answer | str:
    """Whether this machine has credentials for Google Cloud; whether the project lets them in is not asked."""
    import google.auth
    import google.auth.exceptions

    try:
        google.auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])  # pyright: ignore[reportUnknownMemberType] # the library has no types
    except google.auth.exceptions.DefaultCredentialsError:
        return "has no cloud credentials: run `gcloud auth application-default login`."
    return Answer(200, None)


def _judged(upstream: Upstream, answer: Answer | str) -> Finding:
    what = f"upstream {upstream.name}"
    if isinstance(answer, str):
        return Finding("bad", what, answer)
    match answer.status:
        case 200:
            return Finding("ok", what, "answers, and takes the key" if upstream.holds_key else "answers")
        case 400 | 401 | 403 if not upstream.holds_key:
            return Finding("ok", what, "answers; clients bring their own keys")
        case 400 | 401 | 403:
            return Finding("bad", what, f"refuses the key (status {answer.status}): correct or renew it.")
        case 404:
            return Finding("note", what, "answers, but lists no models: its base URL may lack a path such as /v1.")
        case 429:
            return Finding("note", what, "answers, but is out of quota for now (status 429).")
        case _:
            return Finding("bad", what, f"answers with status {answer.status}: check its base URL, or try later.")


COMMAND = Command("doctor", "Tests settings, store, clock and upstreams; one line each with the mend.", arguments, run)
