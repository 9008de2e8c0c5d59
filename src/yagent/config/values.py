"""The kinds of value a config key can have: how each is read from TOML, what zero means to it, how it is shown."""

import math
import re
from collections.abc import Callable
from typing import Final, Generic, TypeVar
from urllib.parse import urlsplit

from yagent.config.secret import SecretText
from yagent.records import dataclass

Value = TypeVar("Value")

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION: Final = r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d))+"
_DURATION_PART: Final = r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)"
_VARIABLE: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_RULE: Final = r"(?s)(read|edit|shell|tool)\(\s*\S.*\)"
_PARALLEL_CAP: Final = 8


@dataclass(frozen=True, slots=True)
class Kind(Generic[Value]):
    """One kind of value.

    `read(raw, default)` gives the value for what TOML holds, or raises ValueError when it is of another kind. `choices` is not
    empty for a closed vocabulary: a text outside it is a notice and the default, not an error (B-11).
    """

    name: str
    expected: str
    read: Callable[[object, Value], Value]
    choices: tuple[str, ...] = ()


def duration_seconds(raw: object) -> float:
    """Seconds of `"60s"`, `"20m"`, `"1h30m"`, `"250ms"`, `"168h"`, `"7d"`, `"0"` or the number 0 (B-14); ValueError for anything else."""
    if isinstance(raw, str):
        text = raw.strip()
        if text == "0":
            return 0.0
        if re.fullmatch(_DURATION, text):
            return math.fsum(float(amount) * _UNITS[unit] for amount, unit in re.findall(_DURATION_PART, text))
    elif isinstance(raw, int | float) and not isinstance(raw, bool) and raw == 0:
        return 0.0
    raise ValueError(raw)


def show_duration(seconds: float | None) -> str:
    """The shortest spelling that `duration_seconds` reads back to the same number; `"0"` for None, which means off."""
    if not seconds:
        return "0"
    for unit in ("d", "h", "m", "s"):
        if seconds >= _UNITS[unit] and seconds % _UNITS[unit] == 0 and not (unit == "d" and seconds < 14 * _UNITS["d"]):
            return f"{int(seconds / _UNITS[unit])}{unit}"
    return f"{round(seconds * 1000)}ms"


def _whole(raw: object) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise ValueError(raw)
    return raw


def _not_negative(raw: object) -> int:
    if (number := _whole(raw)) < 0:
        raise ValueError(raw)
    return number


def _amount(raw: object) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not math.isfinite(raw) or raw < 0:
        raise ValueError(raw)
    return float(raw)


def _text(raw: object) -> str:
    if not isinstance(raw, str):
        raise ValueError(raw)
    return raw


def _filled(raw: object, _default: str | None) -> str | None:
    if not (text := _text(raw).strip()):
        raise ValueError(raw)
    return text


def _variable(raw: object, _default: str | None) -> str | None:
    if not re.fullmatch(_VARIABLE, text := _text(raw).strip()):
        raise ValueError(raw)
    return text


def _url(raw: object, _default: str | None) -> str | None:
    if not (text := _text(raw).strip()):
        return None
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or any(char.isspace() for char in text):
        raise ValueError(raw)
    _ = parts.port  # a port that is no number raises here
    return text.rstrip("/")


def _flag(raw: object, _default: bool) -> bool:
    if not isinstance(raw, bool):
        raise ValueError(raw)
    return raw


def _texts(raw: object, _default: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(raw, list) or not all(isinstance(item, str) and item.strip() for item in raw):
        raise ValueError(raw)
    return tuple(item.strip() for item in raw)


def _variables(raw: object, default: tuple[str, ...]) -> tuple[str, ...]:
    names = _texts(raw, default)
    if not all(re.fullmatch(_VARIABLE, name) for name in names):
        raise ValueError(raw)
    return names


def _rules(raw: object, default: tuple[str, ...]) -> tuple[str, ...]:
    rules = _texts(raw, default)
    if not all(re.fullmatch(_RULE, rule) for rule in rules):
        raise ValueError(raw)
    return rules


def one_of(*choices: str) -> Kind[str]:
    """A text out of a closed list."""
    listed = ", ".join(f'"{choice}"' for choice in choices)
    return Kind("one of", f"one of {listed}", lambda raw, _default: _text(raw), choices)


TEXT: Final[Kind[str]] = Kind("text", 'a text in quotes, such as "word"', lambda raw, _default: _text(raw))
NAME: Final[Kind[str | None]] = Kind("text", 'a text in quotes that is not empty, such as "name"', _filled)
VARIABLE: Final[Kind[str | None]] = Kind(
    "variable name", 'the name of an environment variable, such as "OPENAI_API_KEY" (not a key)', _variable
)
URL: Final[Kind[str | None]] = Kind("URL", 'a URL such as "https://api.example.com/v1"', _url)
SECRET: Final[Kind[SecretText | None]] = Kind("text", "a key as text in quotes", lambda raw, _default: SecretText(_text(raw)))
FLAG: Final[Kind[bool]] = Kind("true or false", "true or false, without quotes", _flag)
TEXTS: Final[Kind[tuple[str, ...]]] = Kind("list of texts", 'a list of texts, such as ["one", "two"]', _texts)
VARIABLES: Final[Kind[tuple[str, ...]]] = Kind("list of variable names", 'a list of variable names, such as ["CI_TOKEN"]', _variables)
RULES: Final[Kind[tuple[str, ...]]] = Kind(
    "list of rules", 'a list of rules, each read(glob), edit(glob), shell(words *) or tool(name), such as ["shell(git push *)"]', _rules
)
COUNT: Final[Kind[int]] = Kind("whole number", "a whole number", lambda raw, default: number if (number := _whole(raw)) > 0 else default)
WHOLE: Final[Kind[int]] = Kind("whole number", "a whole number", lambda raw, default: number if (number := _whole(raw)) >= 0 else default)
RETRIES: Final[Kind[int]] = Kind("whole number", "a whole number, 0 or more", lambda raw, _default: _not_negative(raw))
OPTIONAL_COUNT: Final[Kind[int | None]] = Kind(
    "whole number", "a whole number, 0 or more", lambda raw, _default: _not_negative(raw) or None
)
PARALLEL: Final[Kind[int]] = Kind(
    "whole number", "a whole number", lambda raw, default: min(number, _PARALLEL_CAP) if (number := _whole(raw)) > 0 else default
)
OPTIONAL_AMOUNT: Final[Kind[float | None]] = Kind("number", "a number, 0 or more", lambda raw, _default: _amount(raw) or None)
PRICE: Final[Kind[float | None]] = Kind("number", "a price in US dollars per million tokens, 0 or more", lambda raw, _default: _amount(raw))
DURATION: Final[Kind[float | None]] = Kind(
    "duration", 'a duration such as "60s", "20m", "168h", or 0', lambda raw, _default: duration_seconds(raw) or None
)
