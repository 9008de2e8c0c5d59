"""JSON as it travels: one encoder for everything we send, one careful parser for everything we receive."""

import json
from typing import Any

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def dumps(value: Any) -> str:
    """Compact JSON text of `value`."""
    return _ENCODER.encode(value)


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8. Lone surrogates, which UTF-8 cannot carry, become their JSON escapes."""
    return _ENCODER.encode(value).encode("utf-8", "backslashreplace")


def inner(text: str) -> bytes:
    """`text` as it stands inside the quotes of a JSON string."""
    return encode(text)[1:-1]


def loads(text: str | bytes) -> Any:
    """Parse strictly: no NaN, no Infinity. Raises `ValueError` for whatever cannot be read, nesting beyond the stack included."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def loads_lenient(text: str) -> Any:
    """Like `loads`, but raw line breaks and tabs inside strings are let through."""
    try:
        return json.loads(text, parse_constant=_refuse, strict=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def whole_characters(text: str) -> str:
    """Join surrogate halves that arrived in different pieces; a half that stays alone becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
