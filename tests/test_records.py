"""`yagent.records.dataclass` means what the standard one means."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from yagent.records import FILLED, dataclass

T = TypeVar("T")
Decorator = Callable[[type], Any]


def both(define: Callable[[Decorator], Any], **options: bool) -> tuple[Any, Any]:
    """The class that `define` decorates, once with ours and once with the original."""
    options = {"frozen": True, "slots": True, **options}
    return define(dataclass(**options)), define(dataclasses.dataclass(**options))


def a_point(decorate: Decorator) -> Any:
    @decorate
    class Point:
        """A place."""

        x: int
        y: int = 2
        tags: list[str] = dataclasses.field(default_factory=list)
        note: str = dataclasses.field(default="", compare=False, repr=False)

    return Point


def a_tally(decorate: Decorator) -> Any:
    @decorate
    class Tally:
        """Some of its fields are never given."""

        name: str = ""
        count: int = dataclasses.field(default=3, init=False)
        seen: list[int] = dataclasses.field(default_factory=list, init=False)
        later: int = dataclasses.field(init=False, repr=False, compare=False)

    return Tally


def a_hidden(decorate: Decorator) -> Any:
    @decorate
    class Hidden:
        """Shows nothing."""

        value: str

        def __repr__(self) -> str:
            return "Hidden(…)"

        def __post_init__(self) -> None:
            if not self.value:
                raise ValueError("a value is needed")

    return Hidden


@dataclass(frozen=True, slots=True)
class Place:
    """At module level, so that it can be pickled."""

    name: str
    parts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Box(Generic[T]):
    """Holds one thing."""

    content: T


@dataclass(frozen=True, slots=True, kw_only=True)
class Town(Place):
    """A place with people."""

    people: int


def outcome(work: Callable[[], Any]) -> Any:
    """What the work gives, or the type and text of its error without the class's place."""
    try:
        return work()
    except (TypeError, ValueError, AttributeError) as error:
        return type(error), str(error).replace("both.<locals>.", "")


USES: list[Callable[[Any], Any]] = [
    lambda point: repr(point(1)),
    lambda point: repr(point(1, tags=["a"], note="n")),
    lambda point: point(1) == point(1, 2, [], "other note"),
    lambda point: point(1) == point(3),
    lambda point: point(1) == (1, 2, []),
    lambda point: point(),
    lambda point: point(1, 2, [], "", 5),
    lambda point: point(1, z=3),
    lambda point: point(1, x=3),
    lambda point: point(y=5, x=3).y,
    lambda point: point(tags=["a"]),
    lambda point: hash(point(1)),
    lambda point: hash(point(1, 2, ())) == hash(point(1, 2, (), "other note")),
    lambda point: setattr(point(1), "x", 2),
    lambda point: delattr(point(1), "x"),
    lambda point: hasattr(point(1), "__dict__"),
    lambda point: point(1).tags is point(1).tags,
    lambda point: dataclasses.asdict(point(1)),
    lambda point: dataclasses.astuple(dataclasses.replace(point(1), y=7)),
    lambda point: [(field.name, field.compare, field.repr) for field in dataclasses.fields(point)],
    lambda point: point.__match_args__,
    lambda point: point.__slots__,
    lambda point: point.__doc__,
    lambda point: repr(copy.copy(point(1))),
    lambda point: repr(copy.deepcopy(point(1, tags=["a"]))),
]


@pytest.mark.parametrize("work", USES, ids=range(len(USES)))
@pytest.mark.parametrize("instances", [0, FILLED + 1])
@pytest.mark.parametrize("frozen", [True, False])
def test_a_record_behaves_as_the_original_does(work: Callable[[Any], Any], instances: int, frozen: bool) -> None:
    ours, original = both(a_point, frozen=frozen)
    for _ in range(instances):
        ours(0)
    assert outcome(lambda: work(ours)) == outcome(lambda: work(original))


@pytest.mark.parametrize(
    "work",
    [
        lambda tally: repr(tally("a")),
        lambda tally: tally("a", 4),
        lambda tally: tally(count=4),
        lambda tally: tally().later,
        lambda tally: tally().seen is tally().seen,
        lambda tally: tally("a") == tally("a"),
        lambda tally: tally.__match_args__,
    ],
    ids=range(7),
)
@pytest.mark.parametrize("frozen", [True, False])
def test_fields_that_are_never_given(work: Callable[[Any], Any], frozen: bool) -> None:
    ours, original = both(a_tally, frozen=frozen)
    assert outcome(lambda: work(ours)) == outcome(lambda: work(original))


def test_keyword_only_fields_are_keyword_only() -> None:
    ours, original = both(a_point, kw_only=True)
    assert outcome(lambda: ours(1)) == outcome(lambda: original(1))
    assert repr(ours(x=1)) == repr(original(x=1))


def test_methods_of_the_class_win_and_the_check_after_init_runs() -> None:
    ours, original = both(a_hidden)
    assert repr(ours("secret")) == repr(original("secret")) == "Hidden(…)"
    for hidden in (ours, original):
        with pytest.raises(ValueError, match="a value is needed"):
            hidden("")


def test_after_a_few_instances_the_signature_is_the_real_one() -> None:
    for _ in range(FILLED + 1):
        Place("here")
    assert list(inspect.signature(Place).parameters) == ["name", "parts"]


def test_records_can_be_generic_inherited_pickled_and_matched() -> None:
    assert Box[int](3) == Box(3)
    town = Town("Ulm", (1,), people=5)
    assert pickle.loads(pickle.dumps(town)) == town
    assert town != Place("Ulm", (1,))
    match town:
        case Town(name, people=people):
            assert (name, people) == ("Ulm", 5)


def test_a_record_that_is_not_frozen_changes() -> None:
    @dataclass(slots=True)
    class Counter:
        """Counts."""

        value: int = 0

    counter = Counter()
    counter.value += 1
    assert counter == Counter(1)
    assert not hasattr(counter, "__dict__")


def test_what_has_no_slots_is_left_to_the_original() -> None:
    @dataclass(frozen=True)
    class Free:
        """Has a dictionary."""

        value: int = 0

    assert vars(Free(3)) == {"value": 3}
    assert hash(Free(3)) == hash(Free(3))


def test_defining_a_record_compiles_nothing() -> None:
    code = """
import sys
from yagent import records
compiled = []
sys.addaudithook(lambda event, details: compiled.append(event) if event == "compile" else None)
sample = type("Sample", (), {"__annotations__": {"a": int, "b": str}, "__doc__": "Sample."})
record = records.dataclass(frozen=True, slots=True)(sample)
print(len(compiled), [record(1, "x") for _ in range(records.FILLED + 1)][-1], len(compiled) > 0)
"""
    source = Path(__file__).resolve().parents[1] / "src"
    ended = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, timeout=50, check=True)
    assert ended.stdout == "0 Sample(a=1, b='x') True\n"


def test_class_variables_are_no_fields() -> None:
    def define(decorate: Decorator) -> Any:
        @decorate
        class Named:
            """Has a kind."""

            kind: ClassVar[str] = "k"
            name: str = "n"

        return Named

    ours, original = both(define)
    assert (repr(ours()), ours.kind, ours.__slots__, ours.__match_args__) == (repr(original()), "k", ("name",), ("name",))
    assert [field.name for field in dataclasses.fields(ours)] == ["name"]


def test_records_of_records_keep_the_order_of_fields() -> None:
    assert [field.name for field in dataclasses.fields(Town)] == ["name", "parts", "people"]
    assert dataclasses.is_dataclass(Town)
    assert Town.__match_args__ == ("name", "parts")


def bare(annotations: dict[str, Any], **defaults: Any) -> type:
    """A class with these fields."""
    return type("Odd", (), {"__annotations__": annotations, "__doc__": "Odd.", **defaults})


@pytest.mark.parametrize(
    "odd",
    [
        bare({"a": int, "b": int}, b=dataclasses.field(default=4, kw_only=True)),
        bare({"a": dataclasses.InitVar[int]}),
        bare({"a": "InitVar[int]"}),
        bare({"a": "dataclasses.InitVar[int]"}),
        bare({"self": int}),
    ],
    ids=["kw_only", "InitVar", "as text", "with its module", "self"],
)
def test_what_records_do_not_know_is_refused_where_it_is_defined(odd: type) -> None:
    with pytest.raises(TypeError, match="records"):
        dataclass(frozen=True, slots=True)(odd)


@pytest.mark.parametrize("frozen", [True, False])
def test_frozen_and_other_records_do_not_inherit_from_each_other(frozen: bool) -> None:
    base: type[Any] = dataclass(frozen=frozen, slots=True)(bare({"a": int}))
    below = type("Below", (base,), {"__annotations__": {"b": int}, "__doc__": "Below."})
    with pytest.raises(TypeError, match="cannot inherit"):
        dataclass(frozen=not frozen, slots=True)(below)
