"""What a front end can ask of a session. Commands are data, so the client port stays at four methods."""

from typing import TypeAlias

from yagent.protocol.asks import Answer
from yagent.protocol.ids import AskId, TaskId
from yagent.records import dataclass


@dataclass(frozen=True, slots=True)
class StartTask:
    """Begin a task with the user's words. Refused while another task of this session runs (W-60)."""

    prompt: str


@dataclass(frozen=True, slots=True)
class ResumeTask:
    """Go on exactly where the record of a resumed session ends; nothing is said. Refused where the last task ended otherwise than by a stop."""


@dataclass(frozen=True, slots=True)
class StopTask:
    """End the running task. Graceful: the step in flight is cancelled, results are completed, the record gets its terminal entry."""

    task_id: TaskId = ""
    reason: str = "stopped by the user"


@dataclass(frozen=True, slots=True)
class AnswerAsk:
    """Answer an open ask."""

    ask_id: AskId
    answer: Answer


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Stop what runs and close the session."""


Op: TypeAlias = StartTask | ResumeTask | StopTask | AnswerAsk | Shutdown
