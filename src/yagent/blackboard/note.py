"""One note: what a delegation came to, as a file that people can read, too.

A note is JSON front matter between two lines `---`, then the whole deliverable as it was written, then, where the blueprint took in
something, a line `> [blueprint] …` that is no part of the deliverable. Sources: requirements J-01 to J-03, J-09.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from yagent.blackboard.commands import CommandEvidence, command_data, command_from
from yagent.blackboard.evidence import LEGEND, Anchored, anchor_data, anchor_from
from yagent.errors import YagentError
from yagent.protocol.handoff import Fact, Handoff, HandoffStatus
from yagent.records import dataclass

Choice = TypeVar("Choice")

NoteStatus: TypeAlias = Literal["ok", "partial", "error", "degraded"]

VERSION: Final = 2
FENCE: Final = b"---\n"
FOOTER: Final = "\n\n> [blueprint] "
FIRST_VERSION: Final = "v1"  # the reason why a note of that version is degraded


class DamagedNote(YagentError):
    """A file among the notes that is none, or none that this version can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteHead:
    """All of a note but the deliverable.

    `handoff` is the agent's own where `submitted`, otherwise made of the beginning of what it said. `status` is the delegation's outcome;
    `degraded`, with `reasons`, only where a record was read instead of an agent heard. `anchors` has one item for each fact, with what was
    found at its `where` when the note was written. `created` is UTC (ISO 8601). `stem` is the file's name without its ending.
    """

    agent: str
    stem: str
    created: str
    status: NoteStatus
    handoff: Handoff
    submitted: bool = True
    delegation_id: str = ""
    task: str = ""
    stop_reason: str = ""
    reasons: tuple[str, ...] = ()
    anchors: tuple[tuple[Anchored, ...], ...] = ()
    commands: tuple[CommandEvidence, ...] = ()
    verification: str = "none"
    artifact: str = ""
    blueprint: str = ""

    @property
    def id(self) -> str:
        """What the note is called: `repo#2`."""
        return f"{self.agent}#{int(self.stem)}" if is_number(self.stem) else f"{self.agent}/{self.stem}"

    @property
    def number(self) -> int:
        """Its place among the notes of its agent, 0 where its file has another name."""
        return int(self.stem) if is_number(self.stem) else 0


@dataclass(frozen=True, slots=True)
class Note:
    """A note with the whole deliverable."""

    head: NoteHead
    body: str


def is_number(stem: str) -> bool:
    """Whether a file name is one that we gave."""
    return stem.isascii() and stem.isdecimal()


def encode(note: Note) -> bytes:
    """The file. Lone surrogates, which models can send, come back as they were."""
    head = note.head
    handoff = head.handoff
    anchors = [*head.anchors, *[()] * len(handoff.facts)]
    front = {
        "version": VERSION,
        "agent": head.agent,
        "status": head.status,
        "reasons": head.reasons,
        "created": head.created,
        "delegation_id": head.delegation_id,
        "task": head.task,
        "stop_reason": head.stop_reason,
        "verification": head.verification,
        "artifact": head.artifact,
        "submitted": head.submitted,
        "handoff": {
            "conclusion": handoff.conclusion,
            "facts": [
                {"claim": fact.claim, "where": fact.where, "found": [anchor_data(each) for each in found]}
                for fact, found in zip(handoff.facts, anchors, strict=False)
            ],
            "open_questions": handoff.open_questions,
            "status": handoff.status,
        },
        "commands": [command_data(each) for each in head.commands],
        "blueprint": head.blueprint,
    }
    text = json.dumps(front, ensure_ascii=False, indent=1)
    return FENCE + f"{text}\n".encode("utf-8", "surrogatepass") + FENCE + f"{note.body}{_footer(head)}".encode("utf-8", "surrogatepass")


def decode(data: bytes, agent: str, stem: str) -> Note:
    """The note in a file of the directory `agent`. Raises DamagedNote for anything else."""
    front, end = _front(data, agent, stem)
    try:
        body = data[end:].decode("utf-8", "surrogatepass")
        head = _head(front, agent, stem, body)
    except (UnicodeDecodeError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise DamagedNote(f"the note {agent}/{stem} cannot be read ({type(error).__name__}: {error})") from error
    return Note(head, body.removesuffix(_footer(head)))


def handoff_text(handoff: Handoff, marks: Sequence[str] = ()) -> str:
    """The hand-over as text: the conclusion, its facts with their anchors, and what stayed open. `marks` stand before the facts, what
    they mean above them."""
    lines = [handoff.conclusion]
    if handoff.facts:
        before = [f"{mark} " for mark in marks] or [""] * len(handoff.facts)
        shown = zip(handoff.facts, before, strict=True)
        lines += ["", *([f"Facts ({LEGEND}):"] if marks else [])]
        lines += [f"{mark}- {fact.claim}" + (f" ({fact.where})" if fact.where else "") for fact, mark in shown]
    if handoff.open_questions:
        lines += ["", "Open:", *(f"- {question}" for question in handoff.open_questions)]
    return "\n".join(lines).strip()


def whole_text(handoff: Handoff | None, words: str) -> str:
    """All that an agent handed over: the hand-over, then its own words where they say more."""
    said = "" if handoff is None else handoff_text(handoff)
    if said in words:
        return words
    return said if words in said else f"{said}\n\nIn full:\n{words}"


def beginning(text: str, limit: int) -> str:
    """The first characters of a text as they stand, and an ellipsis where something is left out; all of it for a limit of 0."""
    return text if limit <= 0 or len(text) <= limit else f"{text[: limit - 1]}…"


def _footer(head: NoteHead) -> str:
    return f"{FOOTER}{' '.join(head.blueprint.split())}\n" if head.blueprint else ""


def _front(data: bytes, agent: str, stem: str) -> tuple[Mapping[str, Any], int]:
    """The front matter, and where the body begins."""
    end = data.find(b"\n" + FENCE, len(FENCE) - 1)
    if not data.startswith(FENCE) or end < 0:
        raise DamagedNote(f"{agent}/{stem} does not begin with the front matter of a note")
    try:
        front = json.loads(data[len(FENCE) : end].decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise DamagedNote(f"the front matter of the note {agent}/{stem} is damaged ({error})") from error
    if not isinstance(front, dict):
        raise DamagedNote(f"the front matter of the note {agent}/{stem} is no object")
    version = front.get("version", front.get("Version", 1))
    if version not in (1, VERSION):
        raise DamagedNote(f"the note {agent}/{stem} has version {version!r}, which this version of yagent does not read")
    return front, end + 1 + len(FENCE)


def _head(front: Mapping[str, Any], agent: str, stem: str, body: str) -> NoteHead:
    if front.get("version") != VERSION:
        return _first_version(front, agent, stem, body)
    given = front["handoff"]
    facts = given["facts"]
    return NoteHead(
        agent=agent,
        stem=stem,
        created=_text(front["created"]),
        status=_one_of(front["status"], get_args(NoteStatus)),
        handoff=Handoff(
            _text(given["conclusion"]),
            tuple(Fact(_text(each["claim"]), _text(each["where"])) for each in facts),
            _texts(given["open_questions"]),
            _one_of(given["status"], get_args(HandoffStatus)),
        ),
        submitted=front["submitted"] is True,
        delegation_id=_text(front["delegation_id"]),
        task=_text(front["task"]),
        stop_reason=_text(front["stop_reason"]),
        reasons=_texts(front["reasons"]),
        anchors=tuple(tuple(anchor_from(found) for found in each.get("found", ())) for each in facts),
        commands=tuple(command_from(each) for each in front.get("commands", ())),
        verification=_text(front["verification"]),
        artifact=_text(front["artifact"]),
        blueprint=_text(front.get("blueprint", "")),
    )


def _first_version(front: Mapping[str, Any], agent: str, stem: str, body: str) -> NoteHead:
    """A note of the first version had one text, `Summary`, and no hand-over."""
    known = {name.lower(): value for name, value in front.items()}
    summary = known.get("summary", "")
    conclusion = summary if isinstance(summary, str) and summary.strip() else body.strip().partition("\n\n")[0]

    def said(name: str) -> str:
        value = known.get(name, "")
        return value if isinstance(value, str) else ""

    created = said("created") or said("created_at") or said("time")
    handoff = Handoff(conclusion, status="partial")
    return NoteHead(
        agent=agent,
        stem=stem,
        created=created,
        status="degraded",
        handoff=handoff,
        submitted=False,
        delegation_id=said("delegation_id"),
        task=said("task"),
        reasons=(FIRST_VERSION,),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is expected, not {value!r:.80}")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"a list is expected, not {value!r:.80}")
    return tuple(_text(each) for each in value)


def _one_of(value: object, choices: tuple[Choice, ...]) -> Choice:
    for choice in choices:
        if value == choice:
            return choice
    raise ValueError(f"{value!r:.80} is none of {', '.join(map(str, choices))}")
