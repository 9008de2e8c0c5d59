"""Why a run ended, and the one table from there to exit codes.

The first eleven values and their order are the specification's (I-10); the last four are ours.
"""

from collections.abc import Iterable
from enum import StrEnum


class StopReason(StrEnum):
    """The closed vocabulary of ends, the same for a task and for a delegation."""

    PAUSED = "paused"
    CANCELLED = "cancelled"
    IDLE_TIMEOUT = "idle_timeout"
    TOTAL_TIMEOUT = "total_timeout"
    MAX_STEPS = "max_steps"
    LLM_ERROR = "llm_error"
    CIRCUIT_BREAKER_OPEN = "circuit_breaker_open"
    PANIC = "panic"
    PLAIN_TEXT = "plain_text"
    AGENT_EXIT = "agent_exit"
    UNACCOUNTED = "unaccounted"
    COST_LIMIT = "cost_limit"
    TIME_LIMIT = "time_limit"
    LOOP_DETECTED = "loop_detected"
    CONTEXT_OVERFLOW = "context_overflow"


SUCCESS = 0
FAILED = 1
USAGE = 2
LIMIT = 3
DENIED = 4
UNAVAILABLE = 75
INTERRUPTED = 130
TERMINATED = 143
PIPE_CLOSED = 141

EXIT_CODES: dict[StopReason, int] = {
    StopReason.PAUSED: INTERRUPTED,
    StopReason.CANCELLED: INTERRUPTED,
    StopReason.IDLE_TIMEOUT: LIMIT,
    StopReason.TOTAL_TIMEOUT: LIMIT,
    StopReason.MAX_STEPS: LIMIT,
    StopReason.LLM_ERROR: FAILED,
    StopReason.CIRCUIT_BREAKER_OPEN: UNAVAILABLE,
    StopReason.PANIC: FAILED,
    StopReason.PLAIN_TEXT: SUCCESS,
    StopReason.AGENT_EXIT: SUCCESS,
    StopReason.UNACCOUNTED: FAILED,
    StopReason.COST_LIMIT: LIMIT,
    StopReason.TIME_LIMIT: LIMIT,
    StopReason.LOOP_DETECTED: LIMIT,
    StopReason.CONTEXT_OVERFLOW: LIMIT,
}

# decisions: precedence of exit codes when several apply
PRECEDENCE = (INTERRUPTED, TERMINATED, USAGE, UNAVAILABLE, LIMIT, DENIED, FAILED, SUCCESS)


def strongest(codes: Iterable[int]) -> int:
    """The exit code of a run to which several apply; `FAILED` for none."""
    found = set(codes)
    return next((code for code in PRECEDENCE if code in found), FAILED)
