"""Reading notes and artifacts: pages that join to the whole, ids that lead nowhere, and nothing of a body in the list."""

import json
from collections.abc import Mapping
from pathlib import Path
from shutil import copyfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.blackboard.boards import Desk as BoardDesk
from tests.support.virtual_time import VirtualClock
from tests.tools.scopes import PROMPTS, Desk
from yagent.blackboard.artifacts import Artifacts
from yagent.blackboard.evidence import LEGEND
from yagent.blackboard.settings import BlackboardSettings
from yagent.protocol.handoff import Handoff
from yagent.tools.bounds import MAX_BYTES, bounded, sayable
from yagent.tools.builtin.notes import notes, page_end
from yagent.tools.profiles import PROFILES
from yagent.tools.registry import Registry, select


@pytest.fixture
def left(tmp_path: Path, clock: VirtualClock) -> BoardDesk:
    """A board without notes."""
    return BoardDesk(tmp_path, clock)


@pytest.fixture
def artifacts(tmp_path: Path, clock: VirtualClock) -> Artifacts:
    """No artifacts yet."""
    return Artifacts(tmp_path / "artifacts", clock, BlackboardSettings())


@pytest.fixture
def reader(coding: Desk, left: BoardDesk, artifacts: Artifacts) -> Desk:
    """An agent that has the three tools."""
    registry = Registry(notes(left.board, artifacts.read), describe=lambda name: PROMPTS.text(f"tools/{name}.md"))
    registry.validate()
    coding.use(select(registry, PROFILES["coding"]))
    return coding


def test_every_profile_may_read_what_was_left(left: BoardDesk, artifacts: Artifacts) -> None:
    registry = Registry(notes(left.board, artifacts.read), describe=lambda name: "A tool.")
    for profile in PROFILES.values():
        assert select(registry, profile).names == ("list_notes", "read_note", "read_artifact")
    assert all(spec.is_read_only and spec.frequency == "hot" for spec in registry.specs)


async def test_the_list_has_conclusions_and_no_deliverable(reader: Desk, left: BoardDesk) -> None:
    left.workspace.put("auth.py", "import os\nreturn hash == kept\n")
    await left.write(body="SECRET BODY")
    await left.write("coding", "c1", status="error", handoff=None, body="It broke.\n\nSECRET BODY")
    output = await reader.make("list_notes")
    assert output.text == (
        f"coding#1 · error, no hand-over · It broke.\nrepo#1 · ok · ✓? · Login is checked in auth.py.\n[marks of facts: {LEGEND}]"
    )
    assert output.summary == "2 notes"


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        ({"agent": "repo"}, ["repo#2", "repo#1"]),
        ({"agent": "Repo_agent"}, ["repo#2", "repo#1"]),
        ({"status": "error"}, ["repo#2"]),
        ({"agent": "chat", "status": "ok"}, ["chat#1"]),
    ],
)
async def test_the_list_is_narrowed_by_agent_and_status(reader: Desk, left: BoardDesk, wanted: Mapping[str, str], shown: list[str]) -> None:
    await left.write(handoff=Handoff("a"))
    await left.write("chat", "c", handoff=Handoff("b"))
    await left.write(delegation_id="d2", status="error", handoff=Handoff("c"))
    output = await reader.make("list_notes", **wanted)
    assert [line.split()[0] for line in output.text.splitlines()] == shown


async def test_an_empty_list_says_why(reader: Desk, left: BoardDesk) -> None:
    assert (await reader.make("list_notes")).text == "No delegation has left a note yet."
    await left.write()
    assert (await reader.make("list_notes", agent="coding")).text == "No such note; without arguments you see all 1."
    (left.board.directory / "repo" / "0001.md").write_text("mine")
    assert (await reader.make("list_notes")).text.startswith("No note can be read.\n[")


async def test_files_that_cannot_be_read_are_told_with_the_list(reader: Desk, left: BoardDesk) -> None:
    await left.write(handoff=Handoff("a"))
    (left.board.directory / "repo" / "0002.md").write_text("mine")
    assert "[repo/0002 does not begin with the front matter of a note]" in (await reader.make("list_notes")).text


async def test_a_note_is_read_with_its_hand_over_first(reader: Desk, left: BoardDesk) -> None:
    await left.write(body="The long story.")
    output = await reader.make("read_note", note_id="agent:repo#1".removeprefix("agent:"))
    assert output.text.startswith("[repo#1 · ok · ")
    assert output.text.index("Login is checked") < output.text.index("The long story.")
    assert not output.is_error


async def test_an_unknown_note_is_answered_with_near_names(reader: Desk, left: BoardDesk) -> None:
    await left.write()
    output = await reader.make("read_note", note_id="repo#12")
    assert output.is_error
    assert "There are: repo#1." in output.text


async def test_reading_on_from_page_to_page_gives_every_character_once(reader: Desk, artifacts: Artifacts) -> None:
    text = "".join(f"Zeile {number} {'好' * (number % 70)}\n" for number in range(1500)) + "x" * 40_000 + "\n" * 3000 + "end"
    identity = await artifacts.store(text)
    seen = ""
    following: dict[str, object] | None = {"artifact_id": f"artifact:{identity}", "limit": 1_000_000}
    pages = 0
    while following is not None:
        answer = (await reader.make("read_artifact", **following)).text
        assert len(answer.encode()) < MAX_BYTES
        shown, _, remark = answer.rpartition("[")
        following = json.loads(remark.removesuffix("]").partition("read_artifact ")[2]) if "to read on" in remark else None
        seen += shown if shown.endswith("\n") and text.startswith(seen + shown) else shown.removesuffix("\n")
        pages += 1
    assert seen == text
    assert pages > 3


async def test_a_limit_is_kept_and_pages_end_with_a_line(reader: Desk, artifacts: Artifacts) -> None:
    identity = await artifacts.store("one\ntwo\nthree\n")
    output = await reader.make("read_artifact", artifact_id=identity, limit=9)
    following = json.dumps({"artifact_id": identity, "offset": 8})
    assert output.text == f"one\ntwo\n[characters 0 to 8 of 14 shown; to read on: read_artifact {following}]"
    output = await reader.make("read_artifact", artifact_id=identity, offset=8)
    assert output.text == "three\n[end of the text at character 14]"


async def test_reading_past_the_end_is_told(reader: Desk, artifacts: Artifacts) -> None:
    identity = await artifacts.store("short")
    output = await reader.make("read_artifact", artifact_id=identity, offset=5)
    assert output.is_error
    assert "has 5 characters, so there is nothing at 5" in output.text


async def test_an_empty_text_is_called_empty(reader: Desk, artifacts: Artifacts) -> None:
    identity = await artifacts.store("")
    assert (await reader.make("read_artifact", artifact_id=identity)).text == "[it is empty]"


@pytest.mark.parametrize("wanted", ["../../x", "20260101-000000-0123abcd", ""])
async def test_an_artifact_that_is_none_is_refused_in_words(reader: Desk, wanted: str) -> None:
    output = await reader.make("read_artifact", artifact_id=wanted)
    assert output.is_error
    assert "artifact" in output.text


async def test_a_list_too_long_for_an_answer_is_cut_at_a_line(reader: Desk, left: BoardDesk) -> None:
    await left.write(handoff=Handoff("好" * 200))
    first = left.board.directory / "repo" / "0001.md"
    for number in range(2, 81):
        copyfile(first, first.with_name(f"{number:04}.md"))
    output = await reader.make("list_notes")
    *lines, last = output.text.splitlines()
    assert bounded(output.text) == output.text
    assert last == f"[{80 - len(lines)} older ones are left out; name an agent or a status to see fewer]"
    assert all(line.endswith("好…") for line in lines)


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=80), st.integers(1, 30))
def test_pages_join_to_the_text_and_always_go_on(text: str, limit: int) -> None:
    text = sayable(text)
    seen, offset = "", 0
    while offset < len(text):
        end = page_end(text, offset, limit)
        assert offset < end <= offset + limit
        seen, offset = seen + text[offset:end], end
    assert seen == text


def test_a_page_is_not_left_nearly_empty_because_a_long_line_follows() -> None:
    assert page_end("In full:\n" + "x" * 100, 0, 50) == 50
    assert page_end("a" * 40 + "\n" + "x" * 100, 0, 50) == 41
