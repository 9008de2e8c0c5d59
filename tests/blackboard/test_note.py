"""A note's file: readable, versioned, and back as it was."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yagent.blackboard.commands import CommandEvidence
from yagent.blackboard.evidence import LEGEND, Anchored
from yagent.blackboard.note import DamagedNote, Note, NoteHead, decode, encode, handoff_text
from yagent.protocol.handoff import Fact, Handoff

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)  # with control characters, line separators and lone surrogates
LINE = ANY_TEXT.map(lambda text: " ".join(text.split()))
ANCHORS = st.tuples(st.builds(Anchored, st.sampled_from(["ok", "gone"]), path=ANY_TEXT, line=st.integers(0, 9), line_hash=ANY_TEXT))
COMMANDS = st.builds(
    CommandEvidence,
    ANY_TEXT,
    ANY_TEXT,
    st.none() | st.integers(-1, 255),
    ANY_TEXT,
    st.dictionaries(ANY_TEXT, st.none() | ANY_TEXT, max_size=2),
)


@st.composite
def heads(draw: st.DrawFn) -> NoteHead:
    facts = draw(st.lists(st.builds(Fact, ANY_TEXT, ANY_TEXT), max_size=3).map(tuple))
    questions = draw(st.lists(ANY_TEXT, max_size=2).map(tuple))
    return NoteHead(
        agent="repo",
        stem="0002",
        created=draw(ANY_TEXT),
        status=draw(st.sampled_from(["ok", "partial", "error", "degraded"])),
        handoff=Handoff(draw(ANY_TEXT), facts, questions, draw(st.sampled_from(["ok", "partial", "error"]))),
        submitted=draw(st.booleans()),
        delegation_id=draw(ANY_TEXT),
        task=draw(ANY_TEXT),
        stop_reason=draw(ANY_TEXT),
        reasons=draw(st.lists(ANY_TEXT, max_size=2).map(tuple)),
        anchors=tuple(draw(ANCHORS) for _ in facts),
        commands=draw(st.lists(COMMANDS, max_size=2).map(tuple)),
        verification=draw(ANY_TEXT),
        artifact=draw(ANY_TEXT),
        blueprint=draw(LINE),
    )


@settings(max_examples=50)
@given(heads(), ANY_TEXT)
def test_whatever_is_written_comes_back(head: NoteHead, body: str) -> None:
    note = Note(head, body)
    assert decode(encode(note), "repo", "0002") == note


@pytest.mark.parametrize("body", ["---\n", "---\n{}\n---\n", "a\n\n> [blueprint] not ours\n", "", "\r\n\r"])
def test_a_deliverable_that_looks_like_the_rest_of_the_file_is_kept(body: str) -> None:
    for blueprint in ("", "3 claims taken in"):
        head = NoteHead(agent="repo", stem="0001", created="", status="ok", handoff=Handoff("Done."), blueprint=blueprint)
        assert decode(encode(Note(head, body)), "repo", "0001") == Note(head, body)


def test_the_file_has_json_between_two_lines_then_the_deliverable_and_the_account_of_the_blueprint() -> None:
    handoff = Handoff("Es läuft.", (Fact("x", "a.py:1"),), ("y?",), "partial")
    head = NoteHead(agent="coding", stem="0001", created="2026-01-01", status="partial", handoff=handoff, blueprint="2 claims taken in")
    text = encode(Note(head, "The\nwhole.")).decode()
    opening, front, body = text.split("---\n")
    assert opening == ""
    assert "Es läuft." in front, "people can read it"
    assert json.loads(front)["version"] == 2
    assert json.loads(front)["handoff"] == {
        "conclusion": "Es läuft.",
        "facts": [{"claim": "x", "where": "a.py:1", "found": []}],
        "open_questions": ["y?"],
        "status": "partial",
    }
    assert body == "The\nwhole.\n\n> [blueprint] 2 claims taken in\n"


def test_a_note_of_the_first_version_is_read_and_called_degraded() -> None:
    data = b'---\n{"Agent": "repo", "Summary": "Login is in auth.go.", "Status": "ok", "Created": "2025-10-01T08:00:00Z"}\n---\nThe body.\n'
    note = decode(data, "repo", "20251001-080000")
    assert note.head.handoff == Handoff("Login is in auth.go.", status="partial")
    assert (note.head.status, note.head.reasons, note.head.created) == ("degraded", ("v1",), "2025-10-01T08:00:00Z")
    assert (note.head.id, note.head.submitted, note.body) == ("repo/20251001-080000", False, "The body.\n")


def test_a_first_version_without_a_summary_is_summed_up_by_its_beginning() -> None:
    note = decode(b'---\n{"version": 1, "Summary": ""}\n---\n\nFirst part.\nStill it.\n\nSecond part.\n', "repo", "3")
    assert note.head.handoff.conclusion == "First part.\nStill it."
    assert note.head.id == "repo#3"


def test_a_note_of_the_second_version_is_not_degraded_by_being_read() -> None:
    head = NoteHead(agent="repo", stem="0001", created="", status="ok", handoff=Handoff("Done."))
    assert decode(encode(Note(head, "x")), "repo", "0001").head.reasons == ()


def broken(**changes: object) -> bytes:
    """A second version with some values replaced."""
    head = NoteHead(agent="repo", stem="0001", created="", status="ok", handoff=Handoff("Done.", (Fact("a"),)))
    front = json.loads(encode(Note(head, "")).split(b"---\n")[1]) | changes
    return b"---\n" + json.dumps(front).encode() + b"\n---\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"# A page of the user's\n",
        b"---\n",
        b"---\n{\n---\n",
        b"---\n[]\n---\n",
        b"---\n" + b"[" * 100_000 + b"\n---\n",
        b'---\n{"version": 3}\n---\nof a later yagent',
        b'---\n{"version": 2}\n---\n',
        b'---\n{"version": 1, "Summary": "x"}\n---\n\xff\xfe',
        broken(status="paused"),
        broken(handoff={}),
        broken(handoff="Done."),
        broken(reasons="v1"),
        broken(commands=[{"id": 1}]),
        broken(
            handoff={
                "conclusion": "",
                "facts": [{"claim": "", "where": "", "found": [{"mark": "fine"}]}],
                "open_questions": [],
                "status": "ok",
            }
        ),
    ],
)
def test_what_is_no_note_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(DamagedNote, match="repo/0001"):
        decode(data, "repo", "0001")


def test_the_unbroken_sample_is_readable() -> None:
    assert decode(broken(), "repo", "0001").head.status == "ok"


def test_a_hand_over_as_text_has_its_facts_with_marks_and_what_stayed_open() -> None:
    handoff = Handoff("It works.", (Fact("a", "x.py:1"), Fact("b")), ("c?",))
    assert handoff_text(handoff, ("✓", "?")) == f"It works.\n\nFacts ({LEGEND}):\n✓ - a (x.py:1)\n? - b\n\nOpen:\n- c?"
    assert handoff_text(handoff) == "It works.\n\n- a (x.py:1)\n- b\n\nOpen:\n- c?"
