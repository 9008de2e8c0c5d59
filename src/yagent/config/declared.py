"""How a field of a section becomes a key of the config file."""

from dataclasses import field, fields
from typing import Any, Final, TypeVar

from yagent.config.values import Kind
from yagent.records import dataclass

Value = TypeVar("Value")

DEFAULT_AT_ZERO: Final = "0 or less: the default"


@dataclass(frozen=True, slots=True)
class Declared:
    """What a field's metadata says about its key."""

    kind: Kind[Any]
    rule: str
    text: str
    consumer: str


@dataclass(frozen=True, slots=True)
class Key:
    """One row of the reference: the dotted `path` (a part in angle brackets stands for any name), and what is declared about it."""

    path: str
    default: object
    declared: Declared


def key(kind: Kind[Value], default: Value, rule: str, text: str, *, consumer: str) -> Value:
    """Declare a dataclass field as a config key."""
    declared = Declared(kind, rule, text, consumer)
    value: Value = field(default=default, metadata={"key": declared})
    return value


def declared_in(section: type[Any]) -> dict[str, Declared]:
    """The keys that a section class declares, by name, in order."""
    return {item.name: item.metadata["key"] for item in fields(section) if "key" in item.metadata}
