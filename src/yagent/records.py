"""`dataclass` of the standard library with the same meaning, at a fraction of what defining one costs.

The standard decorator describes the fields and compiles up to six methods of every class while it is defined, most of a millisecond each;
with two hundred records that was a third of the time from process start to the first request. Here all records share their methods, the
fields of a class are described when somebody asks for them, and its initialiser is compiled when it has some dozens of instances. Fields,
defaults, `replace`, `asdict`, matching, hashing and errors are those of `dataclasses`; type checkers see the original. Classes without
slots are left to the original.
"""

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, get_origin

__all__ = ["dataclass"]

FILLED = 24  # instances of a class before its initialiser is compiled

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, kw_only: bool = False) -> Callable[[type], type]:
        """See `dataclasses.dataclass`."""
        if not slots:
            return dataclasses.dataclass(frozen=frozen, slots=slots, kw_only=kw_only)
        return lambda cls: _record(cls, frozen=frozen, kw_only=kw_only)


def _record(cls: type[Any], *, frozen: bool, kw_only: bool) -> type[Any]:
    namespace = dict(cls.__dict__)
    annotations = namespace.get("__annotations__")
    if annotations is None:
        annotations = inspect.get_annotations(cls)
    names = [name for name, kind in annotations.items() if _is_field(kind)]
    defaults = {name: namespace.pop(name) for name in names if name in namespace}
    if "self" in annotations or any(
        isinstance(each, dataclasses.Field) and each.kw_only is not dataclasses.MISSING for each in defaults.values()
    ):
        raise TypeError(f"{cls.__qualname__}: records know no field called self, and none that is kw_only by itself")
    if any(base.__dict__.get("_is_frozen", frozen) != frozen for base in cls.__mro__):
        raise TypeError(f"{cls.__qualname__}: a frozen record and one that is not cannot inherit from each other")
    inherited = {name for base in cls.__mro__[1:] for name in base.__dict__.get("__slots__", ())}
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    shared = _FROZEN if frozen else _MUTABLE
    namespace |= {name: method for name, method in shared.items() if namespace.get(name) is None}
    namespace["__doc__"] = cls.__doc__ or cls.__name__
    namespace["__slots__"] = tuple(name for name in names if name not in inherited)
    namespace["_own_fields"] = tuple((name, defaults.get(name, dataclasses.MISSING), kw_only) for name in names)
    make: Any = type(cls)
    record: Any = make(cls.__name__, cls.__bases__, namespace)
    record.__qualname__ = cls.__qualname__
    if namespace.get("__init__") is None:
        record.__init__ = _initialiser_on_demand(record)
    decorated: type[Any] = record
    return decorated


def _is_field(kind: Any) -> bool:
    """Whether an annotation is that of a field. Raises TypeError for one that only the original would handle."""
    if isinstance(kind, str):
        name = kind.partition("[")[0].rpartition(".")[2]
        is_class_variable, is_for_init = name == "ClassVar", name == "InitVar"
    elif isinstance(kind, type):
        return True
    else:
        is_class_variable, is_for_init = kind is ClassVar or get_origin(kind) is ClassVar, isinstance(kind, dataclasses.InitVar)
    if is_for_init:
        raise TypeError("records do not know InitVar")
    return not is_class_variable


class _OnDemand:
    """Stands in record classes for a part of their description, until one is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        record = next(base for base in owner.__mro__ if base.__dict__.get(self._name) is self)
        return _describe(record)[self._name]


def _describe(record: type[Any]) -> Mapping[str, Any]:
    """Let the original describe the fields, on a class that has nothing else, and give the record what it says."""
    annotations = dict(inspect.get_annotations(record))
    defaults = {name: default for name, default, _ in record._own_fields if default is not dataclasses.MISSING}
    kw_only = any(by_name for _, _, by_name in record._own_fields)
    namespace = {"__module__": record.__module__, "__doc__": record.__doc__, "__annotations__": annotations, **defaults}
    bare: Any = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(type(record.__name__, (), namespace))
    fields: dict[str, Any] = {}
    for base in reversed(record.__mro__[1:]):
        fields |= getattr(base, "__dataclass_fields__", {})
    fields |= bare.__dataclass_fields__
    type.__setattr__(record, "__dataclass_fields__", fields)
    shown = dataclasses.fields(record)
    compared = tuple(field.name for field in shown if field.compare)
    described = {
        "__dataclass_fields__": fields,
        "__dataclass_params__": bare.__dataclass_params__,
        "__match_args__": tuple(field.name for field in shown if field.init and not field.kw_only),
        "_compared": attrgetter(*compared) if compared else type,
    }
    for name, value in described.items():
        type.__setattr__(record, name, value)
    return described


def _initialiser_on_demand(record: type[Any]) -> Callable[..., None]:
    """Fills the first instances in step by step, and what does not fit with the right error; most classes have no more."""
    left = FILLED
    known: Mapping[str, tuple[Any, bool]] | None = None

    def first(self: Any, *arguments: Any, **named: Any) -> None:
        nonlocal left, known
        left -= 1
        if known is None:
            known = _all_fields(record)
        if left < 0 or known is None or not _fill(self, known, arguments, named):
            initialise = _initialiser(record)
            type.__setattr__(record, "__init__", initialise)
            initialise(self, *arguments, **named)

    return first


def _all_fields(record: type[Any]) -> Mapping[str, tuple[Any, bool]] | None:
    """The default of each field, inherited ones first, and whether it is only given by name; None where a base is no record, or a field is
    never given."""
    found: dict[str, tuple[Any, bool]] = {}
    for base in reversed(record.__mro__):
        if "_own_fields" in base.__dict__:
            found |= {name: (default, kw_only) for name, default, kw_only in base.__dict__["_own_fields"]}
        elif "__dataclass_fields__" in base.__dict__:
            return None
    if any(isinstance(default, dataclasses.Field) and not default.init for default, _ in found.values()):
        return None
    return found


def _fill(self: Any, known: Mapping[str, tuple[Any, bool]], arguments: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Initialise an instance in the plain case; False when its arguments do not fit, then anything may be set."""
    places = [name for name, (_, kw_only) in known.items() if not kw_only] if arguments else []
    given = dict(zip(places, arguments, strict=False))
    if len(given) < len(arguments) or any(name in given or name not in known for name in named):
        return False
    given |= named
    for name, (default, _) in known.items():
        value = given[name] if name in given else _default(default)
        if value is dataclasses.MISSING:
            return False
        object.__setattr__(self, name, value)
    if hasattr(self, "__post_init__"):
        self.__post_init__()
    return True


def _default(declared: Any) -> Any:
    """What a field without an argument gets."""
    if not isinstance(declared, dataclasses.Field):
        return declared
    return declared.default if declared.default_factory is dataclasses.MISSING else declared.default_factory()


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
        if field.init:
            (by_name if field.kw_only else positional).append(name + default)
        elif default:
            value = f"make_{name}()" if f"make_{name}" in known else f"default_{name}"
        else:
            continue
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


_DESCRIPTION = {name: _OnDemand(name) for name in ("__dataclass_fields__", "__dataclass_params__", "__match_args__", "_compared")}
_MUTABLE: dict[str, Any] = {**_DESCRIPTION, "_is_frozen": False, "__repr__": _repr, "__eq__": _eq, "__hash__": None}
_FROZEN: dict[str, Any] = {
    **_MUTABLE,
    "_is_frozen": True,
    "__hash__": _hash,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _get_state,
    "__setstate__": _set_state,
}
