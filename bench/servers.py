"""How each server is started in front of the fake upstream, waited for, and ended.

Executables are found on PATH or given; nothing is downloaded. To add a peer, write one function that returns its
command and environment, and list it in STARTS.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.client import Target
from bench.payloads import MARK
from bench.processes import Tree, memory_mb, tree

ROOT = Path(__file__).resolve().parent.parent
OURS = ("FOLDLINE_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "REDIS_URL", "LITELLM_", "HEADROOM_")
PROXIES = ("http_proxy", "https_proxy", "all_proxy")


@dataclass(frozen=True)
class Site:
    """Where a server is to be started: its own directory, its port, the upstream's port, and the model's name."""

    directory: Path
    port: int
    upstream: int
    model: str
    executable: str = ""


@dataclass(frozen=True)
class Start:
    """A command, and what it needs in its environment."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass
class Server:
    """A running server."""

    name: str
    target: Target
    process: subprocess.Popen[bytes]
    directory: Path
    version: str = ""
    ready_s: float = 0.0
    idle_mb: float = 0.0

    @property
    def tree(self) -> Tree:
        """Its processes now."""
        return tree(self.process.pid, str(self.directory))

    def stop(self) -> None:
        """Ends its process group, and what it started outside of it (an embedded store)."""
        left = self.tree
        for sign in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, sign)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
                break
        until = time.monotonic() + 5
        while (left := self._still(left)).store and time.monotonic() < until:
            time.sleep(0.05)
        for pid in left.store:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _still(self, before: Tree) -> Tree:
        now = tree(self.process.pid, str(self.directory))
        return Tree((), tuple(pid for pid in before.store if pid in now.store))


def fake(site: Site) -> Start:
    """The upstream."""
    return Start([sys.executable, "-m", "bench.fake_upstream", "--port", str(site.port)], _importable())


def bare(site: Site) -> Start:
    """FastAPI and httpx2, no state."""
    upstream = f"http://127.0.0.1:{site.upstream}"
    return Start([sys.executable, "-m", "bench.bare", "--port", str(site.port), "--upstream", upstream], _importable())


def sink(site: Site) -> Start:
    """Reads bodies and answers by itself."""
    return Start([sys.executable, "-m", "bench.bare", "--port", str(site.port), "--sink"], _importable())


def nginx(site: Site) -> Start:
    """The floor: one worker, keep-alive to the upstream, nothing buffered to disk, nothing logged."""
    where = site.directory
    temporary = "".join(
        f"  {kind}_temp_path {where}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi")
    )
    (where / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {where}/pid; error_log stderr error;\n"
        f"{'user root;' if os.geteuid() == 0 else ''}\n"
        "events { worker_connections 16384; }\n"
        "http { access_log off; client_max_body_size 64m; client_body_buffer_size 4m; keepalive_requests 100000000;\n"
        f"{temporary}  scgi_temp_path {where}/scgi;\n"
        f"  upstream up {{ server 127.0.0.1:{site.upstream}; keepalive 4096; keepalive_requests 100000000; }}\n"
        f"  server {{ listen 127.0.0.1:{site.port} backlog=4096; location / {{ proxy_pass http://up;\n"
        '    proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; proxy_read_timeout 900s;\n'
        "  } }\n}\n"
    )
    return Start([site.executable or "nginx", "-p", str(where), "-c", str(where / "nginx.conf")])


def foldline(site: Site) -> Start:
    """Foldline with its embedded store. Nothing is folded, so that it forwards what the others forward."""
    script = Path(sys.executable).with_name("foldline")
    command = (
        [str(script)] if script.exists() else [sys.executable, "-c", "import app.cli as c; raise SystemExit(c.main())"]
    )
    environment = {
        "FOLDLINE_OPENAI_BASE_URL": f"http://127.0.0.1:{site.upstream}/v1",
        "FOLDLINE_OPENAI_API_KEY": "sk-fake",
        "FOLDLINE_REDIS_URL": f"embedded://{site.directory}/store",
        "FOLDLINE_FOLD_AT_TOKENS": "10000000",
        **_importable(),
    }
    if site.executable:
        command = [site.executable]
    return Start([*command, "serve", "--port", str(site.port)], environment)


def aiohttp(site: Site) -> Start:
    """Foldline with aiohttp in place of its own client."""
    usual = foldline(site)
    return Start(usual.command, {**usual.environment, "FOLDLINE_HTTP_CLIENT": "aiohttp"})


def litellm(site: Site) -> Start:
    """LiteLLM's proxy: one worker, no database, no retries, nothing fetched from the network."""
    config = site.directory / "litellm.yaml"
    config.write_text(
        f"model_list:\n  - model_name: {site.model}\n    litellm_params:\n      model: openai/{site.model}\n"
        f"      api_base: http://127.0.0.1:{site.upstream}/v1\n      api_key: sk-fake\n"
        "litellm_settings:\n  num_retries: 0\n  request_timeout: 900\n"
    )
    flags = ["--host", "127.0.0.1", "--port", str(site.port), "--num_workers", "1", "--telemetry", "False"]
    return Start(
        [site.executable or "litellm", "--config", str(config), *flags],
        {
            "LITELLM_LOG": "ERROR",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_MODE": "PRODUCTION",
            "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        },
    )


def headroom(site: Site) -> Start:
    """Headroom's proxy: no rate limit, no answer cache, offline."""
    flags = ["--no-rate-limit", "--no-cache", "--no-http2", "--limit-concurrency", "20000"]
    pools = ["--max-connections", "10000", "--max-keepalive", "10000"]
    where = ["--host", "127.0.0.1", "--port", str(site.port), "--openai-api-url", f"http://127.0.0.1:{site.upstream}"]
    return Start(
        [site.executable or "headroom", "proxy", *where, *flags, *pools],
        {
            "HEADROOM_TELEMETRY": "off",
            "HF_HUB_OFFLINE": "1",
            "HEADROOM_RPM": "100000000",
            "HOME": str(site.directory),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
    )


STARTS: dict[str, Callable[[Site], Start]] = {
    each.__name__: each for each in (fake, sink, nginx, bare, foldline, aiohttp, litellm, headroom)
}
DISTRIBUTIONS = {"litellm": "litellm", "headroom": "headroom-ai"}


def _importable() -> dict[str, str]:
    return {"PYTHONPATH": str(ROOT)}


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def start(name: str, upstream: int, model: str, directory: Path, executable: str = "", wait: float = 90) -> Server:
    """Starts a server in a directory of its own and waits for its first right answer, `wait` seconds at most.

    Raises:
        RuntimeError: it is not installed, or gave no right answer; the message holds the end of its output.
    """
    where = directory / name
    where.mkdir()
    site = Site(where, free_port(), upstream, model, executable)
    plan = STARTS[name](site)
    if not shutil.which(plan.command[0]):
        raise RuntimeError(f"{name}: {plan.command[0]} is not installed")
    began = time.monotonic()
    with (where / "output").open("wb") as output:
        process = subprocess.Popen(
            plan.command,
            cwd=where,
            env={**_clean_environment(), **plan.environment},
            start_new_session=True,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
    server = Server(name, Target(site.port), process, where)
    try:
        _await_answer(server, model, began + wait)
    except BaseException:
        server.stop()
        raise
    server.ready_s = time.monotonic() - began
    server.version = _version(name, plan.command[0])
    time.sleep(0.2)
    server.idle_mb = memory_mb(server.tree.own)
    return server


def _clean_environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OURS) and k.lower() not in PROXIES}
    return {**kept, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", "PYTHONUNBUFFERED": "1"}


def _await_answer(server: Server, model: str, until: float) -> None:
    body = f'{{"model":"{model}","messages":[{{"role":"user","content":"{MARK} hi"}}]}}'.encode()
    headers = {"content-type": "application/json", "authorization": "Bearer sk-fake"}
    asked = urllib.request.Request(f"http://127.0.0.1:{server.target.port}{server.target.path}", body, headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    problem = ""
    while time.monotonic() < until and server.process.poll() is None:
        try:
            with opener.open(asked, timeout=10) as reply:
                if b"fake answer" in reply.read():
                    return
                problem = "its answer is not the upstream's"
        except OSError as error:
            problem = str(error)
        time.sleep(0.02)
    tail = (server.directory / "output").read_bytes()[-1500:].decode("utf-8", "replace")
    raise RuntimeError(f"{server.name} gave no right answer: {problem}\n{tail}")


def _version(name: str, executable: str) -> str:
    if name == "nginx":
        told = subprocess.run([executable, "-v"], capture_output=True, text=True, check=False).stderr
        return told.strip().rpartition("/")[2]
    python = Path(shutil.which(executable) or executable).with_name("python")
    if name not in DISTRIBUTIONS or not python.exists():
        return ""
    code = f"import importlib.metadata as m; print(m.version({DISTRIBUTIONS[name]!r}))"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False).stdout.strip()
