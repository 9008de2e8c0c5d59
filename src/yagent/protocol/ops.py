"""What a front end can ask of a session. Commands are data, so the client port stays at four methods."""

from typing import TypeAlias

from yagent.protocol.asks import Answer
from yagent.protocol.ids import AskId, DelegationId
from yagent.records import dataclass


@dataclass(frozen=True, slots=True)
class StartTask:
    """Begin a task with the user's words. Refused while another task of this session runs (W-60)."""

    prompt: str


@dataclass(frozen=True, slots=True)
class ResumeTask:
    """Go on exactly where the record of a resumed session ends; nothing is said. Refused unless its last task was stopped or killed."""


@dataclass(frozen=True, slots=True)
class QueueTask:
    """Begin a task when those before it have ended, at once when none runs. Like `StartTask` it gives the result of its own task."""

    prompt: str


@dataclass(frozen=True, slots=True)
class CompactTask:
    """Compress the Director's conversation now, whatever its size (W-39). Its result says in words what came of it, also where there was
    nothing to compress, and what that cost.

    As while a task runs, no other can start meanwhile, and `StopTask` ends it. Refused while a task runs, before the first one, and where
    compression is switched off.
    """


@dataclass(frozen=True, slots=True)
class PauseTask:
    """Let an agent, and whoever works below it, finish the step under way and then stand still: the whole task ("") or a delegation.

    Its timers stand still meanwhile. Asks can be answered, words are kept for its next step. Refused when it is not at work.
    """

    delegation_id: DelegationId = ""


@dataclass(frozen=True, slots=True)
class ContinueTask:
    """Take back a pause. Refused for whatever was not itself paused."""

    delegation_id: DelegationId = ""


@dataclass(frozen=True, slots=True)
class SteerTask:
    """Say something to an agent at work: the Director ("") or a delegation. It joins its conversation before its next step (X-08).

    What comes after the last step is returned by an event and, said to the Director, opens the next task.
    """

    text: str
    delegation_id: DelegationId = ""


@dataclass(frozen=True, slots=True)
class StopTask:
    """End the running task (""), or a single delegation with all below it: its parent is told so and goes on.

    What is in flight is cancelled, each call gets its result and each record its terminal entry. Processes are asked to end before they are
    made to; `hard` makes them at once. Refused when nothing of this kind runs.
    """

    delegation_id: DelegationId = ""
    hard: bool = False
    reason: str = "stopped by the user"


@dataclass(frozen=True, slots=True)
class AnswerAsk:
    """Answer an open ask."""

    ask_id: AskId
    answer: Answer


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Stop what runs and close the session. A task that is paused ends as `paused`; queued ones are refused to who queued them."""


Op: TypeAlias = StartTask | ResumeTask | QueueTask | CompactTask | PauseTask | ContinueTask | SteerTask | StopTask | AnswerAsk | Shutdown
