"""What whoever writes a record and whoever reads it have to agree on, beside the records themselves."""

from pathlib import Path

from yagent.protocol.messages import ToolCall, ToolResult
from yagent.records import dataclass

RESUMED = "session_resumed"  # the event after which a stopped run goes on counting its steps
EFFECTS = "effects"  # the event with what a run has changed and run so far
CLOSING = "closing"  # the event before a forced last answer, with the reason; without one the run goes on after all
USER_INPUT = "user_input"  # the event with what the user said, apart from what the program says in his role
COMMAND_ENDED = "command_ended"  # the event with how a command ended, as its own room wrote it
BEGUN = "delegation_begun"  # the event with the call of a delegation whose record is open
BEFORE = "workspace_before"  # the event with the state of the files before a task

UNKNOWN_OUTCOME = "outcome unknown: it may or may not have taken effect; look before you repeat"


def unknown_outcome(call: ToolCall) -> ToolResult:
    """The answer to a call of which nobody knows how it ended."""
    return ToolResult(call.id, call.name, UNKNOWN_OUTCOME, is_error=True)


@dataclass(frozen=True, slots=True)
class Segment:
    """A file, up to the entry with the ordinal `until`; None for all of it."""

    path: Path
    until: int | None = None
