"""Two clients whose keys differ share nothing, whatever they say, and whichever ids they learn of each other.

Both hold the very same conversations with a provider that signs its calls. A signature that one was given must come
back in that one's next turn, and must never turn up in a request made for the other.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import httpx2
from hypothesis import given, settings
from hypothesis import strategies as st

from app.simulator.running import Running
from tests.cases.exchanges import GEMINI, gemini_call, gemini_said, tool

COUNT = tool("count_shelf", "at")
_RUNS = itertools.count()


@dataclass
class Client:
    """One tenant, with what it remembers of its conversations. Assistant turns are kept without their signatures."""

    key: str
    signature: str
    talks: dict[int, list[dict[str, Any]]] = field(default_factory=dict[int, list[dict[str, Any]]])
    sessions: list[str] = field(default_factory=list[str])
    turns: list[str] = field(default_factory=list[str])


def _step(http: httpx2.Client, sim: Running, client: Client, talk: int, headers: dict[str, str]) -> list[str]:
    """One more step of a tool loop that is the same for both clients, but for the signatures; gives those sent back."""
    messages = client.talks.setdefault(talk, [{"role": "user", "content": f"Count shelf {talk}, step by step."}])
    sim.script([gemini_said(gemini_call("count_shelf", {"at": str(len(messages))}, client.signature))])
    answer = http.post(
        "/v1/chat/completions",
        json={"model": GEMINI, "messages": messages, "tools": [COUNT]},
        headers={"authorization": f"Bearer {client.key}", **headers},
    )
    client.sessions.append(answer.headers["x-foldline-session"])
    client.turns.append(answer.headers["x-foldline-turn"])
    said = answer.json()["choices"][0]["message"]["tool_calls"][0]
    call = {"id": f"call_{talk}_{len(messages)}", "type": "function", "function": said["function"]}
    messages += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "nine"},
    ]
    parts = [part for one in sim.journal.last.body["contents"] for part in one["parts"] if "functionCall" in part]
    return [part["thoughtSignature"] for part in parts]


WHO = st.sampled_from([0, 1])
ACT = st.sampled_from(["go on", "go on", "begin again", "under a shared name", "under the other's session"])


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(WHO, ACT), min_size=4, max_size=14))
def test_no_signature_and_no_session_crosses_from_one_tenant_to_the_other(
    served: Running, shared_url: str, acts: list[tuple[int, str]]
) -> None:
    served.journal.clear()
    served.answers.clear()
    run = next(_RUNS)
    clients = [Client(f"left-{run}", "bGVmdA=="), Client(f"right-{run}", "cmlnaHQ=")]
    with httpx2.Client(base_url=shared_url, trust_env=False, verify=False, timeout=10) as http:
        for who, act in acts:
            client, other = clients[who], clients[1 - who]
            if act == "begin again":
                client.talks.clear()
            if act == "under the other's session" and other.sessions:
                sent = _step(http, served, client, 3, {"x-foldline-session": other.sessions[-1]})
                assert other.signature not in sent
            elif act == "under a shared name":
                assert set(_step(http, served, client, 2, {"x-session-id": "same-for-both"})) <= {client.signature}
            else:
                assert set(_step(http, served, client, 1, {})) <= {client.signature}

    assert not {*clients[0].sessions} & {*clients[1].sessions}
    assert not {*clients[0].turns} & {*clients[1].turns}
