"""What `context_refs` name: earlier results that a delegation is given whole, besides the index it sees anyway (F-24)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from yagent.blackboard.artifacts import NoSuchArtifact, is_artifact_id
from yagent.blackboard.board import Board, NoSuchNote
from yagent.blackboard.index import note_text
from yagent.records import dataclass

MAX_REFERENCES: Final = 10
MOST_NAMED: Final = 10  # of the notes that could have been meant
_QUOTES: Final = " \t\n`'\"[]()<>"
_FORMS: Final = ("agent", "note")


@dataclass(frozen=True, slots=True)
class ContextPack:
    """The texts by the reference that named them, the references that lead nowhere, those beyond the limit, and where some lead nowhere,
    the ids of the newest notes that there are."""

    texts: tuple[tuple[str, str], ...] = ()
    unresolved: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


async def resolve(references: Sequence[str], board: Board, artifact: Callable[[str], Awaitable[str]]) -> ContextPack:
    """Look up `agent:repo#2`, `agent:repo` (the newest; `repo_agent` is the same), `note:<id>`, `artifact:<id>`, or a bare id of a note
    or an artifact, in any brackets or quotes.

    Doubles are removed, also those that name one text in two ways; ten are given at most. `artifact(id)` raises NoSuchArtifact.
    """
    wanted = list(dict.fromkeys(reference.strip() for reference in references if reference.strip()))
    texts: dict[str, tuple[str, str]] = {}
    unresolved = []
    for reference in wanted[:MAX_REFERENCES]:
        try:
            identity, text = await _text(reference, board, artifact)
        except (NoSuchNote, NoSuchArtifact):
            unresolved.append(reference)
        else:
            texts.setdefault(identity, (reference, text))
    notes = (await board.notes()).notes if unresolved else ()
    return ContextPack(
        tuple(texts.values()), tuple(unresolved), tuple(wanted[MAX_REFERENCES:]), tuple(each.head.id for each in notes[:MOST_NAMED])
    )


async def _text(reference: str, board: Board, artifact: Callable[[str], Awaitable[str]]) -> tuple[str, str]:
    """What a reference names, by its one identity."""
    plain = reference.strip(_QUOTES)
    form, colon, name = plain.partition(":")
    form = form.strip().lower()
    if form == "artifact" and colon:
        return f"artifact:{name.strip()}", await artifact(name.strip())
    if is_artifact_id(plain):
        return f"artifact:{plain}", await artifact(plain)
    note, shown = await board.read(name if form in _FORMS and colon else plain)
    return note.head.id, note_text(note, shown.verdicts)
