"""A conversation that only grows: in memory, on the record, and in the dialogue that encodes each message once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from yagent.agents.loop.recorder import Recorder
from yagent.llm.engine import Dialogue
from yagent.protocol.messages import Message, ToolResult, Usage, result_message
from yagent.rollout.records import Compacted, ResponseItem


class Conversation:
    """One agent's conversation. It only grows, but where it is rewritten, which is on the record and begins a new epoch.

    `opened()` begins a dialogue with the model.
    """

    def __init__(self, opened: Callable[[], Dialogue], recorder: Recorder) -> None:
        self._open = opened
        self.dialogue = opened()
        self._recorder = recorder
        self._messages: list[Message] = []
        self._gone = 0  # messages that rewriting took away
        self._settled: dict[str, ToolResult] = {}

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was said, oldest first, without the system prompt."""
        return tuple(self._messages)

    @property
    def newest(self) -> Message | None:
        """What was said last."""
        return self._messages[-1] if self._messages else None

    @property
    def count(self) -> int:
        """How many messages were said, those that rewriting took away included."""
        return self._gone + len(self._messages)

    def restore(self, messages: Iterable[Message], settled: Mapping[str, ToolResult]) -> None:
        """Begin with what the record has already; `settled` are its results for calls of the newest reply."""
        for message in messages:
            self.dialogue.append(message)
            self._messages.append(message)
        self._settled = dict(settled)

    def append(self, message: Message, usage: Usage | None = None) -> None:
        """Add a message for good."""
        self.dialogue.append(message)
        self._messages.append(message)
        self._recorder.append(ResponseItem(message, usage))

    def settle(self, result: ToolResult) -> None:
        """Record one result of a batch that is still under way: what ended before a crash is then known after it."""
        self._settled[result.call_id] = result
        self._recorder.append(ResponseItem(result_message(result)))

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Add the results of one reply's calls, in call order. Those on the record already are not written again; one that has changed
        since (a remark came with it) is, and the last one counts."""
        message = result_message(*results)
        self.dialogue.append(message)
        self._messages.append(message)
        new = [result for result in results if self._settled.get(result.call_id) != result]
        self._settled.clear()
        if new:
            self._recorder.append(ResponseItem(result_message(*new)))

    def rewrite(self, replaces: int, messages: Sequence[Message], *, tier: str, identifier: str) -> None:
        """The first `replaces` messages become `messages`. What is said next is said to a dialogue that never knew them."""
        self._messages[:replaces] = messages
        self._gone += replaces - len(messages)
        self.dialogue = self._open()
        for message in self._messages:
            self.dialogue.append(message)
        self._recorder.append(Compacted(replaces, tuple(messages), tier, identifier))

    def words(self, since: int) -> Iterator[str]:
        """What the agent itself said from message number `since` (from 0) on, newest first."""
        return (message.text for message in reversed(self._messages[max(0, since - self._gone) :]) if message.role == "assistant")
