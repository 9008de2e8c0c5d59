"""What a provider's error means for us (A14, A15, A30, A31, A32), the same for every dialect."""

import re
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from yagent.llm import json_text
from yagent.llm.dialects.port import RejectedRequest, Rejection
from yagent.llm.engine import ContextTooLong, ModelConfigurationError, ModelError, ModelGaveUp, RateLimited, TransientModelError
from yagent.patterns import pattern
from yagent.records import dataclass

DETAIL_LIMIT = 600  # characters of the provider's own text
_DEPTH = 6

_OVERFLOW_CODES = {"context_length_exceeded", "request_too_large", "model_context_window_exceeded", "exceed_context_size_error"}
_OVERFLOW = pattern(
    r"maximum context length|prompt is too long|exceeds? the (model'?s )?(available )?(context|maximum context)"
    r"|context (length|window|size)[^.]{0,40}exceed"
    r"|exceed[^.]{0,60}context (length|window|size|limit)|input (is )?too long|input token count[^.]{0,60}exceeds|too many (input )?tokens"
    r"|reduce the length of (the )?(messages|prompt|input)|range of input length should be|request_too_large|larger than the context",
    re.IGNORECASE,
)
_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance", "billing_error"}
_QUOTA_CODES |= {"arrearage", "1113"}  # Alibaba, Zhipu
_QUOTA = pattern(
    r"insufficient (account )?(balance|credit|quota|funds)|credit balance is too low|exceeded your current quota|out of credits",
    re.IGNORECASE,
)
_RATE_CODES = {"rate_limit", "rate_limit_error", "rate_limit_exceeded", "overloaded_error", "overloaded", "too_many_requests"}
_RATE_CODES |= {"resource_exhausted"}  # Google
_KEY_CODES = {"authentication_error", "permission_error", "invalid_api_key", "not_found_error", "model_not_found", "permission_denied"}
_FILTER_CODES = {"content_filter", "content_policy_violation", "data_inspection_failed", "invalid_prompt"}
_FILTER = pattern(r"content management policy|content.?filter|inappropriate content|flagged by moderation", re.IGNORECASE)
_BAD_REQUEST_CODES = {"invalid_request_error", "unsupported_parameter", "unsupported_value", "unknown_parameter", "invalid_argument"}
_KEY = pattern(r"\b(?:sk|pk|rk|key|tok|gsk|xai)[-_][A-Za-z0-9_\-*.]{6,}|\bAIza[\w-]{10,}|(?<=[Bb]earer )\S+")
_WAIT_FOR = pattern(r"(?:try again|retry)[^.\d]{0,20}?(\d+(?:\.\d+)?)\s*(ms|s\b|sec)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What could be learned from an error object, innermost last."""

    messages: tuple[str, ...]
    codes: frozenset[str]
    parameter: str | None

    @property
    def text(self) -> str:
        return " | ".join(dict.fromkeys(self.messages))


def classify(status: int, headers: Mapping[str, str], body: bytes, now: float) -> ModelError:
    """The error a reply that is not a 2xx stands for (see `port.Dialect`)."""
    text = body.decode("utf-8", "replace")
    try:
        document = json_text.loads(text)
    except ValueError:
        document = {"message": _plain(text)} if text.strip() else {}
    return failure(document, status=status, retry_after=retry_after(headers, now))


def stream_failure(document: Any) -> ModelError:
    """The error an event inside a stream that began with 200 stands for (A15)."""
    error = failure(document, status=None, retry_after=None)
    error.is_document = True
    return error


def unreadable(what: str, text: str) -> TransientModelError:
    """The error of an event or body that is not what the protocol says."""
    return TransientModelError(f"The server sent {what} that cannot be read.", detail=shorten(text))


def read_object(text: str, what: str) -> Mapping[str, Any]:
    """The JSON object in `text`; the error of `unreadable` when there is none."""
    try:
        document = json_text.loads(text)
    except ValueError:
        raise unreadable(what, text) from None
    if not isinstance(document, Mapping):
        raise unreadable(what, text)
    return document


def failure(document: Any, *, status: int | None, retry_after: float | None) -> ModelError:
    """The error for an error object; `status` is None inside a stream, where a numeric code in the object takes its place."""
    facts = _facts(document)
    if status is None:
        status = next((int(code) for code in facts.codes if re.fullmatch(r"[45]\d\d", code)), None)
    detail = shorten(facts.text)
    said = f": {_sentence(detail)}" if detail else "."
    where = f"The model server answered {status}" if status else "The model server reported an error"
    if _is_overflow(status, facts):
        return ContextTooLong(f"The request does not fit into the model's context window{said}", status=status, detail=detail)
    if status == 402 or facts.codes & _QUOTA_CODES or (retry_after is None and _QUOTA.search(facts.text)):
        return ModelGaveUp(f"The account's quota or balance is used up{said}", status=status, detail=detail)
    if status in (429, 529) or facts.codes & _RATE_CODES or (retry_after is not None and (status or 0) >= 500):
        wait = retry_after if retry_after is not None else _wait_in(facts.text)
        return RateLimited(f"{where}, asking us to wait{said}", retry_after=wait, status=status, detail=detail)
    return _other(facts, status, where + said, detail)


def _other(facts: _Facts, status: int | None, message: str, detail: str) -> ModelError:
    if status in (401, 403, 404, 405) or (status is None and facts.codes & _KEY_CODES):
        advice = _ADVICE.get(status or 0, "Check key, model name and address of the provider.")
        return ModelConfigurationError(f"{message} {advice}", status=status, detail=detail)
    if facts.codes & _FILTER_CODES or (_FILTER.search(facts.text) and status in (None, 400, 422)):
        return ModelGaveUp(f"The provider's content filter refused the request: {_sentence(detail)}", status=status, detail=detail)
    if status in (400, 422) or (status is None and facts.codes & _BAD_REQUEST_CODES):
        code = next(iter(sorted(facts.codes - {str(status), "invalid_request_error"})), "")
        rejection = Rejection(facts.text, facts.parameter, code)
        return RejectedRequest(f"{message} {_REJECTED}", rejection=rejection, status=status, detail=detail)
    if status is not None and status < 500 and status not in (408, 409, 425):
        return ModelConfigurationError(f"{message} Check the provider's address.", status=status, detail=detail)
    return TransientModelError(message, status=status, detail=detail)


def _sentence(words: str) -> str:
    """A provider's words as the end of a sentence of ours: they come with or without a full stop."""
    return words if words.endswith((".", "!", "?", "…")) else f"{words}."


_REJECTED = "Check the model's name, and what the configuration sets for it: temperature, max_tokens, reasoning_effort."
_ADVICE = {
    401: "Check the provider's API key.",
    403: "The key may not use this model; check key and model name.",
    404: "Check model name, base URL and api_format.",
    405: "Check the base URL and the api_format.",
}


def _is_overflow(status: int | None, facts: _Facts) -> bool:
    if status == 413:
        return True
    if status == 429 or facts.codes & _RATE_CODES:
        return False
    return bool(facts.codes & _OVERFLOW_CODES) or (status in (None, 400, 422, 500) and bool(_OVERFLOW.search(facts.text)))


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the server asked us to wait: `retry-after-ms`, or `retry-after` in seconds or as a date, counted from the server's clock."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value) / unit
    until = _date(headers.get("retry-after", ""))
    if until is None:
        return None
    server_now = _date(headers.get("date", ""))
    return max(0.0, until - (now if server_now is None else server_now))


def _date(value: str) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError):
        return None


def _wait_in(text: str) -> float | None:
    """Some servers say it in words only: "Please try again in 1.5s"."""
    found = _WAIT_FOR.search(text)
    if found is None:
        return None
    return float(found[1]) / (1000.0 if found[2].lower() == "ms" else 1.0)


def _facts(document: Any) -> _Facts:
    messages: list[str] = []
    codes: set[str] = set()
    parameters: list[str] = []
    for name, value in _walk(document, _DEPTH):
        if name in ("message", "detail", "msg", "error", "reason", "raw", "error_description"):
            messages.append(value)
        elif name in ("code", "type", "status"):
            codes.add(value.lower())
        elif name in ("param", "loc"):
            parameters.append(value)
    if isinstance(document, str):
        messages.append(document)
    return _Facts(tuple(messages), frozenset(codes), parameters[-1] if parameters else None)


def _walk(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Names and texts of an error object, also of objects that hide inside strings (A14)."""
    if depth == 0:
        return
    if isinstance(value, list):
        for item in value:
            yield from _walk(item, depth - 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _entry(name, item, depth)


def _entry(name: str, item: Any, depth: int) -> Iterator[tuple[str, str]]:
    if name == "loc" and isinstance(item, list):
        yield name, ".".join(str(step) for step in item if step != "body")
    elif isinstance(item, str):
        nested = _nested(item)
        if nested is None:
            yield name, item
        else:
            yield from _walk(nested, depth - 1)
    elif isinstance(item, int) and not isinstance(item, bool):
        yield name, str(item)
    else:
        yield from _walk(item, depth - 1)


def _nested(text: str) -> Any:
    start = text.find("{")
    if start < 0 or not text.rstrip().endswith("}"):
        return None
    try:
        found = json_text.loads(text[start:])
    except ValueError:
        return None
    return [{"message": text[:start].strip(" :-")}, found] if text[:start].strip() else found


def _plain(text: str) -> str:
    """The words of a page."""
    without_code = re.sub(r"(?is)<(script|style)\b.*?</\1>", " ", text)
    return " ".join(re.sub(r"(?s)<[^>]*>", " ", without_code).split())


def shorten(text: str) -> str:
    """The provider's text without keys, at most `DETAIL_LIMIT` characters."""
    text = _KEY.sub("[key removed]", text)
    return text if len(text) <= DETAIL_LIMIT else text[: DETAIL_LIMIT - 1] + "…"
