"""Finds what belongs to a session among the files of its project: the Director's conversation and every delegation.

All of it reads beginnings and ends of files only, and blocks.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from yagent.errors import YagentError
from yagent.protocol.ids import CallId, DelegationId, SessionId
from yagent.protocol.stop import USAGE
from yagent.records import dataclass
from yagent.rollout.marks import Segment
from yagent.rollout.reader import Account, beginning, ending, is_delegation, is_own, session_files
from yagent.rollout.records import SessionMeta


class ForkedFromNothing(YagentError):
    """The session that another one begins in is not on the record."""

    exit_code: ClassVar[int] = USAGE


@dataclass(frozen=True, slots=True)
class ChildRecord:
    """One delegation: all its files. `first` is the ordinal of its first record, `stop_reason` that of its newest terminal record, "" when
    it went on after it or has none. `alone`: the user ended it, and nothing above it."""

    meta: SessionMeta  # of its first file
    segments: tuple[Segment, ...]
    first: int
    stop_reason: str
    alone: bool = False


@dataclass(frozen=True, slots=True)
class SessionRecords:
    """What is recorded of a session. `director` is empty when there is no such session; `position` is the highest ordinal in use."""

    session: SessionId
    director: tuple[Segment, ...]  # the sessions it was forked from first
    delegations: tuple[ChildRecord, ...]  # in the order in which they began
    position: int
    files: tuple[Path, ...]

    def find_child(self, parent_delegation_id: DelegationId, call_id: CallId, after_ordinal: int) -> ChildRecord | None:
        """The delegation that a call started whose message has the ordinal `after_ordinal`; its parent is "" for the Director."""
        for child in reversed(self.delegations):
            meta = child.meta
            call = meta.call_id or meta.delegation_id  # the first program recorded only the latter, which is the call's own id
            if (meta.parent_delegation_id, call) == (parent_delegation_id, call_id) and child.first > after_ordinal:
                return child
        return None


def session_records(directory: Path, session_id: SessionId, account: Account) -> SessionRecords:
    """The files of one session, its exact id given; what is left out of them stands in the account.

    Raises ForkedFromNothing when the session begins in another one that is not there (or in itself), OSError when `directory` or a file
    cannot be read.
    """
    own = [path for path in session_files(directory, session_id).get(session_id, []) if is_own(path, account)]
    begun = {path: beginning(path) for path in own}
    ended = {path: ending(path) for path in own}
    director, inherited = _director(directory, [path for path in own if not is_delegation(path)], (session_id,), account)
    delegations: list[ChildRecord] = []
    for path in sorted((path for path in own if is_delegation(path)), key=lambda path: begun[path].first):
        meta = begun[path].meta
        if meta is None:
            account.note(f"{path.name}: left out (its first record, which tells whose it is, cannot be read)")
            continue
        stop_reason = str(ended[path].terminal.get("stop_reason", ""))
        alone = ended[path].terminal.get("alone") is True
        before = _continued(meta, delegations)
        if before is None:
            delegations.append(ChildRecord(meta, (Segment(path),), begun[path].first, stop_reason, alone))
        else:
            child = delegations[before]
            delegations[before] = replace(child, segments=(*child.segments, Segment(path)), stop_reason=stop_reason, alone=alone)
    position = max([inherited, *(end.position for end in ended.values())])
    return SessionRecords(session_id, director, tuple(delegations), position, tuple(own))


def _continued(meta: SessionMeta, delegations: Sequence[ChildRecord]) -> int | None:
    """The delegation that a file goes on with: the newest of its id. Ids are used again from task to task."""
    if not meta.continues:
        return None
    ids = [child.meta.delegation_id for child in delegations]
    return len(ids) - 1 - ids[::-1].index(meta.delegation_id) if meta.delegation_id in ids else None


def _director(directory: Path, files: Sequence[Path], descent: tuple[SessionId, ...], account: Account) -> tuple[tuple[Segment, ...], int]:
    """The Director's conversation, with what it began with in other sessions, and up to which ordinal that is. `descent` are the sessions
    on the way here, the newest last."""
    segments = tuple(Segment(path) for path in files)
    meta = next((begun.meta for begun in map(beginning, files) if begun.meta is not None), None)
    if meta is None or not meta.forked_from:
        return segments, 0
    parent, until = meta.forked_from.get("session"), meta.forked_from.get("ordinal")
    if not isinstance(parent, str) or not isinstance(until, int) or parent in descent:
        raise ForkedFromNothing(f"Session {descent[-1]} does not say in which session it begins ({files[0]}). It cannot be continued.")
    above = session_files(directory, parent).get(parent, [])
    parents = [path for path in above if not is_delegation(path) and is_own(path, account)]
    if not parents:
        raise ForkedFromNothing(
            f"Session {descent[-1]} begins in session {parent}, whose record is not in {directory} any more. Put it back, or start anew."
        )
    inherited, _ = _director(directory, parents, (*descent, parent), account)
    return (*(_up_to(segment, until) for segment in inherited), *segments), until


def _up_to(segment: Segment, until: int) -> Segment:
    return Segment(segment.path, until if segment.until is None else min(until, segment.until))
