"""A conversation that only grows: in memory, on the record, and in the dialogue that encodes each message once."""

from collections.abc import Iterator

from yagent.agents.loop.recorder import Recorder
from yagent.llm.engine import Dialogue
from yagent.protocol.messages import Message, Usage
from yagent.rollout.records import ResponseItem


class Conversation:
    """One epoch of one agent's conversation."""

    def __init__(self, dialogue: Dialogue, recorder: Recorder) -> None:
        self.dialogue = dialogue
        self._recorder = recorder
        self._messages: list[Message] = []

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was said, oldest first, without the system prompt."""
        return tuple(self._messages)

    @property
    def count(self) -> int:
        """How many messages there are."""
        return len(self._messages)

    def append(self, message: Message, usage: Usage | None = None) -> None:
        """Add a message for good."""
        self.dialogue.append(message)
        self._messages.append(message)
        self._recorder.append(ResponseItem(message, usage))

    def words(self, since: int) -> Iterator[str]:
        """What the agent itself said from message number `since` (from 0) on, newest first."""
        return (message.text for message in reversed(self._messages[since:]) if message.role == "assistant")
