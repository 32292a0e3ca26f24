"""What the real tokenizer counts corrects what Foldline estimates."""

from __future__ import annotations

from tests_real.conftest import Front, StartFront, told, user
from tests_real.serve import NAME

CODE = "\n".join(
    f"def f{n}(a_{n}: int, b: str) -> dict[str, int]:\n    return {{b: a_{n} + {n * 37}}}" for n in range(12)
)
"""This tokenizer takes each digit for a token; most others take two or three at once."""


async def _estimated(proxy: Front) -> int:
    """What Anthropic's counting endpoint says. The server behind it counts nothing, so that it is an estimate."""
    answer = await proxy.http.post("/v1/messages/count_tokens", json={"model": NAME, "messages": [user(CODE)]})
    assert answer.status_code == 200, answer.text
    return answer.json()["input_tokens"]


async def test_the_models_own_counts_correct_the_estimates(front: StartFront) -> None:
    async with front(fold_at_tokens=600) as proxy:  # far below that, nobody estimates
        before = await _estimated(proxy)
        answer = await told(proxy.openai, [user(CODE)], max_tokens=1)
        after = await _estimated(proxy)
    assert answer.usage is not None
    real = answer.usage.prompt_tokens
    assert abs(after - real) < abs(before - real) / 2, (before, after, real)
