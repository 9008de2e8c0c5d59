"""Ending, asking, thinking, delegating."""

import json
from dataclasses import fields
from typing import Any

import pytest

from tests.tools.scopes import NO, NOBODY, YES, Desk, call
from yagent.protocol.asks import Answer
from yagent.protocol.handoff import Fact, Handoff
from yagent.tools.builtin.flow import AgentExit, FactParameter, HandoffParameter
from yagent.tools.parameters import schema_of
from yagent.tools.spec import DelegationRequest, Exit

HANDOFF = {
    "conclusion": "It is fixed.",
    "facts": [{"claim": "the test passes", "where": "run_bash: pytest -q"}, {"claim": "one line changed"}],
    "open_questions": ["the other branch?"],
    "status": "partial",
}


async def test_an_exit_carries_the_whole_handoff(coding: Desk) -> None:
    output = await coding.make("agent_exit", reason="done", handoff=HANDOFF)
    facts = (Fact("the test passes", "run_bash: pytest -q"), Fact("one line changed"))
    assert output.exit == Exit("done", Handoff("It is fixed.", facts, ("the other branch?",), "partial"))


async def test_every_property_of_agent_exit_is_in_its_echo(coding: Desk) -> None:
    echo = json.loads((await coding.make("agent_exit", reason="done", handoff=HANDOFF)).text)
    assert echo["finished"] is True
    assert set(echo) == {"finished", *names(AgentExit)}
    assert set(echo["handoff"]) == names(HandoffParameter) == names(Handoff)
    assert set(echo["handoff"]["facts"][0]) == names(FactParameter) == names(Fact)
    assert echo["handoff"] == {**HANDOFF, "facts": [HANDOFF["facts"][0], {"claim": "one line changed", "where": ""}]}


def names(made: type[Any]) -> set[str]:
    return {each.name for each in fields(made)} - {"others"}


async def test_what_is_handed_over_under_other_names_is_not_lost(coding: Desk) -> None:
    fact = {"claim": "one line changed", "where": "a.py:3", "confidence": "high"}
    handoff = {**HANDOFF, "facts": [fact], "files_changed": ["a.py"], "next_steps": "Release it.", "risks": []}
    output = await coding.make("agent_exit", reason="done", handoff=handoff, notes="Python 3.11 only")
    assert output.exit is not None
    assert output.exit.handoff == Handoff(
        'It is fixed.\n\nfiles_changed: ["a.py"]\n\nnext_steps: Release it.\n\nnotes: Python 3.11 only',
        (Fact("one line changed; confidence: high", "a.py:3"),),
        ("the other branch?",),
        "partial",
    )
    assert json.loads(output.text) == {"finished": True, "reason": "done", "notes": "Python 3.11 only", "handoff": handoff}
    assert "ignored" not in output.text


@pytest.mark.parametrize("status", ["degraded", "paused", ""])
async def test_other_statuses_are_refused(coding: Desk, status: str | None) -> None:
    output = await coding.make("agent_exit", reason="done", handoff={**HANDOFF, "status": status})
    assert output.is_error
    assert output.exit is None
    assert '"partial"' in output.text


@pytest.mark.parametrize(
    ("arguments", "answer", "said"),
    [
        ({"kind": "confirm"}, YES, "The user answered: yes."),
        ({"kind": "confirm"}, Answer(granted=False, text="not today"), "The user answered: no. They added: not today"),
        ({"kind": "select", "options": ["a", "b"]}, Answer(granted=True, text="b"), "The user answered: b"),
        ({"kind": "input"}, Answer(granted=True, text="42"), "The user answered: 42"),
        ({"kind": "input"}, NO, "The user closed the question without an answer. Go on with the safest assumption"),
        ({"kind": "input"}, NOBODY, "nobody can answer in this run"),
    ],
)
async def test_questions_reach_the_user_and_answers_come_back(
    coding: Desk, arguments: dict[str, object], answer: Answer, said: str
) -> None:
    coding.person.answers = [answer]
    output = await coding.make("ask_user_for_help", prompt="Which?", **arguments)
    assert said in output.text
    assert output.is_error == (answer is NOBODY)
    (ask,) = coding.person.asked
    assert (ask.kind, ask.prompt, list(ask.options)) == (arguments["kind"], "Which?", arguments.get("options", []))


@pytest.mark.parametrize("arguments", [{"kind": "select", "prompt": "Which?", "options": ["one"]}, {"kind": "input", "prompt": " "}])
async def test_a_question_that_cannot_be_answered_asks_nobody(coding: Desk, arguments: dict[str, object]) -> None:
    assert (await coding.make("ask_user_for_help", **arguments)).is_error
    assert coding.person.asked == []


@pytest.mark.parametrize(
    ("tool", "arguments", "steps"),
    [
        ("thinking", {"thought": "Q"}, 1),
        ("micro_agent", {"task": "Q", "context": "C"}, 1),
        ("design", {"requirement": "Q", "context": "C"}, 1),
        ("deepthinking", {"question": "Q", "context": "C"}, 3),
    ],
)
async def test_cognition_asks_its_own_model_with_its_own_prompts(coding: Desk, tool: str, arguments: dict[str, str], steps: int) -> None:
    coding.surface.load(coding.surface.cold_names)
    coding.played.replies = [f"reply {step}" for step in range(1, steps + 1)]
    assert (await coding.make(tool, **arguments)).text == f"reply {steps}"
    assert [slot for slot, _, _ in coding.played.consulted] == [tool] * steps
    assert len({system for _, system, _ in coding.played.consulted}) == steps
    for position, (_, system, question) in enumerate(coding.played.consulted):
        assert system
        assert question.startswith("Q")
        assert ("C" in question) == ("context" in arguments)
        assert "# deepthinking" not in question
        assert all(f"reply {earlier}" in question for earlier in range(1, position + 1))


async def test_a_delegation_is_asked_for_with_task_and_distinct_references(coding: Desk) -> None:
    director = Desk(coding.workspace, coding.clock, role="director")
    references = ["agent:repo", " agent:repo ", "", *(f"note:{number}" for number in range(10))]
    output = await director.make("delegate_chat", task="Write.", context_refs=references)
    kept = ("agent:repo", *(f"note:{number}" for number in range(9)))
    assert director.played.delegated == [DelegationRequest("chat", "Write.", kept)]
    assert output.text == "chat is done\n[note: at most 10 context_refs are given; left out: note:9]"


async def test_an_empty_task_starts_nobody(coding: Desk) -> None:
    director = Desk(coding.workspace, coding.clock, role="director")
    assert (await director.invoker.invoke(call("delegate_repo", task="  "), director.scope)).is_error
    assert director.played.delegated == []


async def test_a_status_is_asked_for_and_its_absence_is_no_reason_to_lose_the_hand_over(coding: Desk) -> None:
    declared = schema_of(AgentExit)["properties"]["handoff"]
    assert declared["required"] == ["conclusion", "status"]
    assert "default" not in declared["properties"]["status"]
    for handoff in ({"conclusion": "Done."}, "Done."):
        output = await coding.make("agent_exit", handoff=handoff)
        assert output.exit is not None
        assert output.exit.handoff == Handoff("Done.", status="partial")
