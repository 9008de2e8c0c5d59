"""Questions on a terminal: every way to say yes has a key of its own, and the words say what would be stored."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.apps.cli.terminal_asks import interpret, question, valid_answers
from yagent.protocol.asks import Answer, Ask, Offer
from yagent.protocol.ids import AgentIdentity

OFFERS = st.lists(st.builds(Offer, st.sampled_from(["once", "session", "project"]), st.text(max_size=300)), max_size=9).map(tuple)
NARROW, WIDE = Offer("session", "edit(f0.txt)"), Offer("session", "edit(**)")


def approval(*offers: Offer, subject: str = "touch x", reasons: tuple[str, ...] = ()) -> Ask:
    """A question about a call."""
    return Ask("a1", "approval", AgentIdentity("coding"), "Allow it?", subject, reasons, offers=offers)


@given(OFFERS)
def test_every_key_that_is_shown_means_the_offer_beside_it_and_no_other(offers: tuple[Offer, ...]) -> None:
    ask = approval(*offers)
    keys = re.findall(r"^\[(\S+)\] yes", question(ask), flags=re.MULTILINE)
    assert len(set(keys)) == len(keys) == len(offers)
    for key, offer in zip(keys, offers, strict=True):
        answer = interpret(ask, key)
        assert answer is not None
        assert answer.offer == offer


@given(OFFERS, st.text(max_size=3))
def test_no_other_key_allows_anything(offers: tuple[Offer, ...], key: str) -> None:
    ask = approval(*offers)
    answer = interpret(ask, key.strip())
    if answer is not None and answer.granted:
        assert answer.offer is not None
        word = key.strip().rstrip(",.:;!").partition(" ")[0].rstrip(",.:;!").lower()
        assert (word in ("y", "yes") and answer.offer.scope == "once") or offers[int(word) - 1] == answer.offer


def test_the_narrow_and_the_wide_offer_of_an_edit_are_told_apart() -> None:
    ask = approval(Offer("once"), NARROW, Offer("project", NARROW.rule), WIDE)
    chosen = [interpret(ask, key) for key in ("y", "1", "2", "3", "4", "5", "s", "0")]
    assert [answer and answer.offer for answer in chosen] == [*ask.offers[:1], *ask.offers, None, None, None]


def test_after_a_wrong_answer_the_right_ones_are_named() -> None:
    assert valid_answers(approval(Offer("once"), NARROW)) == "Type 1, 2 or n"
    assert valid_answers(Ask("a", "select", AgentIdentity("director"), "Which?", options=("a", "b"))) == "Type a number from 1 to 2"


def test_a_long_command_is_shown_once_and_the_choices_come_last() -> None:
    command = "\n".join(f"echo {number}" for number in range(100))
    shown = question(approval(Offer("once"), Offer("session", f"shell({command})"), subject=command, reasons=(f"{command} is unknown",)))
    assert shown.count("echo 57") == 1
    assert "- this is unknown" in shown
    assert [line[:3] for line in shown.splitlines()[-2:]] == ["[1]", "[2]"]
    assert all(len(line) < 300 for line in shown.splitlines())
    assert shown.endswith("echo 99)\n"), "the end of a rule says how far it reaches"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("y", Answer(granted=True)),
        ("Yes.", Answer(granted=True)),
        ("yes, but only here", Answer(granted=True, text="but only here")),
        ("no because it is late", Answer(granted=False, text="it is late")),
        ("perhaps", None),
    ],
)
def test_what_is_said_beside_yes_or_no_is_all_that_is_added(line: str, answer: Answer | None) -> None:
    assert interpret(Ask("1", "confirm", AgentIdentity("coding"), "Go on?"), line) == answer
