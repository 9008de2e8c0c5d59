"""Answers the isolated questions of an agent's tools from a recording.

A record has no conversation for them: what the model said is the result of the tool. The question begins with one of the call's arguments.
"""

import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from yagent.llm.engine import CallOptions, Completed, Engine, Head, StreamEvent
from yagent.llm.recorded import FREE, RecordedConversation, RecordedEngine
from yagent.llm.scripted import UnknownAgent, task_of
from yagent.protocol.messages import Message, ModelIdentity, Text


class RecordedConsultant:
    """The engine of one tool; implements `Engine`. What the recording does not know, the live engine of `recorded` is asked."""

    def __init__(self, tool: str, conversations: Sequence[RecordedConversation], recorded: RecordedEngine) -> None:
        self._tool = tool
        self._conversations = conversations
        self._recorded = recorded

    @property
    def identity(self) -> ModelIdentity:
        """See `Engine.identity`."""
        return self._recorded.identity

    def open(self, head: Head) -> "_Consultation":
        """See `Engine.open`."""
        return _Consultation(head, self)

    @property
    def live(self) -> Engine | None:
        """Who answers what was not recorded."""
        return self._recorded.live

    async def tell(self, words: str) -> AsyncGenerator[StreamEvent, None]:
        """Say the recorded answer."""
        message = Message("assistant", (Text(words),), self.identity.fingerprint)
        async for event in self._recorded.playback.tell(Completed(message, "stop", FREE, self.identity.model)):
            yield event

    def answer(self, question: str) -> str | None:
        """What the tool answered in the record, None when it was not asked this."""
        for conversation in self._conversations:
            for turn in conversation.turns[: conversation.played]:
                texts = {result.call_id: result.text for result in turn.results if result.name == self._tool and not result.is_error}
                for call in turn.message.calls:
                    if call.id in texts and any(question.startswith(text) for text in _texts(call.arguments)):
                        return texts[call.id]
        return None


class _Consultation:
    """One question; implements `Dialogue`."""

    def __init__(self, head: Head, consultant: RecordedConsultant) -> None:
        self._head = head
        self._consultant = consultant
        self._messages: list[Message] = []

    def append(self, message: Message) -> None:
        """See `Dialogue.append`."""
        self._messages.append(message)

    async def stream(self, options: CallOptions) -> AsyncGenerator[StreamEvent, None]:
        """See `Dialogue.stream`."""
        question = task_of(tuple(self._messages))
        known, live = self._consultant.answer(question), self._consultant.live
        if known is not None:
            events = self._consultant.tell(known)
        elif live is not None:
            dialogue = live.open(self._head)
            for message in self._messages:
                dialogue.append(message)
            events = dialogue.stream(options)
        else:
            raise UnknownAgent(f"The recording has no answer to this question: {question[:120]!r}.")
        async with aclosing(events):
            async for event in events:
                yield event


def _texts(arguments: Any) -> Iterator[str]:
    """The texts in the arguments of a call, also where they were encoded twice."""
    try:
        value = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(arguments, str) and arguments.strip():
        yield arguments
