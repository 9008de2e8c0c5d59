"""Where a run goes on that was stopped: data, made from the record by whoever has read it."""

from collections.abc import Mapping
from dataclasses import field

from yagent.protocol.messages import Message, ToolCall, ToolResult
from yagent.protocol.stop import StopReason
from yagent.records import dataclass
from yagent.rollout.marks import UNKNOWN_OUTCOME
from yagent.tools.spec import Output


@dataclass(frozen=True, slots=True)
class Resumption:
    """What a stopped run had come to.

    `messages` is its conversation as the record gives it; when the newest reply has calls that still need a result it ends with that reply,
    and `settled` holds the results of its other calls. `step` counts the steps taken, `changed` and `ran` are the effects so far.
    `is_over`: the newest words were accepted as the result already. `closing`: a limit had ended it, and it was on its last words.
    """

    messages: tuple[Message, ...]
    step: int = 0
    settled: Mapping[str, ToolResult] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    is_over: bool = False
    closing: StopReason | None = None

    @property
    def calls(self) -> int:
        """The tool calls made, `agent_exit` aside."""
        return sum(call.name != "agent_exit" for message in self.messages for call in message.calls)

    @property
    def unanswered(self) -> tuple[ToolCall, ...]:
        """The calls of the newest reply that have no result yet."""
        return tuple(call for message in self.messages[-1:] for call in message.calls if call.id not in self.settled)


def unknown_outcome() -> Output:
    """The result of a call that nobody saw end."""
    return Output(UNKNOWN_OUTCOME, is_error=True, summary="outcome unknown")
