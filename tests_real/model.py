"""The small model's server as a process of its own, and what it says of its work."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

PYTHON = Path(__file__).parents[1] / ".venv-real" / "bin" / "python"
"""The interpreter that has llama.cpp and the model; `make test-real` makes it."""


@dataclass(frozen=True, slots=True)
class Model:
    """A server that serves now. `url` is its origin, without a slash at the end."""

    url: str

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI clients."""
        return f"{self.url}/v1"

    async def number(self, name: str) -> float:
        """One of the numbers that it counts, such as `requests_processing` or `tokens_predicted_total`."""
        async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
            said = (await client.get(f"{self.url}/metrics")).raise_for_status().text
        found = re.search(rf"^llamacpp:{name} (\S+)$", said, re.MULTILINE)
        assert found is not None, f"the server counts no {name}: see its release notes for the new name"
        return float(found[1])

    async def busy(self) -> bool:
        """Whether it works for anybody, or has somebody waiting."""
        return bool(await self.number("requests_processing") or await self.number("requests_deferred"))


@contextmanager
def running_model() -> Generator[Model]:
    """The model's server on a free port for as long as the block lasts; it takes some seconds to load."""
    if not PYTHON.exists():
        raise RuntimeError("llama.cpp and the model are not installed: run the tests by make test-real")
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [PYTHON, Path(__file__).with_name("serve.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert process.stdout is not None
            url = next((line.strip() for line in process.stdout if line.startswith("http://")), "")
            if not url:
                log.seek(0)
                raise RuntimeError(f"the model's server ended before it served:\n{log.read()[-2000:].decode()}")
            yield Model(url)
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
