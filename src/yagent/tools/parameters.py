"""Typed parameters of a tool: a frozen dataclass gives the JSON Schema, and turns what a model sent into an instance.

    @dataclass(frozen=True, slots=True)
    class ReadFile:
        path: Annotated[str, Describe("File to read.")]
        start_line: Annotated[int, Describe("First line.", minimum=1)] = 1

Models do not always send the type they were shown. What the schema makes certain is accepted and noted: JSON text where a list or an object
is wanted, "3" for an integer, "true" for a boolean, one item for a list of it, null for "not given". A string that is wanted as a string
is never touched. Everything else is a `ParameterError` that says what to send.
"""

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from yagent.errors import YagentError
from yagent.protocol.messages import JsonObject
from yagent.records import dataclass
from yagent.tools.values import BooleanKind, ChoiceKind, Kind, ListKind, NumberKind, Reading, TextKind, shown

P = TypeVar("P")

MOST_SENT = 5
"""As many names of what was sent are told where something else is missing."""


@dataclass(frozen=True, slots=True)
class Describe:
    """What a field is for, and its bounds. `minimum` and `maximum` are inclusive; for lists they bound the number of items. One that is
    `asked_for` is declared as required, and its default is taken all the same where a model leaves it out."""

    text: str = ""
    minimum: int | None = None
    maximum: int | None = None
    asked_for: bool = False


@dataclass(frozen=True, slots=True)
class Rest:
    """Marks the field that takes all properties which the others do not: `Annotated[JsonObject, Rest()]`. It is not in the schema."""


class ParameterError(YagentError):
    """The arguments do not fit the tool's parameters. `problems` has one line each; the message adds the form to send."""

    def __init__(self, problems: Sequence[str], form: str) -> None:
        super().__init__("; ".join(problems) + f". Send: {form}")
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Parsed(Generic[P]):
    """An instance, and what was tolerated or ignored on the way (one line each, for the model)."""

    value: P
    notes: tuple[str, ...] = ()


def schema_of(parameters: type[Any]) -> JsonObject:
    """The JSON Schema of a parameter class: an object schema without titles or other noise. Shared between calls: do not change it."""
    return object_kind(parameters).schema


def form_of(parameters: type[Any]) -> str:
    """The form of the arguments in one line, optional ones marked: `{"path": string, "depth"?: integer >= 1}`."""
    return object_kind(parameters).form


def parse(parameters: type[P], arguments: Mapping[str, Any]) -> Parsed[P]:
    """An instance of the parameter class from decoded arguments. Raises ParameterError with all problems at once."""
    kind = object_kind(parameters)
    reading = Reading()
    value = kind.read(arguments, "", reading)
    if reading.problems:
        raise ParameterError(reading.problems, kind.form)
    return Parsed(value, tuple(reading.notes))


@dataclass(frozen=True, slots=True)
class _Property:
    """One field of an object: how it is read, what it is for, whether it may be left out, and whether a model is told that it may."""

    kind: Kind
    required: bool
    asked_for: bool
    description: str
    default: Any

    @property
    def schema(self) -> dict[str, Any]:
        """The property's schema with its description and a default worth telling."""
        told = not self.asked_for and isinstance(self.default, int | float | str) and self.default not in ("", False)
        return {
            **self.kind.schema,
            **({"description": self.description} if self.description else {}),
            **({"default": self.default} if told else {}),
        }


class ObjectKind:
    """A dataclass as a JSON object. `rest` is the field for what it does not know, "" where that is ignored."""

    def __init__(self, made: type[Any], properties: Mapping[str, _Property], rest: str = "") -> None:
        self._made = made
        self._properties = properties
        self._rest = rest
        required = [name for name, each in properties.items() if each.asked_for]
        self.schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: each.schema for name, each in properties.items()},
            **({"required": required} if required else {}),
        }
        inside = ", ".join(f'"{name}"{"" if each.asked_for else "?"}: {each.kind.form}' for name, each in properties.items())
        self.form = "{" + inside + "}"

    def read(self, value: Any, at: str, reading: Reading) -> Any:
        """An instance, or None after problems were noted in `reading`."""
        value = self._wrapped(reading.decoded(value, dict, at), at, reading)
        if not isinstance(value, Mapping):
            reading.problem(at, "an object", value)
            return None
        before = len(reading.problems)
        value = self._with_lifted(value, at, reading)
        unknown = [name for name in value if name not in self._properties]
        given = {name: value[name] for name in self._properties if value.get(name) is not None}
        read = {name: self._properties[name].kind.read(inner, _inside(at, name), reading) for name, inner in given.items()}
        for name, each in self._properties.items():
            if each.required and name not in given:
                meant = get_close_matches(name, unknown, n=1, cutoff=0.5)
                sent = "" if not unknown else f"; you sent {', '.join(map(shown, unknown[:MOST_SENT]))}"
                hint = f", not {shown(meant[0])}" if meant else sent
                reading.problems.append(f"{_inside(at, name)} is missing ({_brief(each.kind)}{hint})")
        if self._rest:
            read[self._rest] = {name: value[name] for name in unknown}
            unknown = []
        for name in unknown:
            near = get_close_matches(name, self._properties, n=1, cutoff=0.5)
            hint = f" (did you mean {shown(near[0])}?)" if near else ""
            reading.notes.append(f"{_inside(at, name)} is no parameter and was ignored{hint}")
        return self._made(**read) if len(reading.problems) == before else None

    def _with_lifted(self, value: Mapping[str, Any], at: str, reading: Reading) -> Mapping[str, Any]:
        """The object with properties of a nested one, which were sent beside it, put into it where it does not have them."""
        lifted = dict(value)
        for name, kind in ((name, each.kind) for name, each in self._properties.items()):
            if not isinstance(kind, ObjectKind):
                continue
            strays = [stray for stray in lifted if stray not in self._properties and stray in kind._properties]
            if not strays:
                continue
            inner = kind._wrapped(reading.decoded(lifted.get(name) or {}, dict, _inside(at, name)), _inside(at, name), reading)
            if not isinstance(inner, Mapping):
                continue
            moved = {stray: lifted.pop(stray) for stray in strays if inner.get(stray) is None}
            lifted[name] = {**inner, **moved}
            reading.notes += [f"{_inside(at, stray)} belongs into {_inside(at, name)} and was put there" for stray in moved]
        return lifted

    def _wrapped(self, value: Any, at: str, reading: Reading) -> Any:
        """A bare text inside the arguments, where the object needs just one text, stands for the object with that text."""
        needed = [name for name, each in self._properties.items() if each.required]
        if not at or not isinstance(value, str) or len(needed) != 1 or not isinstance(self._properties[needed[0]].kind, TextKind):
            return value
        reading.tolerated(at, f"an object with {shown(needed[0])}", value)
        return {needed[0]: value}


def object_kind(parameters: type[Any]) -> ObjectKind:
    """How a parameter class is shown and read. Raises TypeError for a field type that has no JSON form: a mistake in the tool."""
    kind = _kinds.get(parameters)
    if kind is None:
        hints = get_type_hints(parameters, include_extras=True)
        rest = next((name for name, hint in hints.items() if Rest() in get_args(hint)[1:]), "")
        properties = {each.name: _property(each, hints[each.name]) for each in fields(parameters) if each.name != rest}
        kind = _kinds[parameters] = ObjectKind(parameters, properties, rest)
    return kind


_kinds: dict[type[Any], ObjectKind] = {}  # functools.cache would lose the type of its argument


def _property(declared: "Field[Any]", hint: Any) -> _Property:
    """One dataclass field."""
    described = Describe()
    if get_origin(hint) is Annotated:
        hint, described = get_args(hint)[0], next((each for each in get_args(hint)[1:] if isinstance(each, Describe)), described)
    required = declared.default is MISSING and declared.default_factory is MISSING
    default = None if declared.default is MISSING else declared.default
    return _Property(_kind(hint, described), required, required or described.asked_for, described.text, default)


def _kind(hint: Any, described: Describe) -> Kind:
    """How a value of this type is read."""
    if hint is str:
        return TextKind()
    if hint is bool:
        return BooleanKind()
    if hint in (int, float):
        return NumberKind(hint, described.minimum, described.maximum)
    if isinstance(hint, type) and is_dataclass(hint):
        return object_kind(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ChoiceKind(inner)
    if origin in (list, tuple):
        return ListKind(origin, _kind(*_undescribed(inner[0])), described.minimum, described.maximum)
    if origin in (Union, types.UnionType) and len(inner) == 2 and type(None) in inner:
        return _kind(*_undescribed(next(each for each in inner if each is not type(None)), described))
    raise TypeError(f"no tool parameter can be a {hint!r}: use str, bool, int, float, Literal, list, tuple, a dataclass or X | None")


def _undescribed(hint: Any, outer: Describe | None = None) -> tuple[Any, Describe]:
    """A type and its description, whether or not it is annotated."""
    if get_origin(hint) is Annotated:
        return get_args(hint)[0], next((each for each in get_args(hint)[1:] if isinstance(each, Describe)), outer or Describe())
    return hint, outer or Describe()


def _brief(kind: Kind) -> str:
    """What is wanted in a word: the form of an object stands in the message already."""
    return "an object" if isinstance(kind, ObjectKind) else kind.form


def _inside(at: str, name: str) -> str:
    """The place of a property: `edits[0].search`."""
    return f"{at}.{name}" if at else f'"{name}"'
