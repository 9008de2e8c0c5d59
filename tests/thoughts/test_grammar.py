"""What models write as a thought, and what is understood of it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.thoughts.grammar import PlanItem, Thought, parse, strip

FULL = """<thought>
goal: make total() round half up
step: find where totals are computed
reason: the failing test names total()
plan:
- [x] read the test
- [>] find the rounding
- [ ] change it
</thought>"""
THOUGHT = Thought(
    "make total() round half up",
    "find where totals are computed",
    "the failing test names total()",
    (PlanItem("read the test", "done"), PlanItem("find the rounding", "current"), PlanItem("change it", "pending")),
)


def thought(inner: str) -> Thought:
    found = parse(f"<thought>{inner}</thought>")
    assert found is not None
    return found


def test_the_form_of_the_prompts_is_read_whole() -> None:
    assert parse(FULL) == THOUGHT
    assert parse(f"Let me look.\n\n{FULL}\n\nNow.") == THOUGHT
    assert THOUGHT.problems() == ()
    assert [item.text for item in THOUGHT.open_items] == ["find the rounding", "change it"]


@pytest.mark.parametrize(
    "inner",
    [
        "\ngoal: a\nstep: b\nreason: c\n",
        "goal: a\nstep: b\nreason: c",
        "\nCurrent Goal: a\nSTEP: b\nreasoning: c\n",
        "\n  goal:a\n  step:b\n  reason:c\n",
        "\n- goal: a\n- step: b\n- reason: c\n",
        "\n**goal**: a\n**step:** b\n**Reason** : c\n",
        "\n* goal: a\n* step: b\n* reason: c\n",
        "\ngoal：a\nstep：b\nreason：c\n",
        "\r\ngoal: a\r\nstep: b\r\nreason: c\r\n",
        "\ngoal:\n  a\nstep:\n  b\nreason:\n  c\n",
    ],
)
def test_keys_are_read_in_every_form_models_use(inner: str) -> None:
    assert thought(inner) == Thought("a", "b", "c")


def test_values_may_be_in_any_language_and_run_over_lines() -> None:
    found = thought("\ngoal: 修复 total() 的舍入：四舍五入\nreason: 失败的测试\n  提到了 total()\nplan:\n- [>] 查找\n- [ ] 修改\n")
    assert found == Thought(
        "修复 total() 的舍入：四舍五入", "", "失败的测试 提到了 total()", (PlanItem("查找", "current"), PlanItem("修改", "pending"))
    )


@pytest.mark.parametrize(
    ("line", "item"),
    [
        ("- [x] a", PlanItem("a", "done")),
        ("- [X] a", PlanItem("a", "done")),
        ("- [✓] a", PlanItem("a", "done")),
        ("* [x] a", PlanItem("a", "done")),
        ("[x] a", PlanItem("a", "done")),
        ("1. [x] a", PlanItem("a", "done")),
        ("2) [>] a", PlanItem("a", "current")),
        ("- [>] a", PlanItem("a", "current")),
        ("- [~] a", PlanItem("a", "current")),
        ("- [ ] a", PlanItem("a", "pending")),
        ("- [] a", PlanItem("a", "pending")),
        ("- [-] a", PlanItem("a", "pending")),
        ("- [ ]a", PlanItem("a", "pending")),
        ("- a", PlanItem("a", "pending")),
        ("1. a", PlanItem("a", "pending")),
        ("  - [x]   a  ", PlanItem("a", "done")),
        ("- [x] goal: a", PlanItem("goal: a", "done")),
        ("- step: a", PlanItem("step: a", "pending")),
    ],
)
def test_plan_lines_are_read_in_every_form_models_use(line: str, item: PlanItem) -> None:
    assert thought(f"\ngoal: g\nstep: s\nreason: r\nplan:\n{line}\n").plan == (item,)


def test_a_plan_may_begin_on_the_line_of_its_key() -> None:
    assert thought("plan update: - [x] a\n- [ ] b").plan == (PlanItem("a", "done"), PlanItem("b", "pending"))


def test_a_plan_without_markers_is_a_list_of_open_items() -> None:
    assert thought("plan:\nread\nchange").plan == (PlanItem("read", "pending"), PlanItem("change", "pending"))


def test_a_plan_line_that_runs_on_stays_one_item() -> None:
    assert thought("plan:\n- [ ] read the\n      whole file\n- [ ] b").plan == (
        PlanItem("read the whole file", "pending"),
        PlanItem("b", "pending"),
    )


def test_the_first_readable_block_counts_and_all_are_stripped() -> None:
    text = f"<thought></thought>One.\n{FULL}\nTwo.\n<thought>goal: other</thought>\nThree."
    assert parse(text) == THOUGHT
    assert strip(text) == "One.\n\nTwo.\n\nThree."


@pytest.mark.parametrize("text", ["", "no block", "<thought></thought>", "<thought>words only</thought>", "</thought>goal: a<thought>"])
def test_without_a_readable_block_there_is_no_thought(text: str) -> None:
    assert parse(text) is None


def test_a_block_that_is_not_closed_is_neither_read_nor_hidden() -> None:
    text = "<thought>\ngoal: a\nThe answer is 42."
    assert parse(text) is None
    assert strip(text) == text


def test_tags_in_any_case_are_tags() -> None:
    assert parse("<Thought>goal: a</THOUGHT>") == Thought("a")


def test_an_answer_that_talks_about_the_tag_keeps_its_words() -> None:
    text = "Agents write `<thought>` first and end it with `</thought>`."
    assert parse(text) is None
    assert strip(text) == text


def test_letters_that_change_their_length_in_lower_case_shift_nothing() -> None:
    assert strip("İİİİ<thought>goal: a</thought>İ!") == "İİİİİ!"


@pytest.mark.parametrize(
    ("found", "problems"),
    [
        (Thought(), ("goal is empty", "reason is empty")),
        (Thought("g"), ("reason is empty",)),
        (Thought("g", "", "r", (PlanItem("a", "current"), PlanItem("b", "current"))), ("more than one plan item is current",)),
        (Thought("g", "", "r"), ()),
    ],
)
def test_what_makes_a_thought_incomplete_is_named(found: Thought, problems: tuple[str, ...]) -> None:
    assert found.problems() == problems


LARGE = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "<thought>" * LARGE,
        "<thought></thought>" * LARGE,
        f"<thought>goal: a\nplan:\n- [ ] x{' ' * LARGE}y\n</thought>",
        f"<thought>goal: a\nplan:\n{' ' * LARGE}x\n</thought>",
        f"<thought>{' ' * LARGE}\ngoal{'*' * LARGE}</thought>",
        f"<thought>{'1' * LARGE}x\n{'*' * LARGE}</thought>",
        "<thought>" + "- [ ] a\n" * LARGE + "</thought>",
        "<thought>plan:\n" + "- [ ] a\n" * LARGE + "</thought>",
        "<thought>plan:\n" + "a\n" * LARGE + "</thought>",
        "<thought>plan:\n- [ ] a\n" + "b\n" * LARGE + "</thought>",
    ],
    ids=range(10),
)
def test_huge_input_takes_no_time(text: str) -> None:
    started = time.process_time()
    parse(text)
    strip(text)
    assert time.process_time() - started < 10  # of processor time: a second or less, and quadratic behaviour would take minutes


WORDS = (
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="<`\x85"), min_size=1)
    .map(str.split)
    .map(" ".join)
)
VALUES = WORDS.filter(lambda words: bool(words) and ":" not in words and "：" not in words)


@given(
    VALUES,
    VALUES,
    VALUES,
    st.lists(st.tuples(VALUES.filter(lambda words: words[0] != "["), st.sampled_from(["done", "current", "pending"]))),
)
def test_what_is_written_as_the_prompts_ask_is_read_as_meant(goal: str, step: str, reason: str, plan: list[tuple[str, str]]) -> None:
    marks = {"done": "x", "current": ">", "pending": " "}
    lines = [f"goal: {goal}", f"step: {step}", f"reason: {reason}", "plan:", *(f"- [{marks[state]}] {text}" for text, state in plan)]
    found = thought("\n" + "\n".join(lines) + "\n")
    assert (found.goal, found.step, found.reason) == (goal, step, reason)
    assert [(item.text, item.state) for item in found.plan] == plan


@given(st.text())
def test_text_without_tags_is_never_touched_but_trimmed(text: str) -> None:
    text = text.replace("<", "")
    assert (parse(text), strip(text)) == (None, text.strip())
