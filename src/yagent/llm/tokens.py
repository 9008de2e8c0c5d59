"""Counts tokens without asking anybody: exactly where the model's vocabulary is on this machine, else by an estimate that learns.

Each message is counted once, so that the size of a conversation that grows costs what is new. What providers report about requests corrects
the estimates, for each model, and is kept (`token_calibration`).
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from yagent.llm import json_text
from yagent.llm.token_calibration import Calibration, CalibrationStore, Fitting
from yagent.llm.token_estimate import Size, estimate
from yagent.llm.token_ranks import exact_counter
from yagent.protocol.messages import Message, Part, Reasoning, ToolCall, ToolDeclaration, ToolResult

_REMEMBERED = 4096  # messages
_LARGEST_EXACT = 200_000  # characters; what is larger is estimated, because some texts take a tokenizer very long
_SEALED = 6  # characters of reasoning that we cannot read, for each of its tokens

# What a provider puts around the words, in tokens.
_MESSAGE = 4
_CALL = 8
_RESULT = 4
_TOOL = 10


class TokenCounter:
    """Counts for one model (`ModelIdentity.fingerprint`). With a `store` it begins with what earlier runs learned."""

    def __init__(self, fingerprint: str, store: CalibrationStore | None = None) -> None:
        self._fingerprint = fingerprint
        self._store = store
        self._fitting: Fitting | None = None
        self._exact: Callable[[str], int] | None = None
        self._known: dict[int, tuple[Message, Size]] = {}

    async def load(self, folders: Sequence[Path]) -> None:
        """Look for the model's vocabulary in `token_ranks.rank_folders`; meanwhile, and without one, counts are estimates. No network."""
        model = self._fingerprint.split(":", 2)[-1]
        self._exact = await exact_counter(model, folders)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self._tokens(self._size(text))

    def of_message(self, message: Message) -> int:
        """Tokens of a message with all its parts, reasoning included. Messages are told apart by identity and remembered."""
        return self._tokens(self._of_message(message))

    def of_head(self, system: str, tools: Sequence[ToolDeclaration]) -> int:
        """Tokens of a system prompt and the declared tools."""
        size = self._size(system) + Size(exact=_MESSAGE)
        for tool in tools:
            size += self._size(f"{tool.name}\n{tool.description}\n{json_text.dumps(tool.parameters)}") + Size(exact=_TOOL)
        return self._tokens(size)

    def observe(self, messages: Sequence[Message], reported: int) -> None:
        """The provider counted `reported` tokens for these messages: a request's input less the part of it that was known before."""
        size = sum(map(self._of_message, messages), Size())
        self._learned.observe(size, reported)
        if self._store is not None and self._learned.calibration.seen:
            self._store.put(self._fingerprint, self._learned.calibration)

    def forget(self) -> None:
        """Let go of the messages counted so far: their conversation was rewritten."""
        self._known.clear()

    @property
    def _learned(self) -> Fitting:
        if self._fitting is None:
            self._fitting = Fitting(Calibration() if self._store is None else self._store.get(self._fingerprint))
        return self._fitting

    def _tokens(self, size: Size) -> int:
        return round(self._learned.calibration.tokens(size))

    def _size(self, text: str) -> Size:
        if self._exact is None or len(text) > _LARGEST_EXACT:
            return estimate(text)
        return Size(exact=self._exact(text))

    def _of_message(self, message: Message) -> Size:
        known = self._known.get(id(message))
        if known is not None:
            return known[1]  # the message is kept beside its size, so its identity is not given to another
        if len(self._known) >= _REMEMBERED:
            for key in list(self._known)[: _REMEMBERED // 2]:
                del self._known[key]
        size = sum(map(self._of_part, message.parts), Size(exact=_MESSAGE))
        self._known[id(message)] = (message, size)
        return size

    def _of_part(self, part: Part) -> Size:
        match part:
            case ToolCall():
                return self._size(part.name) + self._size(part.arguments) + Size(exact=_CALL)
            case ToolResult():
                return self._size(part.text) + Size(exact=_RESULT)
            case Reasoning(text="", opaque=opaque) if opaque is not None:
                return Size(exact=sum(map(len, _texts(opaque))) // _SEALED)
            case _:
                return self._size(part.text)


def _texts(value: Any) -> Iterator[str]:
    """All texts inside JSON data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
