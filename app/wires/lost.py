"""Whether a provider's refusal says that it no longer knows what we go on from: then the whole chat is sent once more.

Asked only about requests that carried a handle (`previous_response_id`, `previous_interaction_id`). Google documents
404 `not_found` for an interaction that is unknown, expired or deleted, and 400 for one that still runs
(https://ai.google.dev/gemini-api/docs/background-execution); in the field a bare "Requested entity was not found" comes
too, and of what another project made Google likes to say 403, "you do not have permission to access … or it may not
exist". OpenAI says 400 `previous_response_not_found`, or names an item that it did not keep
(https://platform.openai.com/docs/guides/conversation-state).
"""

from __future__ import annotations

import re

from app.errors import UpstreamError

LONGEST_MESSAGE = 4_000
"""Characters of a refusal that are read."""

CODES = frozenset(("previous_response_not_found", "previous_interaction_not_found"))
PARAMS = frozenset(("previous_response_id", "previous_interaction_id"))
STATUSES = (400, 404, 409, 410)
FORBIDDEN = 403

_OTHER = re.compile(
    r"\b(?:files?|file_\w+|models?|tools?|tool_\w+|functions?|function_\w+|call_id|containers?|vector stores?"
    r"|cached ?contents?|conversations?|prompts?|agents?|environments?)\b",
    re.IGNORECASE,
)
"""Other things that may be missing: the whole chat would not bring them back."""

_PREVIOUS = re.compile(r"\bprevious[ _]?(?:response|interaction)", re.IGNORECASE)
_GONE = r"not found|(?:does|did) not exist|cannot be found|could not be found|no longer|expired|(?:was|been) deleted"
_RUNNING = r"in[ _]progress|running|queued|not (?:yet )?(?:been )?(?:complete|finish|done|ready|terminal)"
_NOT_THERE = re.compile(
    rf"\b(?:interaction|response)\b(?! parts?).{{0,160}}?(?:{_GONE}|unknown|{_RUNNING})"
    rf"|\b(?:unknown|no such|invalid|expired) (?:interaction|response)\b(?! format)"
    r"|requested entity was not found",
    re.IGNORECASE | re.DOTALL,
)
_FOREIGN = re.compile(r"\b(?:interaction|response)\b.{0,160}?may not exist", re.IGNORECASE | re.DOTALL)
_ITEM = re.compile(r"\bitem with id '?(?:rs|msg|fc|resp|ws|ctc)_\S+ not found", re.IGNORECASE)


def is_lost(error: UpstreamError) -> bool:
    """Whether the provider does not know, no longer knows, or cannot yet go on from what the request named."""
    if error.code in CODES or (error.param in PARAMS and error.status in STATUSES):
        return True
    if error.status == FORBIDDEN:
        return bool(_FOREIGN.search(error.message[:LONGEST_MESSAGE]))
    if error.status not in STATUSES or error.kind in ("model_not_found", "too_long"):
        return False
    said = error.message[:LONGEST_MESSAGE]
    if _PREVIOUS.search(said) or _ITEM.search(said):
        return True
    if _OTHER.search(said):
        return False
    return error.status in (404, 410) or error.code == "not_found" or bool(_NOT_THERE.search(said))
