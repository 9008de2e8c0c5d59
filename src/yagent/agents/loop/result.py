"""What one run of one agent came to."""

from yagent.blackboard.note import handoff_text
from yagent.errors import YagentError
from yagent.protocol.handoff import Handoff
from yagent.protocol.stop import EXIT_CODES, SUCCESS, StopReason, strongest
from yagent.records import dataclass


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    `deliverable` is the result when the run ended by itself (`is_finished`), otherwise the last words it said, which are unfinished work.
    `error` is set when something failed. `calls` counts the tool calls of the run (`agent_exit` aside), `changed` names the files that its
    file tools changed, `ran` the commands that ended after the last of these changes: what really happened, whatever the agent says of it.
    Who `owes_handoff` is not done by words alone.
    """

    stop_reason: StopReason
    deliverable: str
    steps: int
    handoff: Handoff | None = None
    error: YagentError | None = None
    notes: tuple[str, ...] = ()
    calls: int = 0
    changed: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    owes_handoff: bool = False

    @property
    def is_finished(self) -> bool:
        """The agent itself said it was done."""
        return self.stop_reason in (StopReason.AGENT_EXIT, StopReason.PLAIN_TEXT) and self.error is None

    @property
    def status(self) -> str:
        """`ok`, `partial` or `error`: the agent's own word where it finished, ours where it did not."""
        if self.is_finished and self.deliverable.strip():
            if self.handoff is not None:
                return self.handoff.status
            return "partial" if self.notes or self.owes_handoff else "ok"
        return "error" if self.error is not None or not self.deliverable.strip() else "partial"

    @property
    def exit_code(self) -> int:
        """The exit code this end stands for, by the one table of `protocol.stop`; an error's own class may say more."""
        code = EXIT_CODES[self.stop_reason]
        if self.error is not None:
            return self.error.exit_code if code <= 1 else strongest((code, self.error.exit_code))
        return 1 if code == SUCCESS and self.status == "error" else code


def exit_deliverable(handoff: Handoff | None, reason: str, text: str) -> str:
    """The result of a run that ends by `agent_exit`: the hand-over, or that same message's text when it is longer than the conclusion."""
    if handoff is not None and len(text) <= len(handoff.conclusion):
        return handoff_text(handoff) or reason.strip()
    return text or reason.strip()
