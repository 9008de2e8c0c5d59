"""The one stop classifier: from what ended a run to why."""

import asyncio
from typing import ClassVar

from yagent.compression.policy import ContextFull
from yagent.errors import YagentError
from yagent.llm.engine import ContextTooLong, ModelError
from yagent.protocol.stop import LIMIT, UNAVAILABLE, StopReason
from yagent.runtime.activity import IdleTimeoutError, TaskTimeoutError, TotalTimeoutError
from yagent.runtime.gate import AbandonedError


class LimitReached(YagentError):
    """A limit of the run or of its task ended it."""

    exit_code: ClassVar[int] = LIMIT

    def __init__(self, reason: StopReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class UnansweredError(TotalTimeoutError):
    """The time of a run was over before its model gave any reply: the provider's trouble, which may pass."""

    exit_code: ClassVar[int] = UNAVAILABLE


class Panic(YagentError):
    """Something failed that should not have: a defect of ours, reported with the run it ended."""


def classify(error: BaseException) -> StopReason:
    """Why a run ended that was ended by `error`.

    Time limits and a stop at the pause gate come before cancellation, because they surface through it (I-11).
    """
    match error:
        case LimitReached():
            return error.reason
        case IdleTimeoutError():
            return StopReason.IDLE_TIMEOUT
        case TaskTimeoutError():
            return StopReason.TIME_LIMIT
        case TotalTimeoutError():
            return StopReason.TOTAL_TIMEOUT
        case AbandonedError():
            return StopReason.PAUSED
        case asyncio.CancelledError():
            return StopReason.CANCELLED
        case ContextTooLong() | ContextFull():
            return StopReason.CONTEXT_OVERFLOW
        case ModelError():
            return StopReason.LLM_ERROR
        case _:
            return StopReason.PANIC
