"""Coding agents: two turns, a tool that they really run, each turn but the first a resume; then in a terminal."""

from __future__ import annotations

import json
import platform
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clients.running import PLAIN, Place, Turn, lines_for
from clients.terminal import in_terminal

MODULES = Path(__file__).parent / "javascript/node_modules"
MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
SYSTEM = f"{platform.system().lower()}-{MACHINE}"
LONGEST = 240
"""Seconds that one command may take."""
SLOW = 60.0
"""Seconds that an answer may take to stand on the screen."""
NAME = "Aoi Tanaka"
SECRET = "heron-4711"  # noqa: S105 # no secret of anybody's: the word in the file that the tool reads


@dataclass(frozen=True, slots=True)
class Desk:
    """Where one agent works: a folder with a note in it, and a home of its own."""

    folder: Path
    home: Path
    variables: Mapping[str, str]
    model: str
    node: Path

    @property
    def environment(self) -> dict[str, str]:
        """All that the agent sees of an environment."""
        return {**PLAIN, "PATH": f"{self.node.parent}:{PLAIN['PATH']}", "HOME": str(self.home), **self.variables}

    def run(self, command: list[str], say: str = "") -> str:
        """The command's standard output. Raises RuntimeError with what it said if it failed."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            input=say,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"exit code {done.returncode}: {(done.stdout + done.stderr)[-1500:].strip()}")
        return done.stdout

    def write(self, name: str, text: str) -> None:
        """A file in the home."""
        (self.home / name).parent.mkdir(parents=True, exist_ok=True)
        (self.home / name).write_text(text, "utf-8")


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent.

    Args:
        package: its npm package, which holds its version. speaks: the client format.
        env: its name for `foldline env`. ask: says a prompt in a new or a resumed chat; what the agent answered.
        tool: the prompt that makes the model call its tool on the note.
        settle: puts the lines that `foldline env` printed, and what running without a terminal needs, into its home.
        variables: what running without a terminal or a network needs.
        beside: turns beside the chat, such as the one that makes a title. below: the prompt for a sub-agent's task.
        sit: its command for a terminal, where it makes a title beside the chat.
    """

    name: str
    package: str
    speaks: str
    env: str
    ask: Callable[[Desk, str, bool], str]
    tool: str
    models: tuple[str, ...]
    settle: Callable[[Desk, str], None] = lambda desk, lines: None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    beside: int = 0
    below: str = ""
    sit: Callable[[Desk], list[str]] | None = None

    @property
    def here(self) -> bool:
        """Whether there is a program of it for this machine."""
        return (MODULES / self.package / "package.json").exists()

    @property
    def version(self) -> str:
        """As its package says."""
        return json.loads((MODULES / self.package / "package.json").read_text("utf-8"))["version"]


CLAUDE = str(MODULES / f"@anthropic-ai/claude-code-{SYSTEM}/claude")


def _claude_codes_file(desk: Desk, _: str) -> None:
    """What the questions of a first start leave behind."""
    trusted = {str(desk.folder): {"hasTrustDialogAccepted": True}}
    desk.write(".claude.json", json.dumps({"hasCompletedOnboarding": True, "theme": "dark", "projects": trusted}))


def _claude_code(desk: Desk, prompt: str, resume: bool) -> str:
    more = ["--continue"] if resume else []
    said = desk.run(
        [CLAUDE, "-p", prompt, "--model", desk.model, "--output-format", "json", "--allowedTools", "Bash,Agent", *more]
    )
    return json.loads(said)["result"]


def _codex(desk: Desk, prompt: str, resume: bool) -> str:
    binary = next((MODULES / f"@openai/codex-{SYSTEM}/vendor").glob("*/bin/codex"))
    more = ["resume", "--last", prompt] if resume else [prompt]
    said = desk.run([str(binary), "exec", "--skip-git-repo-check", "--json", "-m", desk.model, *more])
    events = [json.loads(line) for line in said.splitlines()]
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    return "".join(item["text"] for item in items if item["type"] == "agent_message")


def _opencode(desk: Desk, prompt: str, resume: bool) -> str:
    binary = str(MODULES / f"opencode-{SYSTEM}/bin/opencode")
    more = ["--continue"] if resume else []
    said = desk.run([binary, "run", "--format", "json", "-m", f"foldline/{desk.model}", *more], say=prompt)
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return "".join(event["part"]["text"] for event in events if event["type"] == "text")


def _gemini_cli(desk: Desk, prompt: str, resume: bool) -> str:
    script = str(MODULES / "@google/gemini-cli/bundle/gemini.js")
    more = ["--resume", "latest"] if resume else []
    said = desk.run([str(desk.node), script, "--skip-trust", "-m", desk.model, "-o", "json", "-p", prompt, *more])
    return json.loads(said)["response"]


def _opencodes_file(desk: Desk, lines: str) -> None:
    """The file as printed; `lab` is the place where a user puts the names of models."""
    desk.write(".config/opencode/opencode.json", lines.replace('"lab"', json.dumps(desk.model)))


def _opencodes_file_for_openai(desk: Desk, lines: str) -> None:
    """The file as it is printed where OpenAI itself serves."""
    _opencodes_file(desk, lines.replace("@ai-sdk/openai-compatible", "@ai-sdk/openai"))


AGENTS = (
    Agent(
        "Claude Code",
        "@anthropic-ai/claude-code",
        "Messages",
        "claude-code",
        _claude_code,
        'call Bash with {"command":"cat note.txt","description":"reads the note"}',
        ("claude-sonnet-5-5", "gpt-5", "gemini-3-pro"),
        settle=_claude_codes_file,
        variables=dict.fromkeys(("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER"), "1"),
        sit=lambda desk: [CLAUDE, "--model", desk.model],
        below='call Agent with {"description":"greets","prompt":"say: hello","subagent_type":"general-purpose"}',
    ),
    Agent(
        "Codex",
        "@openai/codex",
        "Responses",
        "codex",
        _codex,
        'call exec_command with {"cmd":"cat note.txt"}',
        ("gpt-5", "claude-sonnet-5-5", "gemini-3-pro"),
        settle=lambda desk, lines: desk.write(".codex/config.toml", lines),
    ),
    Agent(
        "opencode",
        f"opencode-{SYSTEM}",
        "Chat Completions",
        "opencode",
        _opencode,
        'call bash with {"command":"cat note.txt","description":"reads the note"}',
        ("lab", "claude-sonnet-5-5", "gemini-3-pro"),
        settle=_opencodes_file,
        beside=1,
    ),
    Agent(
        "opencode",
        f"opencode-{SYSTEM}",
        "Responses",
        "opencode",
        _opencode,
        'call bash with {"command":"cat note.txt","description":"reads the note"}',
        ("gpt-5",),
        settle=_opencodes_file_for_openai,
        beside=1,
    ),
    Agent(
        "Gemini CLI",
        "@google/gemini-cli",
        "generateContent",
        "gemini-cli",
        _gemini_cli,
        'call read_file with {"file_path":"note.txt"}',
        ("gemini-3-pro-preview", "gpt-5", "claude-sonnet-5-5"),
        settle=lambda desk, lines: desk.write(
            ".gemini/settings.json", '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
        ),
    ),
)
"""Every agent that is tried."""


def try_agent(place: Place, agent: Agent, model: str, key: str, node: Path) -> tuple[str, list[str]]:
    """One chat: the agent's version, and what was wrong."""
    lines, variables = lines_for(agent.env, place.url, key)
    with tempfile.TemporaryDirectory(prefix="agent-") as name:
        folder, home = Path(name).resolve() / "work", Path(name).resolve() / "home"
        folder.mkdir()
        home.mkdir()
        (folder / "note.txt").write_text(f"the word is {SECRET}\n")
        desk = Desk(folder, home, {**agent.variables, **variables}, model, node)
        agent.settle(desk, lines)
        place.turns()
        place.refusals()
        try:
            wrong = list(_talked(agent, desk, place))
        except (RuntimeError, OSError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
            wrong = [f"{type(error).__name__}: {error}"]
    return agent.version, [*wrong, *place.refusals()]


def _talked(agent: Agent, desk: Desk, place: Place) -> Iterator[str]:
    agent.ask(desk, f"My name is {NAME}.", False)
    if SECRET not in (answer := agent.ask(desk, agent.tool, True)):
        yield f"the tool's result did not arrive: {answer!r}"
    if NAME not in (answer := agent.ask(desk, "What is my name?", True)):
        yield f"the last turn does not know the first: {answer!r}"
    turns = place.turns()
    yield from _recognised(turns, 4, agent.beside)
    if agent.below and turns:
        agent.ask(desk, agent.below, True)
        if not {turn.session for turn in place.turns()} - {turns[0].session}:
            yield "the sub-agent's task was taken for the chat itself"
    if agent.sit is not None:
        yield from _sat_through(agent.sit(desk), desk, place)


def _sat_through(command: list[str], desk: Desk, place: Place) -> Iterator[str]:
    """What is wrong in a chat of two turns in a terminal, with the call that makes its title beside it."""
    journal = place.sim.journal
    with in_terminal(command, desk.folder, desk.environment) as terminal:
        terminal.settle(lambda: True, SLOW)
        for prompt, more in ((f"My name is {NAME}.", 2), ("What is my name?", 1)):
            wanted = len(journal.calls()) + more
            terminal.type(prompt)
            terminal.settle(lambda least=wanted: sum(1 for each in journal.calls() if each.ended) >= least, SLOW)
    yield from _recognised(place.turns(), 2, 1)


def _recognised(turns: list[Turn], talk: int, beside: int) -> Iterator[str]:
    """What is wrong in how Foldline took the turns: one session, in which each turn of the talk goes on from the one
    before, and what runs beside it begins anew."""
    if failed := [turn.status for turn in turns if turn.status != 200]:
        yield f"turns that failed: {failed}"
    if len(turns) != talk + beside:
        yield f"{len(turns)} turns, not {talk} and {beside} beside them"
    if len({turn.session for turn in turns}) != 1:
        yield f"one chat became several sessions: {[turn.session for turn in turns]}"
    known = sorted(turn.prefix for turn in turns)
    if known[: 1 + beside] != [0] * (1 + beside) or not all(known[1 + beside :]):
        yield f"messages known from before, by turn: {[turn.prefix for turn in turns]}"
