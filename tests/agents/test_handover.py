"""What goes down with a delegation and comes back up, in words."""

from __future__ import annotations

import pytest

from yagent.agents.delegation.handover import (
    FACTS_BESIDE,
    LONGEST_FACT,
    MAX_REFERENCES,
    Circumstances,
    Handed,
    References,
    render,
    resolve,
    task_message,
)
from yagent.agents.loop.result import RunResult
from yagent.blackboard.evidence import LEGEND
from yagent.protocol.handoff import Fact, Handoff
from yagent.protocol.stop import StopReason


def test_ten_references_at_most_are_looked_up_after_doubles_are_gone() -> None:
    references = [f"agent:role{number}" for number in range(12)]
    found = resolve([*references[:3], *references], {f"role{number}": f"text {number}" for number in range(12)})
    assert MAX_REFERENCES == 10
    assert [reference for reference, _ in found.texts] == references[:10]
    assert found.unresolved == ()


@pytest.mark.parametrize(
    "reference",
    ["agent:repo", " agent:repo ", "agent:repo_agent", "agent:repo#2", "agent:repo_agent#2", "agent: repo", "agent:Repo", "repo", "repo#2"],
)
def test_a_result_is_found_under_each_of_its_names(reference: str) -> None:
    assert resolve([reference], {"repo": "x", "repo#2": "x"}).unresolved == ()


@pytest.mark.parametrize("reference", ["note:repo", "agent:", "agent:coding", "agent:repo#1", ":", "coding#1"])
def test_what_leads_nowhere_is_named(reference: str) -> None:
    assert resolve([reference], {"repo": "x", "repo#2": "x"}) == References((), (reference,), ("repo#2",))


def test_the_task_stands_last_in_the_first_message() -> None:
    text = task_message("do it", References((("agent:repo", "found"),), ("note:x",)), "<environment/>")
    assert text.startswith("<environment/>\n\n<result of=")
    assert "There is no result called note:x" in text
    assert text.endswith("<task>\ndo it\n</task>")


@pytest.mark.parametrize("reason", [reason for reason in StopReason if reason not in (StopReason.PLAIN_TEXT, StopReason.AGENT_EXIT)])
def test_no_other_end_looks_like_a_finished_one(reason: StopReason) -> None:
    text = render("repo#1", RunResult(reason, "Half.", 3, calls=1))
    assert "It did not finish: " in text
    assert "unfinished work" in text
    assert text.endswith("Half.")
    assert "It left no result." in render("repo#1", RunResult(reason, "", 3, calls=1))


def test_an_end_without_a_word_is_called_that() -> None:
    text = render("repo#1", RunResult(StopReason.AGENT_EXIT, " ", 3, Handoff(" "), calls=1))
    assert text.splitlines()[0] == "[repo#1 · error · agent_exit · 3 steps]"
    assert "It left no result." in text


def test_a_longer_answer_beside_the_hand_over_arrives_whole() -> None:
    text = render("repo#1", RunResult(StopReason.AGENT_EXIT, "All the long words.", 3, Handoff("Short."), calls=1))
    assert text.endswith("Short.\n\nIn full:\nAll the long words.")
    same = render("repo#1", RunResult(StopReason.AGENT_EXIT, "Short.", 3, Handoff("Short."), calls=1))
    assert same.count("Short.") == 1


def test_of_a_result_that_is_kept_as_an_artifact_a_bounded_part_is_told_and_where_the_rest_is() -> None:
    facts = tuple(Fact(f"claim {number} " + "x" * 2000, f"a.py:{number}") for number in range(40))
    handoff = Handoff("word " * 9000, facts, tuple("why " * 1000 for _ in range(20)))
    handed = Handed("word word …\n[read_artifact 1]", marks=("✓",) * 40)
    text = render("repo#1", RunResult(StopReason.AGENT_EXIT, "all of it", 3, handoff, calls=1), handed=handed)
    assert len(text) < 1000 + 2 * FACTS_BESIDE
    assert text.count("word") == 2
    assert "✓ - claim 0 " in text
    assert "x" * LONGEST_FACT not in text
    told = text.count("✓ - claim")
    assert f"… {40 - told} more facts" in text
    assert "more open questions" in text
    assert text.endswith("\n\n[read_artifact 1]")


def test_facts_that_are_few_are_told_beside_a_conclusion_that_was_too_long() -> None:
    handoff = Handoff("word " * 9000, (Fact("it is so", "a.py:1"),), ("why?",))
    handed = Handed("word …\n[read_artifact 1]", marks=("✓",))
    text = render("repo#1", RunResult(StopReason.AGENT_EXIT, "all of it", 3, handoff, calls=1), handed=handed)
    assert text.endswith(f"\n\nword …\n\nFacts ({LEGEND}):\n✓ - it is so (a.py:1)\n\nOpen:\n- why?\n\n[read_artifact 1]")


def test_the_conclusion_comes_first_and_the_marks_are_explained_above_the_facts_as_what_they_are() -> None:
    handoff = Handoff("Done.", (Fact("it is so", "a.py:1"),))
    text = render("repo#1", RunResult(StopReason.AGENT_EXIT, "Done.", 3, handoff, calls=1), handed=Handed(marks=("✓",)))
    assert text == f"[repo#1 · ok · agent_exit · 3 steps]\n\nDone.\n\nFacts ({LEGEND}):\n✓ - it is so (a.py:1)"
    assert "✓ is there unchanged" in LEGEND
    assert "whether it says so, judge yourself" in LEGEND


def test_what_happened_around_a_result_stands_before_what_its_agent_says() -> None:
    found = Circumstances(unresolved=("note:x",), known=("repo#1", "chat#1"), denied=("run_bash rm -r a",), running=("job-1: sleep 9",))
    result = RunResult(StopReason.PLAIN_TEXT, "All done.", 2, calls=3, changed=("a.py",), ran=("make test → exit 2",), owes_handoff=True)
    assert render("coding#1", result, found).splitlines() == [
        "[coding#1 · partial, no hand-over · plain_text · 2 steps]"
        " [unresolved: 1 (context_refs not found: note:x; it worked without; there are: repo#1, chat#1)]",
        "Files changed while it worked: a.py",
        "Commands it ran after its last edit: make test → exit 2",
        "Denied to it: run_bash rm -r a",
        "Still running in the background, to be ended with the whole task: job-1: sleep 9",
        "",
        "All done.",
    ]


def test_a_change_that_nothing_ran_after_is_called_unverified_whatever_its_agent_says() -> None:
    result = RunResult(StopReason.AGENT_EXIT, "Fixed.", 2, Handoff("Fixed.", (Fact("tests pass", "make test"),)), calls=3)
    text = render("coding#1", result, Circumstances(changes=("a.py (modified)",)))
    assert "Files changed while it worked: a.py (modified)" in text
    assert "Commands it ran after its last edit: none, so nothing is verified" in text
    assert "Files changed while it worked: none" in render("coding#1", result, Circumstances(changes=()))


def test_no_command_that_ran_is_left_out_and_what_proves_something_is_told_as_it_is() -> None:
    ran = ("python3 -m unittest → exit 0 (run#1)", *(f"ls {'x' * 60} {number} → exit {number} (run#{number})" for number in range(2, 9)))
    text = render(
        "devops#1", RunResult(StopReason.AGENT_EXIT, "Ok.", 9, Handoff("Ok."), calls=8, ran=ran), handed=Handed(proofs=("run#1",))
    )
    (line,) = (line for line in text.splitlines() if line.startswith("Commands"))
    assert line.startswith(f"Commands it ran: python3 -m unittest → exit 0 (run#1); {ran[4]}; {ran[5]}; ")
    short = f"ls {'x' * 36}…"
    assert line.endswith(f"{ran[7]}; … and 3 more: {', '.join(f'{short} → exit {number} (run#{number})' for number in (2, 3, 4))}")
    few = render("coding#1", RunResult(StopReason.AGENT_EXIT, "Ok.", 9, Handoff("Ok."), calls=8, changed=("a.py",), ran=ran[:2]))
    assert f"\nCommands it ran after its last edit: {ran[0]}; {ran[1]}\n" in few


def test_of_commands_that_prove_nothing_here_those_that_check_something_are_told_before_those_that_only_read() -> None:
    ran = ("make test → exit 0 (run#1)", *(f"ls {number} → exit 0 (run#{number})" for number in range(2, 9)))
    result = RunResult(StopReason.AGENT_EXIT, "Ok.", 9, Handoff("Ok."), calls=8, ran=ran)
    text = render("devops#1", result, handed=Handed(proofs=("run#3",), checks=("run#1",)))
    assert f"Commands it ran: {'; '.join((ran[0], ran[2], ran[5], ran[6], ran[7]))}; … and 3 more: " in text


def test_many_commands_are_counted_and_the_newest_of_them_named() -> None:
    ran = tuple(f"ls {number} → exit 0" for number in range(100))
    text = render("devops#1", RunResult(StopReason.AGENT_EXIT, "Ok.", 9, Handoff("Ok."), calls=8, ran=ran))
    assert "ls 95 → exit 0; ls 96 → exit 0; ls 97 → exit 0; ls 98 → exit 0; ls 99 → exit 0; … and 95 more: ls 75 → exit 0, " in text
    assert "ls 94 → exit 0, …" in text


def test_words_without_a_hand_over_are_unfinished_work_of_whoever_owes_one() -> None:
    words = RunResult(StopReason.PLAIN_TEXT, "All fine.", 4, calls=1, owes_handoff=True)
    assert (words.status, words.exit_code) == ("partial", 0)
    assert render("devops#1", words).splitlines()[0] == "[devops#1 · partial, no hand-over · plain_text · 4 steps]"
    assert RunResult(StopReason.PLAIN_TEXT, "All fine.", 4).status == "ok"


def test_that_head_moved_is_told_as_it_was_measured() -> None:
    result = RunResult(StopReason.AGENT_EXIT, "Committed.", 2, Handoff("Committed."), calls=3)
    text = render("devops#1", result, Circumstances(changes=(), head="main, new commits:\n2 Fix"))
    assert "Files changed while it worked: none\nHEAD moved while it worked: main, new commits:\n2 Fix\n" in text


def test_who_used_no_tool_is_said_to_have_looked_nothing_up() -> None:
    assert "It used no tool" in render("chat#1", RunResult(StopReason.PLAIN_TEXT, "A poem.", 1))
