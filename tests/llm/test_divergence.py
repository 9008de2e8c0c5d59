"""What a replay takes for a difference, and what for an accident of the run."""

from __future__ import annotations

import pytest

from yagent.llm.divergence import Divergence, compare_results, different, normalise
from yagent.protocol.messages import ToolResult


def result(call_id: str, text: str, *, is_error: bool = False) -> ToolResult:
    """A result of one tool."""
    return ToolResult(call_id, "run_bash", text, is_error)


def test_a_missing_result_is_a_difference_and_one_that_was_never_recorded_is_none() -> None:
    found = compare_results("a", [result("c1", "x"), result("c2", "y")], [result("c2", "y"), result("c3", "z")])
    assert [(item.call_id, item.what) for item in found] == [("c1", "missing")]
    assert compare_results("a", [], [result("c9", "z")]) == []


def test_success_and_error_differ_whatever_they_say() -> None:
    (found,) = compare_results("a", [result("c1", "same")], [result("c1", "same", is_error=True)])
    assert (found.what, found.recorded, found.now) == ("error flag", "success", "error: same")


def test_a_difference_is_shown_where_it_begins() -> None:
    long = "x" * 5000
    found = different(f"{long}old{long}", f"{long}new{long}")
    assert found is not None
    assert ("old" in found[0], "new" in found[1], max(map(len, found)) <= 200) == (True, True, True)


@pytest.mark.parametrize(
    ("divergence", "line"),
    [
        (
            Divergence("Coding", "run_bash", "c1", "text", "a\nb", "", 3),
            r"Coding, step 3: the result of run_bash (c1) is not as recorded: was 'a\nb', is nothing",
        ),
        (Divergence("Director", "", "", "over", step=2), "Director, step 2: the agent asks for another reply, but its record is over"),
        (
            Divergence("Director", "", "", "end", "agent_exit", "llm_error"),
            "Director: the task does not end as recorded: was 'agent_exit', is 'llm_error'",
        ),
    ],
)
def test_a_divergence_is_one_plain_line(divergence: Divergence, line: str) -> None:
    assert str(divergence) == line


@pytest.mark.parametrize(
    ("recorded_text", "now"),
    [
        ("Ran 3 tests in 0.012s", "Ran 3 tests in 1.5s"),
        ("exit 0 after 180 ms", "exit 0 after 2.5 s"),
        ("wrote /tmp/tmpab12/out.txt", "wrote /var/folders/zz/abc/T/tmpq/out.txt"),
        ("[exit code 0; 0.1 s; run#2]", "[exit code 0; 3 s; run#1]"),
        ("started, pid 4711", "started, pid 12"),
        ("<Foo at 0x7f00deadbeef>", "<Foo at 0x10a2b3c4d>"),
        ("listening on 127.0.0.1:40123", "listening on 127.0.0.1:55555"),
        ("2026-11-30T12:00:00Z done", "2027-01-01 00:00:00.123+01:00 done"),
        ("/home/a/repo/x.py:3", "/srv/b/x.py:3"),
        ("line \nend\n", "line\nend"),
        ("-rw-r--r-- 1 me me 23 Nov 30 21:53 a.txt", "-rw-r--r-- 1 me me 23 Dec  1 2026 a.txt"),
        ("Date:   Mon Nov 30 21:53:12 2026 +0100", "Date:   Tue Dec 1 00:00:00 2026 +0000"),
        ("[main 1a2b3c4] Fix", "[main 9f8e7d6] Fix"),
        ("[main (root-commit) 1a2b3c4] Fix", "[main (root-commit) 9f8e7d6] Fix"),
        ("commit " + "1a" * 20 + " (HEAD)", "commit " + "9f" * 20 + " (HEAD)"),
        ("1a2b3c4 Fix\n9f8e7d6 Start", "2b3c4d5 Fix\n9f8e7d6 Start"),
    ],
)
def test_what_differs_from_run_to_run_is_no_difference(recorded_text: str, now: str) -> None:
    places = (("/home/a/repo", "<repo>"), ("/srv/b", "<repo>"))
    assert normalise(recorded_text, places) == normalise(now, places)


@pytest.mark.parametrize(
    ("recorded_text", "now"),
    [
        ("3 passed", "2 passed"),
        ("x = 10", "x = 11"),
        ("a.py:3", "a.py:4"),
        ("exit code 0", "exit code 1"),
        ("a", "A"),
        ("defaced it", "effaced it"),
        ("index 1a2b3c4..5d6e7f8", "index 1a2b3c4..5d6e7f9"),
    ],
)
def test_what_means_something_stays_a_difference(recorded_text: str, now: str) -> None:
    assert normalise(recorded_text) != normalise(now)
