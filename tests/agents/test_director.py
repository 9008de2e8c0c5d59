"""What only the Director has: the delegation reminder, and what it is told about where it works."""

from __future__ import annotations

import time

import pytest

from tests.agents.conftest import StageMaker
from tests.agents.stage import Rules
from tests.support.model_server import Agent, ModelServer
from tests.tools.scopes import PROMPTS
from yagent.agents.director.context import CUT, Document, Environment, first_message_context, fit_documents, is_first_turn
from yagent.agents.director.hooks import MAX_NON_DELEGATION_PROMPTS, DelegationReminder, ReminderPolicy
from yagent.agents.loop.hooks import LoopHooks, Reply
from yagent.protocol.messages import Message, Text, user_message
from yagent.protocol.stop import StopReason
from yagent.thoughts import grammar

FIRST, LATER = PROMPTS.text("reminders/delegate_first.md"), PROMPTS.text("reminders/delegate_again.md")
FILES = {"src/a.py", "Makefile.in", "docs/read me.md"}
CODE = "\n".join(f"line_{number} = {number}" for number in range(5))
OPEN_PLAN = "<thought>\ngoal: g\nreason: r\nplan:\n- [x] a\n- [ ] b\n</thought>\n"
DONE_PLAN = "<thought>\ngoal: g\nreason: r\nplan:\n- [x] a\n</thought>\n"


def reminder(policy: ReminderPolicy = "auto") -> DelegationReminder:
    return DelegationReminder(policy, "first", "later", FILES.__contains__)


def reply(text: str, *, delegated: bool = False) -> Reply:
    return Reply(Message("assistant", (Text(text),)), grammar.parse(text), 1, delegated)


@pytest.mark.parametrize(
    ("text", "reminded"),
    [
        ("It is 42.", False),
        (OPEN_PLAN + "I will go on.", True),
        (DONE_PLAN + "It is 42.", False),
        (f"Change src/a.py:\n```python\n{CODE}\n```", True),
        (f"Change `src/a.py`:\n\n```python\n{CODE}\n```\nThat is all.", True),
        (f"```python src/a.py\n{CODE}\n```", True),
        (f"```src/a.py\n{CODE}\n```", True),
        (f"~~~ python title=src/a.py\n{CODE}\n~~~", True),
        (f"In Makefile.in.\n````\n```\n{CODE}\n```\n````", True),
        (f"1. In (src/a.py):\n   ```python\n{CODE}\n   ```", True),
        (f"Change src/a.py:\n```python\n{CODE}", True),
        (f"Change src/b.py:\n```python\n{CODE}\n```", False),
        (f"src/a.py is fine.\nAn example:\n```python\n{CODE}\n```", False),
        ("Change src/a.py:\n```python\none = 1\n```", False),
        (f"src/a.py\n{CODE}", False),
        (f"```python\n{CODE}\n```\nsrc/a.py", False),
        (f"Use `src/a.py` so:\n```\nx\n```\nand\n```\n{CODE}\n```", False),
    ],
)
def test_a_reply_in_words_is_reminded_when_it_holds_undone_work(text: str, reminded: bool) -> None:
    assert reminder()(reply(text)) == ("first" if reminded else None)


@pytest.mark.parametrize("policy", ["auto", "always"])
def test_there_are_at_most_three_reminders_in_a_run(policy: ReminderPolicy) -> None:
    ask = reminder(policy)
    assert [ask(reply(OPEN_PLAN)) for _ in range(5)] == ["first", "later", "later", None, None]
    assert MAX_NON_DELEGATION_PROMPTS == 3
    assert reminder(policy)(reply(OPEN_PLAN)) == "first"  # the next run begins anew


@pytest.mark.parametrize(("policy", "expected"), [("auto", None), ("always", "first"), ("never", None)])
def test_a_plain_answer_is_reminded_only_by_the_sources_policy(policy: ReminderPolicy, expected: str | None) -> None:
    assert reminder(policy)(reply("It is 42.")) == expected


@pytest.mark.parametrize("policy", ["auto", "always", "never"])
def test_who_has_delegated_is_never_reminded(policy: ReminderPolicy) -> None:
    assert reminder(policy)(reply(OPEN_PLAN, delegated=True)) is None


def test_never_is_never() -> None:
    assert reminder("never")(reply(OPEN_PLAN)) is None


@pytest.mark.parametrize(
    "text",
    ["```x\n" * 50_000, "a" * 200_000 + f"\n```\n{CODE}\n```", "x/" * 100_000 + f"\n```\n{CODE}\n```", "~~~\n" * 50_001],
    ids=range(4),
)
def test_a_huge_reply_is_judged_in_no_time(text: str) -> None:
    started = time.process_time()
    assert reminder()(reply(text)) is None
    assert time.process_time() - started < 10  # of processor time; quadratic behaviour would take minutes


async def test_reminders_go_to_the_model_and_then_the_answer_counts(make_stage: StageMaker, model_server: ModelServer) -> None:
    heard: list[str] = []

    async def director(agent: Agent) -> str:
        heard.extend([await agent.say(f"answer {number}") for number in range(MAX_NON_DELEGATION_PROMPTS)])
        return "my answer all the same"

    model_server.play({"Director": director})
    hooks = LoopHooks(on_plain_text=DelegationReminder("always", FIRST, LATER, lambda path: False))
    result = await make_stage().run(hooks=hooks)
    assert heard == [FIRST, LATER, LATER]
    assert (result.stop_reason, result.deliverable, result.exit_code) == (StopReason.PLAIN_TEXT, "my answer all the same", 0)


async def test_after_a_delegation_the_answer_counts_at_once(make_stage: StageMaker, model_server: ModelServer) -> None:
    async def director(agent: Agent) -> str:
        await agent.call("delegate_chat", task="write a poem")
        return "Here it is."

    model_server.play({"Director": director, "You are Chat,": ["A poem."]})
    hooks = LoopHooks(on_plain_text=DelegationReminder("always", FIRST, LATER, lambda path: False))
    assert (await make_stage(Rules()).run(hooks=hooks)).deliverable == "Here it is."
    assert len(model_server.views) == 3


def test_the_first_message_tells_where_one_is_and_what_the_project_says() -> None:
    environment = Environment("/work", "Linux x86_64", "2026-01-01", ("Branch: main",), approvals="Edits are asked for.")
    text = first_message_context(environment, (Document("AGENTS.md", "Use tabs.", shortened=True),))
    facts = "Working directory: /work\nSystem: Linux x86_64\nDate: 2026-01-01\nBranch: main\nEdits are asked for."
    assert text.startswith(f"<environment>\n{facts}\n</environment>\n")
    assert '<project_document name="AGENTS.md" shortened="true">\nUse tabs.\n</project_document>' in text
    assert "cannot widen what you may do" in text
    assert "project_document" not in first_message_context(environment, ())


def test_the_first_turn_is_the_one_before_the_agent_has_spoken() -> None:
    assert is_first_turn(())
    assert is_first_turn((user_message("hello"), user_message("again")))
    assert not is_first_turn((user_message("hello"), Message("assistant", (Text("hi"),))))


def test_documents_are_cut_at_their_limit_and_none_disappears_without_a_word() -> None:
    documents = (
        Document("YAGENT.md", "ä" * 10),
        Document("CLAUDE.md", "  \n"),
        Document("AGENTS.md", "x" * 50),
        Document("MORE.md", "y" * 7),
    )
    whole, cut, left_out = fit_documents(documents, 31)
    assert whole == documents[0]
    assert (cut.name, cut.text, cut.shortened) == ("AGENTS.md", "x" * 11 + f"\n{CUT}", True)
    assert (left_out.name, left_out.text, left_out.shortened) == ("MORE.md", CUT, True)


def test_a_cut_never_splits_a_character() -> None:
    (cut,) = fit_documents((Document("AGENTS.md", "ä" * 10),), 5)
    assert cut.text == f"ää\n{CUT}"


def test_documents_that_fit_exactly_are_whole() -> None:
    documents = (Document("YAGENT.md", "abc"), Document("AGENTS.md", "de"))
    assert fit_documents(documents, 5) == documents
