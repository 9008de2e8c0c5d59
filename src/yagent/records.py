"""`dataclass` of the standard library with the same meaning, at a fraction of what defining one costs.

The standard decorator compiles six methods for every frozen class while it is defined, most of a millisecond each; with two hundred records
that was a third of the time from process start to the first request. Here all records share their methods, and the initialiser of a class
is compiled when its first instance is made. Fields, defaults, `replace`, `asdict`, matching, hashing and errors are those of `dataclasses`;
type checkers see the original. What is not a frozen class with slots is left to the original.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, kw_only: bool = False) -> Callable[[type], type]:
        """See `dataclasses.dataclass`."""
        if not (frozen and slots):
            return dataclasses.dataclass(frozen=frozen, slots=slots, kw_only=kw_only)
        return lambda cls: _record(cls, kw_only=kw_only)


def _record(cls: type[Any], *, kw_only: bool) -> type[Any]:
    cls.__doc__ = cls.__doc__ or cls.__name__  # else the original composes one from the signature, which costs more than all the rest
    record: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    compared = tuple(field.name for field in dataclasses.fields(record) if field.compare)
    record._compared = attrgetter(*compared) if compared else type
    for name, method in {**_SHARED, "__init__": _initialiser_on_demand(record)}.items():
        if cls.__dict__.get(name) is None:
            setattr(record, name, method)
    decorated: type[Any] = record
    return decorated


def _initialiser_on_demand(record: type[Any]) -> Callable[..., None]:
    def first(self: Any, *arguments: Any, **named: Any) -> None:
        initialise = _initialiser(record)
        type.__setattr__(record, "__init__", initialise)
        initialise(self, *arguments, **named)

    return first


def _initialiser(record: type[Any]) -> Callable[..., None]:
    """Compile `__init__` as the original would write it."""
    known: dict[str, Any] = {"store": object.__setattr__, "ABSENT": dataclasses.MISSING}
    positional: list[str] = []
    by_name: list[str] = []
    body: list[str] = []
    for field in dataclasses.fields(record):
        name = value = field.name
        default = ""
        if field.default_factory is not dataclasses.MISSING:
            known[f"make_{name}"] = field.default_factory
            default, value = "=ABSENT", f"make_{name}() if {name} is ABSENT else {name}"
        elif field.default is not dataclasses.MISSING:
            known[f"default_{name}"] = field.default
            default = f"=default_{name}"
        (by_name if field.kw_only else positional).append(name + default)
        body.append(f"store(self, {name!r}, {value})")
    if hasattr(record, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(["self", *positional, *(["*", *by_name] if by_name else [])])
    exec(f"def __init__({parameters}):\n    " + "\n    ".join(body or ["pass"]), known)
    initialise: Callable[..., None] = known["__init__"]
    initialise.__qualname__ = f"{record.__qualname__}.__init__"
    return initialise


def _repr(self: Any) -> str:
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: Any) -> bool:
    return self._compared(self) == self._compared(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash((self._compared(self),))


def _refuse_to_set(self: Any, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_SHARED: dict[str, Callable[..., Any]] = {
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _get_state,
    "__setstate__": _set_state,
}
