"""The summariser's question in few words, for a model that did not see what the full one asks of it.

A small model of one's own may take rules and marks for a text to go on with. So here the conversation comes first, as
plain lines, and the question last, as a list that only has to be gone on with. It is the weaker question: it does not
say what a promise or an open question is, and keeps data apart from orders by one sentence alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.chat import size
from app.chat.family import Family
from app.chat.model import Chat, Message, Text
from app.chat.windows import window_of
from app.context.asking import CERTAIN, LEAST, Wish, on_one_line, sampling_of
from app.context.critical import Said, critical
from app.context.instructions import begun, few_closing, few_orders, language_of
from app.context.retention import verdict
from app.context.transcript import fitted, said_of, shut
from app.context.written import unnumbered

MOST_NAMED = 12
"""Missing values that are named: a long list would be gone on with in place of the notes."""


def ask_plainly(wish: Wish, model: str, *, family: Family, window: int, missing: Sequence[str] = ()) -> Chat:
    """The question as a chat that any upstream can be sent; see asking.ask for the arguments. Never fails."""
    said = (*(Said("assistant", text) for text in wish.rolled), *said_of(wish.messages))
    language = language_of(said_of(wish.messages), (*wish.rolled, *wish.before))
    system, end = few_orders(language), few_closing(language, on_one_line(missing[:MOST_NAMED]))
    whole = window if window > 0 else window_of(model).context
    sampling = sampling_of(model, max(wish.limit, LEAST), whole)
    taken = size.of_text(system + end, family) + 2 * size.PER_MESSAGE + (sampling.max_tokens or 0)
    lines, _ = fitted(
        [f"[{one.role}] {shut(one.text)}" for one in said],
        [one.role == "tool" for one in said],
        max(int(whole * CERTAIN) - taken, LEAST),
        family,
    )
    return Chat(
        model,
        (Message("user", (Text("\n\n".join((*lines, end))),)),),
        system=(Message("system", (Text(system),)),),
        sampling=sampling,
        store=False,
        plain=True,
    )


def notes_of(text: str, wish: Wish) -> str:
    """The notes in an answer, whether it goes on with the list that was begun or begins it once more."""
    opening = begun(language_of(said_of(wish.messages), (*wish.rolled, *wish.before)))
    begins = not text or text.startswith(("1.", opening))
    return unnumbered(text if begins else f"{opening} {text}")


def borne_out(text: str, said: Sequence[Said]) -> str:
    """The lines of an answer whose every name, number and address stands in what was said.

    A model that needs the plain question makes things up, and nobody would tell them from what was said.
    """
    lines = text.splitlines()
    values = [[one for one in critical([Said("user", line)]) if one.kind != "rule"] for line in lines]
    source = "\n".join(one.text for one in said)
    invented = {one.key for one in verdict([one for each in values for one in each], source).missing}
    return "\n".join(
        line for line, each in zip(lines, values, strict=True) if invented.isdisjoint(one.key for one in each)
    )
