"""What differs from agent to agent inside the one loop, as plain callables."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from yagent.protocol.messages import Message
from yagent.records import dataclass
from yagent.thoughts.grammar import Thought


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the model as the hooks see it. `delegated`: this run has delegated before."""

    message: Message
    thought: Thought | None
    step: int
    delegated: bool


async def no_hint() -> str:
    """Nothing to say."""
    return ""


@dataclass(frozen=True, slots=True)
class LoopHooks:
    """`at_gate(steps)` is held while the run passes its gate, open or not. `steering()` gives what the user said meanwhile; it joins before
    the next step. `on_plain_text(reply)` answers a reply without tool calls: a reminder keeps the run going, None accepts the reply as the
    result. `hint()` gives what the next request alone says beside the conversation (board, approvals), "" for nothing. None of them may
    block or raise.
    """

    steering: Callable[[], Sequence[str]] = lambda: ()
    on_plain_text: Callable[[Reply], str | None] = lambda reply: None
    hint: Callable[[], Awaitable[str]] = no_hint
    at_gate: Callable[[int], AbstractContextManager[None]] = lambda steps: nullcontext()


def nudging(limit: int, text: str) -> Callable[[Reply], str | None]:
    """A plain-text policy that sends `text` up to `limit` times in a run, then accepts."""
    sent = 0

    def remind(reply: Reply) -> str | None:
        nonlocal sent
        if sent >= limit:
            return None
        sent += 1
        return text

    return remind
