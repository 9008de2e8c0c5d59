"""The kinds of values a tool parameter can have: how each is written in JSON Schema, told in a word, and read from what a model sent."""

import json
import math
from collections.abc import Sequence
from dataclasses import field
from typing import Any, Final, Protocol

from yagent.records import dataclass

GREATEST: Final = 2**53 - 1  # what JSON numbers are exact to (RFC 8259, section 6); every size and position the system knows is smaller


def shown(value: Any) -> str:
    """A value as JSON, shortened for a message."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:57] + "…"


@dataclass(slots=True)
class Reading:
    """What one reading found: problems that refuse the call, notes on what was tolerated."""

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def problem(self, at: str, wanted: str, value: Any) -> None:
        """Note that the value at this place is not what is wanted."""
        self.problems.append(f"{at or 'the arguments'} must be {wanted}, got {shown(value)}")

    def tolerated(self, at: str, wanted: str, value: Any) -> None:
        """Note that a value was taken for what is wanted."""
        self.notes.append(f"{at or 'the arguments'} should be {wanted}; {shown(value)} was read as one")

    def decoded(self, value: Any, wanted: type[Any], at: str) -> Any:
        """The value itself, or what it holds when it is JSON text of the wanted type (a model encoded it twice)."""
        if not isinstance(value, str):
            return value
        try:
            inner = json.loads(value)
        except (ValueError, RecursionError):
            return value
        if not isinstance(inner, wanted):
            return value
        self.tolerated(at, "a list" if wanted is list else "an object", value)
        return inner


class Kind(Protocol):
    """How values of one type are declared and read. `form` is the type in a word or two, `schema` its JSON Schema."""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema, without a description."""
        ...

    @property
    def form(self) -> str:
        """For messages."""
        ...

    def read(self, value: Any, at: str, reading: Reading) -> Any:
        """The typed value; problems and notes go to `reading`."""
        ...


class TextKind:
    """A string. Numbers and booleans become their JSON text; strings stay exactly what they are."""

    schema: dict[str, Any]
    form = "string"

    def __init__(self) -> None:
        self.schema = {"type": "string"}

    def read(self, value: Any, at: str, reading: Reading) -> str:
        """The string."""
        if isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            reading.tolerated(at, "a string", value)
            return json.dumps(value)
        reading.problem(at, "a string", value)
        return ""


class BooleanKind:
    """true or false."""

    form = "boolean"

    def __init__(self) -> None:
        self.schema: dict[str, Any] = {"type": "boolean"}

    def read(self, value: Any, at: str, reading: Reading) -> bool:
        """The boolean; the words "true" and "false" are taken for it."""
        if isinstance(value, bool):
            return value
        word = value.strip().casefold() if isinstance(value, str) else ""
        if word in ("true", "false"):
            reading.tolerated(at, "a boolean", value)
            return word == "true"
        reading.problem(at, "true or false", value)
        return False


class NumberKind:
    """An integer or a number, within inclusive bounds."""

    def __init__(self, made: type[int] | type[float], minimum: int | None, maximum: int | None) -> None:
        self._made = made
        name = "integer" if made is int else "number"
        bounds = {"minimum": minimum, "maximum": maximum}
        self.schema: dict[str, Any] = {"type": name, **{key: bound for key, bound in bounds.items() if bound is not None}}
        self._bounds = (-GREATEST if minimum is None else minimum, GREATEST if maximum is None else maximum)
        signs = ((">=", minimum), ("<=", maximum))
        self.form = " ".join([name, *(f"{sign} {bound}" for sign, bound in signs if bound is not None)])

    def read(self, value: Any, at: str, reading: Reading) -> int | float:
        """The number; its decimal text is taken for it, a boolean never."""
        number = self._number(value)
        least, most = self._bounds
        if number is None or not least <= number <= most:
            more = "" if number is None or abs(number) <= GREATEST else f", and no number is beyond {GREATEST}"
            reading.problem(at, f"{'an' if self._made is int else 'a'} {self.form}{more}", value)
            return self._made(0)
        if not isinstance(value, self._made | int):
            reading.tolerated(at, f"{'an integer' if self._made is int else 'a number'}", value)
        return number

    def _number(self, value: Any) -> int | float | None:
        """The value as a finite number of the wanted type, None when it is none."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        try:
            number = float(value)
            if not math.isfinite(number) or (self._made is int and number != int(number)):
                return None
            return int(value) if self._made is int and not (isinstance(value, str) and "." in value) else self._made(number)
        except (ValueError, OverflowError):
            return None


class ChoiceKind:
    """One of a few words."""

    def __init__(self, choices: Sequence[Any]) -> None:
        self._choices = {str(choice).casefold(): choice for choice in choices}
        self.schema: dict[str, Any] = {"type": "string", "enum": list(choices)}
        self.form = " | ".join(shown(choice) for choice in choices)

    def read(self, value: Any, at: str, reading: Reading) -> Any:
        """The choice; another case or blanks around it are forgiven."""
        choice = self._choices.get(value.strip().casefold()) if isinstance(value, str) else None
        if choice is None:
            reading.problem(at, f"one of {self.form}", value)
        elif choice != value:
            reading.tolerated(at, f"one of {self.form}", value)
        return choice


class ListKind:
    """A list of one kind, within inclusive bounds of its length."""

    def __init__(self, made: type[Any], item: Kind, minimum: int | None, maximum: int | None) -> None:
        self._made = made
        self._item = item
        self._minimum = minimum
        self._maximum = maximum
        bounds = {"minItems": minimum, "maxItems": maximum}
        told = {key: bound for key, bound in bounds.items() if bound is not None}
        self.schema: dict[str, Any] = {"type": "array", "items": item.schema, **told}
        self.form = f"[{item.form}, …]"

    def read(self, value: Any, at: str, reading: Reading) -> Any:
        """The items; a single item is taken for a list of it, a blank string for none."""
        listed = reading.decoded(value, list, at)
        if not isinstance(listed, list | tuple):
            reading.tolerated(at, "a list", value)
            listed = [] if isinstance(value, str) and not value.strip() else [value]
        if len(listed) < (self._minimum or 0) or (self._maximum is not None and len(listed) > self._maximum):
            reading.problems.append(f"{at} must have {self._length()}, got {len(listed)}")
        return self._made([self._item.read(item, f"{at}[{position}]", reading) for position, item in enumerate(listed)])

    def _length(self) -> str:
        """The bounds in words."""
        if self._maximum is None:
            return f"at least {self._minimum} items"
        return f"{self._minimum or 0} to {self._maximum} items"
