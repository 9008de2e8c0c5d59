"""Properties of a nested object that a model sends beside it."""

import json
from dataclasses import dataclass
from typing import Annotated

import pytest

from tests.tools.scopes import Desk
from yagent.protocol.handoff import Fact, Handoff
from yagent.tools.parameters import Describe, ParameterError, parse
from yagent.tools.spec import Exit


@dataclass(frozen=True, slots=True)
class Inner:
    """Nested."""

    text: Annotated[str, Describe("A text.")]
    size: Annotated[int, Describe("A size.")] = 1


@dataclass(frozen=True, slots=True)
class Outer:
    """Parameters."""

    name: Annotated[str, Describe("A name.")]
    inner: Annotated[Inner, Describe("The nested object.")]


@pytest.mark.parametrize(
    "sent",
    [
        {"name": "a", "text": "t", "size": 3},
        {"name": "a", "inner": {"text": "t"}, "size": 3},
        {"name": "a", "inner": '{"text": "t"}', "size": 3},
        {"name": "a", "inner": "t", "size": 3},
    ],
)
def test_they_are_put_where_they_belong_and_noted(sent: dict[str, object]) -> None:
    parsed = parse(Outer, sent)
    assert parsed.value == Outer("a", Inner("t", 3))
    assert any('"size" belongs into "inner" and was put there' in note for note in parsed.notes)
    assert not any("ignored" in note for note in parsed.notes)


def test_what_the_object_itself_says_wins() -> None:
    parsed = parse(Outer, {"name": "a", "inner": {"text": "t", "size": 2}, "size": 3})
    assert parsed.value == Outer("a", Inner("t", 2))
    assert any('"size" is no parameter and was ignored' in note for note in parsed.notes)


def test_a_refusal_shows_the_form_once() -> None:
    for sent in ({"name": "a"}, {"name": "a", "inner": 3}, {"name": "a", "inner": None}, {}):
        with pytest.raises(ParameterError) as caught:
            parse(Outer, sent)
        assert str(caught.value).count('"text": string') == 1
        assert str(caught.value).count('"inner"') == 2


async def test_an_exit_with_its_handoff_beside_the_reason_is_an_exit(coding: Desk) -> None:
    output = await coding.make("agent_exit", reason="done", conclusion="It is fixed.", status="ok", facts=[{"claim": "c", "where": "w"}])
    assert output.exit == Exit("done", Handoff("It is fixed.", (Fact("c", "w"),), (), "ok"))
    echo, _, notes = output.text.partition("\n")
    assert json.loads(echo)["handoff"]["conclusion"] == "It is fixed."
    assert '"conclusion" belongs into "handoff"' in notes


async def test_a_refused_exit_shows_its_form_once(coding: Desk) -> None:
    output = await coding.make("agent_exit", reason="done")
    assert output.is_error
    assert output.text.count('"conclusion": string') == 1
