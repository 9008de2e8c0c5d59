"""A conversation rebuilt from its thoughts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.thoughts.grammar import Thought
from yagent.thoughts.log import ThoughtLog
from yagent.thoughts.rebuild import kept_words, rebuild_prompt, states_rule


def words(text: str) -> int:
    return len(text.split())


def log_of(*entries: str) -> ThoughtLog:
    """Entries that begin with `<thought>` are thoughts."""
    log = ThoughtLog()
    for text in entries:
        if text.startswith("<thought>"):
            log.thought(Thought(goal=text), text)
        else:
            log.user(text)
    return log


LOG = log_of("do A", "<thought> one", "<thought> two", "never touch generated/", "<thought> three")


def test_the_words_of_the_user_and_the_thoughts_come_in_their_order() -> None:
    expected = "[user] do A\n\n<thought> one\n\n<thought> two\n\n[user] never touch generated/\n\n<thought> three"
    assert rebuild_prompt(LOG, keep=0, budget=1000, count=words) == expected


@pytest.mark.parametrize(
    ("keep", "kept"), [(0, ["one", "two", "three"]), (1, ["three"]), (2, ["two", "three"]), (9, ["one", "two", "three"])]
)
def test_as_many_thoughts_as_asked_for_are_kept(keep: int, kept: list[str]) -> None:
    rebuilt = rebuild_prompt(LOG, keep=keep, budget=1000, count=words)
    assert [name for name in ("one", "two", "three") if name in rebuilt] == kept


def test_in_a_small_budget_thoughts_give_way_before_words_and_old_ones_before_new_ones() -> None:
    rebuilt = rebuild_prompt(LOG, keep=0, budget=23, count=words)
    assert rebuilt == "[user] do A\n\n[user] never touch generated/\n\n<thought> three"
    assert rebuild_prompt(LOG, keep=0, budget=9, count=words) == "[user] never touch generated/"
    assert rebuild_prompt(LOG, keep=0, budget=0, count=words) == ""


def test_rules_survive_before_other_words_and_new_ones_before_old_ones() -> None:
    said = ["old chat " * 5, "always answer in Chinese", "new chat " * 5, "不要修改 generated/"]
    assert [number for number, _ in kept_words(said, 20, words).words] == [1, 3]
    assert [number for number, _ in kept_words(said, 35, words).words] == [1, 2, 3]
    assert kept_words(said, 8, words).words == ((3, "不要修改 generated/"),)
    assert kept_words(said, 8, words).left_out == 3


def test_of_a_text_that_is_too_long_the_rules_stay() -> None:
    said = ["\n".join(["see the log", "x " * 500, "Never restart the server.", "y " * 500])]
    assert kept_words(said, 20, words).words == ((0, "Never restart the server."),)


@pytest.mark.parametrize(
    "text",
    [
        "Never touch generated/",
        "answer in Chinese",
        "请用中文回答",
        "do not write code yet",
        "禁止使用全局变量",
        "use tabs instead of spaces",
    ],
)
def test_a_rule_is_recognised(text: str) -> None:
    assert states_rule(text)


def test_plain_words_are_no_rule() -> None:
    assert not states_rule("thanks, that looks good")
    assert not states_rule("why does the build fail?")


@given(st.lists(st.text(alphabet="ab \n不要never", max_size=30), max_size=8), st.integers(0, 60))
def test_what_is_kept_fits_and_is_in_order(said: list[str], budget: int) -> None:
    kept = kept_words(said, budget, words)
    numbers = [number for number, _ in kept.words]
    assert numbers == sorted(set(numbers))
    assert len(numbers) + kept.left_out == len(said)
    assert sum(words(text) for _, text in kept.words) <= budget
    assert all(set(text.splitlines()) <= set(said[number].splitlines()) for number, text in kept.words)
