"""Sign-in to Vertex AI with application default credentials, against a token server of our own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import cast

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from app.errors import UpstreamError
from app.upstreams.gemini import vertex
from app.upstreams.upstream import Credential
from app.upstreams.vertex import GoogleSignIn
from app.wires.wire import Outbound


class TokenServer(HTTPServer):
    """Gives tokens as Google's does; `asked` counts them."""

    asked = 0
    status = 200


class Answers(BaseHTTPRequestHandler):
    """One token a request."""

    def do_POST(self) -> None:
        server = cast(TokenServer, self.server)
        self.rfile.read(int(self.headers["content-length"]))
        server.asked += 1
        body = json.dumps({"access_token": f"token-{server.asked}", "expires_in": 3600, "token_type": "Bearer"})
        self.send_response(server.status)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's own spelling
        """Quiet."""


@pytest.fixture
def tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenServer]:
    """A token server, and a service account whose credentials lead to it."""
    server = TokenServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    account = {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "k",
        "private_key": key.decode(),
        "client_email": "a@p.iam.gserviceaccount.com",
        "token_uri": f"http://127.0.0.1:{server.server_port}/token",
    }
    file = tmp_path / "account.json"
    file.write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


async def test_a_token_is_fetched_once_and_used_until_it_ends(tokens: TokenServer) -> None:
    sign = GoogleSignIn()
    first = await sign(Credential())
    again = await sign(Credential("bearer", "the client's own key is never sent there"))
    assert first == again == {"authorization": "Bearer token-1"}
    assert tokens.asked == 1


async def test_a_refused_sign_in_says_what_to_check(tokens: TokenServer) -> None:
    tokens.status = 401
    with pytest.raises(UpstreamError, match="application default credentials") as refused:
        await GoogleSignIn()(Credential())
    assert refused.value.status == 502


@pytest.mark.parametrize(
    ("location", "host"),
    [("global", "aiplatform.googleapis.com"), ("europe-west4", "europe-west4-aiplatform.googleapis.com")],
)
def test_vertex_is_asked_under_the_projects_own_path(location: str, host: str) -> None:
    upstream = vertex("v", "p", location)
    url = upstream.url(Outbound("/models/gemini-3-flash-preview:generateContent", b""))
    path = f"/v1beta1/projects/p/locations/{location}/publishers/google/models/gemini-3-flash-preview:generateContent"
    assert url == f"https://{host}{path}"
    assert upstream.keyed
