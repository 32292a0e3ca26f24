"""`foldline serve` and `foldline simulate` as processes: what they say first, and how they end."""

from __future__ import annotations

import json
import signal
import socket
import urllib.request
from pathlib import Path

import pytest

from app.cli import main
from tests.cli.conftest import Program


def post(url: str, body: object) -> str:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"content-type": "application/json", "authorization": "Bearer lab"}
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read().decode()


def alive(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/livez", timeout=5) as response:
            return response.status == 200
    except OSError:
        return False


def test_a_first_run_says_what_is_on_and_the_request_it_suggests_works(programs: list[Program], place: Path) -> None:
    program = Program(("serve", "--port", "0"))
    programs.append(program)
    url = program.wait_for(r"on (http://127\.0\.0\.1:\d+)\n")[1]
    said = program.wait_for(r"(?s)on +store +embedded Valkey.*built-in simulator as model `lab`.*-d '(\{.*?\})'")
    assert f"curl -N {url}/v1/chat/completions" in "".join(program.said)
    answer = post(f"{url}/v1/chat/completions", json.loads(said[1]))
    assert answer.startswith("data: ")
    assert answer.rstrip().endswith("data: [DONE]")
    assert (place / ".foldline").is_dir()
    assert program.stop() == 0
    assert not alive(url)
    assert "Traceback" not in "".join(program.said)


def test_ctrl_c_is_a_normal_end(programs: list[Program]) -> None:
    program = Program(("serve", "--port", "0"))
    programs.append(program)
    url = program.wait_for(r"on (http://127\.0\.0\.1:\d+)\n")[1]
    with urllib.request.urlopen(f"{url}/livez", timeout=60):
        pass
    assert program.stop(signal.SIGINT) == 0
    assert "Traceback" not in "".join(program.said)


def test_two_workers_share_the_port_the_store_and_the_command_line(programs: list[Program]) -> None:
    program = Program(("serve", "--port", "0", "--workers", "2"))
    programs.append(program)
    url = program.wait_for(r"on (http://127\.0\.0\.1:\d+)\n")[1]
    body = {"model": "lab", "messages": [{"role": "user", "content": "hello"}]}
    assert all("choices" in json.loads(post(f"{url}/v1/chat/completions", body)) for _ in range(8))
    assert program.stop() == 0
    assert "Traceback" not in "".join(program.said)


@pytest.mark.parametrize("command", ["serve", "simulate"])
def test_a_taken_port_is_one_readable_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main([command, "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert (
        said == f"foldline: Port {port} on 127.0.0.1 is taken: stop what listens there, or set another PORT (--port).\n"
    )


def test_an_address_of_another_machine_is_one_readable_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--host", "192.0.2.1", "--port", "0"]) == 2
    assert "HOST 192.0.2.1 is not an address of this machine" in capsys.readouterr().err


def test_lending_provider_keys_to_the_network_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hunter2")
    assert main(["serve", "--host", "0.0.0.0", "--port", "0"]) == 2
    said = capsys.readouterr().err
    assert "set API_KEYS" in said
    assert said.count("\n") == 1
    assert "hunter2" not in said


def test_a_wrong_flag_is_named_as_it_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "many"]) == 2
    assert "--port cannot be 'many'" in capsys.readouterr().err
    assert main(["simulate", "--port", "many"]) == 2
    assert "--port cannot be 'many'" in capsys.readouterr().err


def test_the_simulator_serves_alone(programs: list[Program]) -> None:
    program = Program(("simulate", "--port", "0"))
    programs.append(program)
    url = program.wait_for(r"(http://127\.0\.0\.1:\d+)/v1")[1]
    body = {"model": "lab", "messages": [{"role": "user", "content": "hello"}]}
    assert "choices" in json.loads(post(f"{url}/v1/chat/completions", body))
