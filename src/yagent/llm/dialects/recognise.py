"""Which wire format a reply is in, whoever it was asked for: a wrong `api_format` is told at once, not tried again and again."""

from collections.abc import Mapping
from typing import Any

from yagent.llm import json_text

_MESSAGES = {"message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"}


def foreign_format(text: str, expected: str) -> str | None:
    """The `api_format` that a stream event or a whole reply is clearly in, None when it is the expected one or cannot be told.

    A document with an error is for the decoder, whatever it looks like: the server's own words say more.
    """
    try:
        document = json_text.loads(text)
    except ValueError:
        return None
    found = _formats(document) if isinstance(document, Mapping) and not document.get("error") else []
    return found[0] if found and expected not in found else None


def _formats(document: Mapping[str, Any]) -> list[str]:
    """Those whose marks it bears."""
    kind, form = str(document.get("type") or ""), document.get("object")
    marks = {
        "openai": isinstance(document.get("choices"), list),
        "responses": kind.startswith("response.") or form == "response",
        "anthropic": kind in _MESSAGES or (kind == "message" and "content" in document and "stop_reason" in document),
    }
    return [name for name, is_marked in marks.items() if is_marked]
