"""Brings calls and their results together while a conversation is read: one tool message after each message with calls."""

from collections.abc import Iterable, Mapping, Sequence

from yagent.protocol.messages import Message, ToolCall, ToolResult
from yagent.rollout.marks import unknown_outcome
from yagent.rollout.reader import Account


class Paired:
    """A conversation as it grows. A message with calls is followed by a place for its results, which is filled when it is known that no
    more can come: with the next message of the agent, or at the end."""

    def __init__(self, account: Account) -> None:
        self.superseded = 0
        self._account = account
        self._messages: list[Message] = []
        self._calls: tuple[ToolCall, ...] = ()  # of the agent's newest message
        self._ids: set[str] = set()
        self._results: dict[str, ToolResult] = {}
        self._place = -1  # where those results belong; -1 when that message made no calls

    def append(self, message: Message) -> None:
        """Add a message that holds no results."""
        if message.role == "assistant":
            self._fill()
        self._messages.append(message)
        calls = message.calls if message.role == "assistant" else ()
        if calls:
            self._calls = calls
            self._ids = {call.id for call in calls}
            self._results = {}
            self._place = len(self._messages)
            self._messages.append(Message("tool", ()))

    def results(self, results: Iterable[ToolResult]) -> bool:
        """Take results for the agent's newest message; the last for a call wins. Tells whether any was."""
        taken = False
        for result in results:
            if result.call_id not in self._ids:
                self._account.note(
                    f"the result of a call {result.call_id} ({result.name}) dropped: the call is not on the record before it"
                )
                continue
            before = self._results.get(result.call_id)
            self.superseded += before is not None and before.text != result.text
            self._results[result.call_id] = result
            taken = True
        return taken

    def goes_on(self) -> bool:
        """Whether a message of the agent now would go on where it stopped itself: it spoke last and made no call."""
        return self._place < 0 and bool(self._messages) and self._messages[-1].role == "assistant"

    def compact(self, replaces: int, messages: Sequence[Message]) -> None:
        """Put `messages` in the place of the first `replaces`. A message with calls and its results are never parted."""
        end = min(max(replaces, 0), len(self._messages))
        if end < replaces:
            self._account.note(f"a compaction replaces {replaces} messages, of which only {end} are on the record")
        if 0 < end < len(self._messages) and self._messages[end].role == "tool":
            end += 1
            self._account.note("a compaction ends between calls and their results; both are replaced")
        instead = Paired(self._account)
        for message in messages:
            if message.role == "tool":
                instead.results(message.results)
            else:
                instead.append(message)
        instead._fill()
        self._messages[:end] = instead._messages
        if self._place >= 0:
            self._place += len(instead._messages) - end
        if self._place < len(instead._messages):
            self._calls, self._ids, self._results, self._place = (), set(), {}, -1

    def end(self) -> tuple[tuple[ToolCall, ...], Mapping[str, ToolResult]]:
        """Nothing more comes. The newest message's calls without a result, and the results of its others when there are such calls: only
        when nothing was said after it, else they are answered as unknown."""
        if self._place == len(self._messages) - 1 and self._place >= 0:
            open_calls = tuple(call for call in self._calls if call.id not in self._results)
            if open_calls:
                self._messages.pop()
                return open_calls, self._results
        self._fill()
        return (), {}

    def settled_messages(self) -> tuple[Message, ...]:
        """The conversation as it stands, with the results that are there."""
        self._fill()
        return tuple(self._messages)

    def messages(self) -> tuple[Message, ...]:
        """The conversation, oldest first."""
        return tuple(self._messages)

    def _fill(self) -> None:
        """Put the results in their place, in call order; an unknown outcome where there is none."""
        if self._place >= 0:
            missing = [call for call in self._calls if call.id not in self._results]
            for call in missing:
                self._account.note(f"the result of call {call.id} ({call.name}) is not on the record: its outcome is unknown")
            self._messages[self._place] = Message(
                "tool", tuple([self._results.get(call.id) or unknown_outcome(call) for call in self._calls])
            )
        self._calls, self._ids, self._results, self._place = (), set(), {}, -1
