"""What one run works within: its record, its timers, its voice, and what the whole task shares."""

from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import TypeAlias

from yagent.agents.loop.recorder import Recorder
from yagent.agents.loop.result import RunResult
from yagent.agents.loop.task import TaskAccount
from yagent.protocol.events import Event, Payload
from yagent.protocol.result import DeniedAccount
from yagent.records import dataclass
from yagent.rollout.records import AgentCheckpoint
from yagent.runtime.activity import Activity
from yagent.runtime.bus import Publisher
from yagent.runtime.clock import Clock
from yagent.runtime.gate import Gate

EventPublisher: TypeAlias = Publisher[Payload, Event]


async def no_checkpoint(result: RunResult) -> AgentCheckpoint | None:
    """Runs are not meant to be taken up again."""
    return None


@dataclass(frozen=True, slots=True)
class Frame:
    """`account` is the task's, `gate` below that of whoever delegated; the rest is this run's own. `denials` are what it was refused.

    `checkpoint(result)` gives what is kept at the end of the run so that a later one can go on from it, None when nothing is; the recorder
    fills in what depends on the record itself. `ended_alone()`: the user ended this run and nothing above it.
    `running()` names what goes on beside the run.
    """

    recorder: Recorder
    activity: Activity
    publisher: EventPublisher
    clock: Clock
    gate: Gate
    account: TaskAccount
    denials: list[DeniedAccount] = field(default_factory=list)
    checkpoint: Callable[[RunResult], Awaitable[AgentCheckpoint | None]] = no_checkpoint
    ended_alone: Callable[[], bool] = lambda: False
    running: Callable[[], tuple[str, ...]] = lambda: ()

    def denied(self, denied: DeniedAccount) -> None:
        """Keep a refusal, for this run and for the task."""
        self.denials.append(denied)
        self.account.denials.append(denied)
