"""A conversation that only grows: in memory, on the record, and in the dialogue that encodes each message once."""

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
    def last(self) -> Message | None:
        """The newest message."""
        return self._messages[-1] if self._messages else None

    def append(self, message: Message, usage: Usage | None = None) -> None:
        """Add a message for good."""
        self.dialogue.append(message)
        self._messages.append(message)
        self._recorder.append(ResponseItem(message, usage))

    def last_words(self) -> str:
        """The newest words of the agent itself, "" when it has said none."""
        return next((message.text for message in reversed(self._messages) if message.role == "assistant" and message.text.strip()), "")
