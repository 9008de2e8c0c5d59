"""The port front ends see. They would work the same against another process: everything that crosses it is frozen data."""

from collections.abc import AsyncIterator
from typing import Any, Protocol, TypeAlias

from yagent.protocol.events import Event
from yagent.protocol.ids import SessionId
from yagent.protocol.ops import Op
from yagent.protocol.result import TaskResult
from yagent.records import dataclass


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a front end needs to draw itself from nothing."""

    session: SessionId
    workspace: str
    model: str
    mode: str
    running: bool


@dataclass(frozen=True, slots=True)
class ListSessions:
    """The recorded sessions of this workspace, newest first."""

    limit: int = 100


Question: TypeAlias = ListSessions


class Client(Protocol):
    """Submit, events, snapshot, query: nothing else."""

    async def submit(self, op: Op) -> TaskResult | None:
        """Carry out an op. `StartTask` returns the task's result from its own future when it ends; every other op returns None."""
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
