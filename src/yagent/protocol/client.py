"""The port front ends see. They would work the same against another process: everything that crosses it is frozen data."""

from collections.abc import AsyncIterator
from typing import Any, Protocol, TypeAlias

from yagent.protocol.events import Event
from yagent.protocol.events.shared import CompressionTier
from yagent.protocol.ids import DelegationId, SessionId
from yagent.protocol.ops import Op
from yagent.protocol.result import TaskResult
from yagent.records import dataclass


@dataclass(frozen=True, slots=True)
class RunningAgent:
    """An agent at work: the Director ("") or a delegation, and who delegated. `step` counts steps begun.

    `paused`: it will not begin another step; `stands_still`: it has come to that point. `steering` is what it will be told before its next
    step.
    """

    delegation_id: DelegationId
    parent_delegation_id: DelegationId
    role: str
    step: int
    paused: bool
    stands_still: bool
    steering: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CompressionStatistics:
    """What one tier of compression did since the session was opened, to the conversations of all its agents together (L-20).

    Sizes are estimates in tokens: `saved_tokens` all that was saved, `original_tokens` the largest conversation that was compressed.
    """

    tier: CompressionTier
    count: int
    saved_tokens: int
    original_tokens: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a front end needs to draw itself from nothing. `agents` are those at work, whoever delegates before whom it delegates to;
    `queued` are the words of the tasks that wait. `resumable`: it is on record, and may be gone on with after it was closed. `began_with`:
    the user's words that began a session that was opened again, "" for a new one. `compressions` are those of each tier that ran."""

    session: SessionId
    workspace: str
    model: str
    mode: str
    running: bool
    paused: bool = False
    agents: tuple[RunningAgent, ...] = ()
    queued: tuple[str, ...] = ()
    resumable: bool = False
    began_with: str = ""
    compressions: tuple[CompressionStatistics, ...] = ()


@dataclass(frozen=True, slots=True)
class ListSessions:
    """The recorded sessions of this workspace, newest first."""

    limit: int = 100


@dataclass(frozen=True, slots=True)
class ListUnderWay:
    """The agents that were under way when a resumed session was stopped, the Director first; nothing in any other session."""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """One of them. `reasons` say why it does not go on, as codes: its parent is given a report instead; empty when it goes on at `step`."""

    agent: str
    delegation_id: DelegationId
    step: int
    task: str
    reasons: tuple[str, ...] = ()


Question: TypeAlias = ListSessions | ListUnderWay


class Client(Protocol):
    """Submit, events, snapshot, query: nothing else."""

    async def submit(self, op: Op) -> TaskResult | None:
        """Carry out an op. Those that begin a task return its result, from its own future, when it ends; every other op returns None.

        What cannot be done now (no task runs, no such agent at work, a task runs already) is an error that says so.
        """
        ...

    def events(self) -> AsyncIterator[Event]:
        """Everything from now on. Only `ai_chunk` may be missing, and gaps in `seq` show it."""
        ...

    def snapshot(self) -> Snapshot:
        """The state now."""
        ...

    async def query(self, question: Question) -> Any:
        """Answer a question about lists and files; the answer's type belongs to the question's."""
        ...
