"""What a task comes to: the answer and an honest account of how it ended."""

from typing import Literal, TypeAlias

from yagent.protocol.ids import SessionId
from yagent.protocol.messages import Usage
from yagent.protocol.stop import StopReason
from yagent.records import dataclass

Verification: TypeAlias = Literal["verified", "unverified", "stale", "none"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file the task changed, as found on the disk at its end. `before_task`: the user had uncommitted changes in it already."""

    path: str
    change: Literal["created", "modified", "deleted"]
    before_task: bool = False


@dataclass(frozen=True, slots=True)
class DelegationAccount:
    """One delegation of the task."""

    id: str
    name: str  # what it and its result are called: `repo#2`
    role: str
    task: str
    status: str
    stop_reason: StopReason
    steps: int


@dataclass(frozen=True, slots=True)
class DeniedAccount:
    """One call that was refused, and by whom: `user`, `nobody` (none could be asked), `rules`, or `cancelled` while it was asked.
    `advice` says what would allow it, "" where that is nobody's question."""

    agent: str
    tool: str
    subject: str
    answered_by: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of one task. `usage` and `cost` are None when unknown; cost is in US dollars."""

    answer: str
    status: Literal["ok", "partial", "error"]
    stop_reason: StopReason
    exit_code: int
    session: SessionId
    usage: Usage | None = None
    cost: float | None = None
    verification: Verification = "none"
    files_changed: tuple[FileChange, ...] = ()
    delegations: tuple[DelegationAccount, ...] = ()
    denied: tuple[DeniedAccount, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str = ""
