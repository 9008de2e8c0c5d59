"""Parameters: dataclass → JSON Schema, and what models really send → instance."""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tools.scopes import shipped_registry
from yagent.tools.parameters import Describe, ParameterError, form_of, parse, schema_of


@dataclass(frozen=True, slots=True)
class Item:
    """A nested object."""

    title: Annotated[str, Describe("Its title.")]
    done: Annotated[bool, Describe("Finished?")] = False


@dataclass(frozen=True, slots=True)
class Everything:
    """One field of each kind."""

    note: Annotated[str, Describe("A note.")]
    items: Annotated[tuple[Item, ...], Describe("Items.", minimum=1, maximum=3)]
    depth: Annotated[int, Describe("How deep.", minimum=1, maximum=9)] = 2
    share: Annotated[float, Describe("A share.")] = 0.5
    level: Annotated[Literal["low", "high"], Describe("A level.")] = "low"
    limit: Annotated[int | None, Describe("A limit.")] = None
    tags: Annotated[list[str] | None, Describe("Tags.")] = None
    force: Annotated[bool, Describe("Force.")] = False


VALID: dict[str, Any] = {"note": "n", "items": [{"title": "x"}]}


def test_schema_is_compact_and_complete() -> None:
    assert schema_of(Everything) == {
        "type": "object",
        "properties": {
            "note": {"type": "string", "description": "A note."},
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string", "description": "Its title."},
                        "done": {"type": "boolean", "description": "Finished?"},
                    },
                    "required": ["title"],
                },
                "minItems": 1,
                "maxItems": 3,
                "description": "Items.",
            },
            "depth": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How deep.", "default": 2},
            "share": {"type": "number", "description": "A share.", "default": 0.5},
            "level": {"type": "string", "enum": ["low", "high"], "description": "A level.", "default": "low"},
            "limit": {"type": "integer", "description": "A limit."},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "Tags."},
            "force": {"type": "boolean", "description": "Force."},
        },
        "required": ["note", "items"],
    }


def test_what_fits_is_taken_without_notes() -> None:
    parsed = parse(Everything, {**VALID, "depth": 9, "share": 1, "level": "high", "limit": 3, "tags": ["a"], "force": True})
    assert parsed.value == Everything("n", (Item("x"),), 9, 1.0, "high", 3, ["a"], force=True)
    assert parsed.notes == ()


def test_null_means_not_given() -> None:
    assert parse(Everything, {**VALID, "depth": None, "tags": None, "force": None}).value == Everything("n", (Item("x"),))


@pytest.mark.parametrize("text", ["[1,2]", "{not json", '{"title": "x"}', "true", "3", "", "null"])
def test_a_wanted_string_is_never_decoded(text: str) -> None:
    parsed = parse(Everything, {**VALID, "note": text})
    assert parsed.value.note == text
    assert parsed.notes == ()


@pytest.mark.parametrize(
    ("name", "sent", "taken"),
    [
        ("items", '[{"title":"x"}]', (Item("x"),)),
        ("items", ['{"title":"x"}'], (Item("x"),)),
        ("items", {"title": "x"}, (Item("x"),)),
        ("tags", '["a","b"]', ["a", "b"]),
        ("tags", "note:7", ["note:7"]),
        ("tags", "  ", []),
        ("depth", "3", 3),
        ("depth", 3.0, 3),
        ("limit", "12", 12),
        ("share", "0.25", 0.25),
        ("force", "True", True),
        ("force", " false ", False),
        ("level", "HIGH", "high"),
        ("note", 12, "12"),
        ("note", True, "true"),
    ],
)
def test_what_the_schema_makes_certain_is_accepted_and_noted(name: str, sent: Any, taken: Any) -> None:
    parsed = parse(Everything, {**VALID, name: sent})
    assert getattr(parsed.value, name) == taken
    assert len(parsed.notes) == 1
    assert name in parsed.notes[0]


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("depth", True),
        ("depth", 0),
        ("depth", 10),
        ("depth", 2.5),
        ("depth", "two"),
        ("depth", float("nan")),
        ("depth", [3]),
        ("share", float("inf")),
        ("share", True),
        ("force", 1),
        ("force", "yes"),
        ("level", "middle"),
        ("level", 1),
        ("note", ["n"]),
        ("note", {"a": 1}),
        ("items", []),
        ("items", 7),
        ("items", [{"title": "x"}] * 4),
        ("items", [None]),
        ("tags", [["a"]]),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name_with_the_form_to_send(name: str, sent: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        parse(Everything, {**VALID, name: sent})
    assert any(name in problem for problem in caught.value.problems)
    assert form_of(Everything) in str(caught.value)


def test_all_problems_are_told_at_once_with_their_places() -> None:
    with pytest.raises(ParameterError) as caught:
        parse(Everything, {"items": [{"title": "x"}, {"titel": "y"}], "depth": "x"})
    told = str(caught.value)
    assert '"note" is missing (string)' in told
    assert '"items"[1].title is missing (string, not "titel")' in told
    assert '"depth" must be an integer >= 1 <= 9, got "x"' in told


def test_an_unknown_property_is_named_with_its_nearest_match() -> None:
    parsed = parse(Everything, {**VALID, "dept": 3, "zzz": 1})
    assert parsed.value.depth == 2
    assert parsed.notes == ('"dept" is no parameter and was ignored (did you mean "depth"?)', '"zzz" is no parameter and was ignored')


def test_a_type_without_json_form_is_a_mistake_of_the_tool() -> None:
    @dataclass(frozen=True)
    class Wrong:
        when: Annotated[complex, Describe("?")]

    with pytest.raises(TypeError, match="complex"):
        schema_of(Wrong)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arguments=st.dictionaries(st.sampled_from([*Everything.__dataclass_fields__, "other"]), JSON, max_size=8))
def test_anything_is_either_an_instance_or_a_parameter_error(arguments: dict[str, Any]) -> None:
    with suppress(ParameterError):
        value = parse(Everything, arguments).value
        assert isinstance(value.note, str)
        assert type(value.depth) is int
        assert 1 <= value.depth <= 9
        assert all(isinstance(item, Item) for item in value.items)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(note=st.text(), titles=st.lists(st.text(), min_size=1, max_size=3), depth=st.integers(1, 9))
def test_valid_arguments_survive_encoding_and_double_encoding(note: str, titles: list[str], depth: int) -> None:
    items = [{"title": title} for title in titles]
    plain = parse(Everything, {"note": note, "items": items, "depth": depth}).value
    doubled = parse(Everything, {"note": note, "items": json.dumps(items), "depth": str(depth)}).value
    assert plain == doubled == Everything(note, tuple(Item(title) for title in titles), depth)


@pytest.mark.parametrize(
    ("name", "sent", "told"),
    [
        ("run_bash", {"cmd": "ls"}, '"command" is missing (string, not "cmd").'),
        ("search_by_regex", {"regex": "x", "path": "."}, '"pattern" is missing (string; you sent "regex").'),
        ("search_replace_in_file", {"path": "a", "old_string": "x", "new_string": "y"}, '; you sent "old_string", "new_string").'),
        ("search_replace_in_file", {"path": "a", "edits": [{"old": "x", "replace": "y"}]}, '.search is missing (string; you sent "old").'),
        ("create_file", {"path": "a", **{f"z{number}": "x" for number in range(9)}}, '"z4").'),
        ("create_file", {"path": "a"}, '"content" is missing (string).'),
    ],
)
def test_what_was_sent_instead_of_what_is_missing_is_said(name: str, sent: dict[str, Any], told: str) -> None:
    spec = next(spec for spec in shipped_registry().specs if spec.name == name)
    with pytest.raises(ParameterError) as error:
        parse(spec.parameters, sent)
    assert told in f"{'; '.join(error.value.problems)}."


def test_every_tool_says_what_was_sent_instead() -> None:
    for spec in shipped_registry().specs:
        with suppress(ParameterError):
            parse(spec.parameters, {})
            continue  # nothing of it can be missing
        with pytest.raises(ParameterError, match='you sent "zzzzzz"'):
            parse(spec.parameters, {"zzzzzz": "x"})


def test_a_bare_text_stands_for_the_object_whose_one_needed_field_is_a_text() -> None:
    parsed = parse(Everything, {**VALID, "items": ["buy milk"]})
    assert [item.title for item in parsed.value.items] == ["buy milk"]
    assert any("title" in note for note in parsed.notes)
