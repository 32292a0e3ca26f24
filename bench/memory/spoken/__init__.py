"""The APIs that the bench's upstream speaks, by the names that `--upstream` takes."""

from __future__ import annotations

from collections.abc import Mapping

from bench.memory.spoken.api import Api
from bench.memory.spoken.chat import CHAT
from bench.memory.spoken.generate import GENERATE
from bench.memory.spoken.interactions import INTERACTIONS
from bench.memory.spoken.responses import RESPONSES

APIS: Mapping[str, Api] = {api.name: api for api in (CHAT, GENERATE, INTERACTIONS, RESPONSES)}
