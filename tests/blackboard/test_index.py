"""The board at a glance, and a note in full, as models read them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.blackboard.boards import HANDOFF, Desk
from tests.support.virtual_time import VirtualClock
from yagent.blackboard.evidence import LEGEND, MARKS
from yagent.blackboard.index import line_of, note_text
from yagent.blackboard.note import NoteHead, decode
from yagent.protocol.handoff import Handoff


@pytest.fixture
def desk(tmp_path: Path, clock: VirtualClock) -> Desk:
    """An empty board."""
    return Desk(tmp_path, clock)


async def test_an_empty_board_has_no_index(desk: Desk) -> None:
    assert await desk.board.index() == ""


async def test_the_index_has_a_line_for_each_note_newest_first(desk: Desk) -> None:
    desk.workspace.put("auth.py", "import os\nreturn hash == kept\n")
    await desk.write(blueprint="2 claims taken in", body="A long body.")
    await desk.write("coding", "c1", handoff=Handoff("Fixed\n\nit.", status="ok"), verification="unverified")
    await desk.write("chat", "c2", handoff=None, status="error", body="")
    await desk.write("repo", "d4", handoff=None, status="degraded", reasons=("max_steps", "digest"), body="It got half way.")
    assert await desk.board.index() == (
        "Notes of earlier delegations, newest first"
        f" (facts: {LEGEND}):\n"
        "repo#2 · degraded (max_steps, digest) · It got half way.\n"
        "chat#1 · error, no hand-over · (nothing was said)\n"
        "coding#1 · ok, unverified then · Fixed it.\n"
        "repo#1 · ok · ✓? · Login is checked in auth.py."
    )


async def test_the_index_is_the_same_until_something_changes(desk: Desk) -> None:
    desk.workspace.put("auth.py", "import os\nreturn hash == kept\n")
    await desk.write()
    first = await desk.board.index()
    reads = desk.workspace.reads
    assert await desk.board.index() == await desk.board.index() == first
    assert desk.workspace.reads - reads <= 1
    desk.workspace.put("auth.py", "import os\nreturn hash == kept\n# more\n")
    assert await desk.board.index() == first.replace("✓?", "!?")


async def test_twelve_notes_are_shown_and_the_rest_counted(desk: Desk) -> None:
    for number in range(12):
        await desk.write(delegation_id=f"d{number}", handoff=Handoff("x"))
    assert len((await desk.board.index()).splitlines()) == 13
    await desk.write(delegation_id="d12", handoff=Handoff("x"))
    heading, first, *_, last, more = (await desk.board.index()).splitlines()
    assert heading == "Notes of earlier delegations, newest first:"
    assert (first, last, more) == ("repo#13 · ok · x", "repo#2 · ok · x", "… 1 more: list_notes")


async def test_zero_notes_means_no_index_and_no_reading(desk: Desk) -> None:
    await desk.write()
    (desk.board.directory / "repo" / "0001.md").unlink()
    assert await desk.another("s1", index_max_notes=0).index() == ""


@pytest.mark.parametrize(("limit", "length"), [(160, 160), (20, 20), (0, 2000 + len("repo#1 · ok · "))])
async def test_lines_are_clipped_by_code_points_unless_the_limit_is_zero(desk: Desk, limit: int, length: int) -> None:
    await desk.write(handoff=Handoff("好" * 2000))
    line = (await desk.another("s1", index_line_chars=limit).index()).splitlines()[1]
    assert len(line) == length
    assert line.endswith("…" if limit else "好")


async def test_a_note_in_full_has_its_hand_over_with_marks_then_the_deliverable(desk: Desk) -> None:
    desk.workspace.put("auth.py", "import os\nreturn hash == kept\n")
    await desk.write(body="The long story.\n", stop_reason="agent_exit", blueprint="2 claims taken in")
    desk.workspace.put("auth.py", "return hash == kept\n")
    note, shown = await desk.board.read("repo#1")
    assert note_text(note, shown.verdicts) == (
        "[repo#1 · ok · agent_exit · 2026-01-01T00:00:01.000+00:00]\n"
        "Task: Where is login checked?\n"
        "\n"
        "Login is checked in auth.py.\n"
        "\n"
        f"Facts ({LEGEND}):\n"
        "→ [line 2 is at auth.py:1 now] - it compares hashes (auth.py:2)\n"
        "? - said so\n"
        "\n"
        "Open:\n"
        "- other branches?\n"
        "\n"
        "In full:\n"
        "The long story.\n"
        "\n"
        "> [blueprint] 2 claims taken in"
    )


async def test_a_deliverable_that_says_no_more_than_its_hand_over_is_not_repeated(desk: Desk) -> None:
    await desk.write(body=HANDOFF.conclusion)
    note, shown = await desk.board.read("repo#1")
    text = note_text(note, shown.verdicts)
    assert "In full" not in text
    assert text.count(HANDOFF.conclusion) == 1


async def test_what_was_never_handed_over_stands_once(desk: Desk) -> None:
    await desk.write(handoff=None, status="partial", body="Half way.", task="x " * 900)
    note, shown = await desk.board.read("repo#1")
    heading, task, blank, body = note_text(note, shown.verdicts).split("\n")
    assert heading.startswith("[repo#1 · partial, no hand-over · ")
    assert (len(task), task[-1], blank, body) == (len("Task: ") + 400, "…", "", "Half way.")


async def test_a_note_of_the_first_version_shows_its_summary_beside_its_body() -> None:
    note = decode(b'---\n{"Summary": "Login is in auth.go."}\n---\nThe long story.\n', "repo", "0001")
    assert note_text(note, ()) == "[repo#1 · degraded (v1)]\n\nLogin is in auth.go.\n\nIn full:\nThe long story."


@given(
    st.text(st.characters(exclude_categories=()), max_size=300),
    st.integers(1, 200),
    st.lists(st.sampled_from(list(MARKS.values())), max_size=9),
)
def test_a_note_is_one_line_of_at_most_its_limit_whatever_was_concluded(conclusion: str, limit: int, marks: list[str]) -> None:
    head = NoteHead(agent="repo", stem="0001", created="", status="ok", handoff=Handoff(conclusion))
    line = line_of(head, marks, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) == 1
