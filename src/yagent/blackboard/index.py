"""Notes as text for a model: the board at a glance, one line for each of its newest notes, derived from disk each time and never kept
(J-07, J-08); and one note in full."""

from collections.abc import Iterable, Sequence
from typing import Final

from yagent.blackboard.evidence import LEGEND, MARKS, Verdict
from yagent.blackboard.note import FIRST_VERSION, Note, NoteHead, beginning, handoff_text
from yagent.blackboard.settings import BlackboardSettings

LONGEST_TASK: Final = 400  # characters shown of what was asked


def render_index(notes: Sequence[tuple[NoteHead, Sequence[str]]], total: int, settings: BlackboardSettings) -> str:
    """The lines of the newest notes with the marks of their facts, and how many more there are; "" for none."""
    shown = notes[: settings.index_max_notes]
    if not shown:
        return ""
    marked = f" (facts: {LEGEND})" if any(marks for _, marks in shown) else ""
    lines = [f"Notes of earlier delegations, newest first{marked}:"]
    lines += [line_of(head, marks, settings.index_line_chars) for head, marks in shown]
    if total > len(shown):
        lines.append(f"… {total - len(shown)} more: list_notes")
    return "\n".join(lines)


def line_of(head: NoteHead, marks: Iterable[str], limit: int) -> str:
    """One note on one line of at most `limit` characters, 0 for any length: id, status, marks, conclusion."""
    parts = [head.id, status_of(head), "".join(marks), " ".join(head.handoff.conclusion.split()) or "(nothing was said)"]
    line = " · ".join(part for part in parts if part)
    return line if limit <= 0 or len(line) <= limit else f"{line[: max(1, limit) - 1]}…"


def status_of(head: NoteHead) -> str:
    """The status with what makes it less than it seems."""
    why = f" ({', '.join(head.reasons)})" if head.reasons else ""
    word = head.status if head.submitted or head.status == "degraded" else f"{head.status}, no hand-over"
    return f"{word}{why}" + (f", {head.verification} then" if head.verification in ("unverified", "stale", "verified") else "")


def note_text(note: Note, verdicts: Sequence[Verdict]) -> str:
    """A note in full: what it is, the hand-over with what is found at its facts now, then the deliverable where that says more."""
    head = note.head
    handoff = head.handoff
    lines = [f"[{' · '.join(part for part in (head.id, status_of(head), head.stop_reason, head.created) if part)}]"]
    if head.task.strip():
        lines.append(f"Task: {beginning(' '.join(head.task.split()), LONGEST_TASK)}")
    apart = head.submitted or FIRST_VERSION in head.reasons  # what was never handed over is the beginning of the deliverable
    if apart:
        lines += ["", handoff_text(handoff, [_marked(verdict) for verdict in verdicts])]
    said = note.body.strip()
    if said and not (apart and said in handoff_text(handoff)):
        lines += ["", *(["In full:"] if apart else []), said]
    if head.blueprint:
        lines += ["", f"> [blueprint] {head.blueprint}"]
    return "\n".join(lines)


def _marked(verdict: Verdict) -> str:
    """The mark of a fact, and what differs."""
    return f"{MARKS[verdict.mark]} [{verdict.detail}]" if verdict.detail else MARKS[verdict.mark]
