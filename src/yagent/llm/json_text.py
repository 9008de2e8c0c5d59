"""JSON as it travels: one encoder for everything we send, one careful parser for everything we receive."""

import json
from typing import Any


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_LENIENT_DECODER = json.JSONDecoder(parse_constant=_refuse, strict=False)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def dumps(value: Any) -> str:
    """Compact JSON text of `value`."""
    return _ENCODER.encode(value)


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8."""
    return utf8(_ENCODER.encode(value))


def utf8(text: str) -> bytes:
    """`text` in UTF-8. A lone surrogate becomes U+FFFD: neither its bytes nor its JSON escape pass a strict server's parser."""
    return whole_characters(text).encode()


def inner(text: str) -> bytes:
    """`text` as it stands inside the quotes of a JSON string."""
    return encode(text)[1:-1]


def loads(text: str) -> Any:
    """Parse strictly: no NaN, no Infinity. Raises `ValueError` for whatever cannot be read, nesting beyond the stack included."""
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def loads_lenient(text: str) -> Any:
    """Like `loads`, but raw line breaks and tabs inside strings are let through."""
    try:
        return _LENIENT_DECODER.decode(text)
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


def is_portable(text: str) -> bool:
    """Every parser reads JSON `text` alike: no key twice in one object, no lone surrogate, not even an escaped one."""
    repeated: list[bool] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        repeated.extend([True] * (len(found) != len(pairs)))
        return found

    value = json.loads(text, object_pairs_hook=collect)
    plain = dumps(value) if "\\u" in text else text
    return not repeated and plain == whole_characters(plain)
