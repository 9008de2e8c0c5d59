"""A counter whose numbers can be checked by hand, and conversations to compress."""

from collections.abc import Sequence

from yagent.protocol.messages import Message, Reasoning, Text, ToolCall, ToolResult, result_message, user_message

PRIORITIES = {"read_file": 10, "run_bash": 20, "design": 100}


class FourCharacters:
    """A token for every four characters begun; remembers how many characters it looked at."""

    def __init__(self) -> None:
        self.looked_at = 0
        self._known: dict[int, tuple[Message, int]] = {}

    def count(self, text: str) -> int:
        self.looked_at += len(text)
        return -(-len(text) // 4)

    def of_message(self, message: Message) -> int:
        known = self._known.get(id(message))
        if known is None:
            known = self._known[id(message)] = (message, sum(map(self._part, message.parts)))
        return known[1]

    def _part(self, part: Text | Reasoning | ToolCall | ToolResult) -> int:
        return self.count(part.arguments if isinstance(part, ToolCall) else part.text)


def priority(tool: str) -> int:
    return PRIORITIES.get(tool, 10)


def step(number: int, result: str, tool: str = "read_file", words: str = "") -> tuple[Message, Message]:
    """One call and its result."""
    said = (Text(words),) if words else ()
    call = ToolCall(f"call_{number}", tool, f'{{"path":"file_{number}.py"}}')
    return Message("assistant", (*said, call), "test"), result_message(ToolResult(call.id, tool, result))


def conversation(results: Sequence[str], opening: str = "make total() round half up") -> tuple[Message, ...]:
    """A task and a step for each result."""
    return (user_message(opening), *(message for number, text in enumerate(results) for message in step(number, text)))


def lines(tokens: int, name: str = "line") -> str:
    """A text of about as many tokens, in lines that can be told apart."""
    count = max(tokens // 5, 1)
    return "\n".join(f"{name} {number:06d} text"[:19].ljust(19, ".") for number in range(count))


def pairs_are_whole(messages: Sequence[Message]) -> bool:
    """Whether each call has its one result right after it and no result is without its call."""
    waiting: list[str] = []
    for message in messages:
        answered = [result.call_id for result in message.results]
        if answered != waiting:
            return False
        waiting = [call.id for call in message.calls]
    return not waiting
