"""The append-only log of what a user said and an agent thought: what the third tier of compression rebuilds a conversation from (L-15)."""

from collections.abc import Iterator, Sequence

from yagent.records import dataclass
from yagent.thoughts import grammar
from yagent.thoughts.grammar import PlanItem, Thought


@dataclass(frozen=True, slots=True)
class Entry:
    """Words of the user, or, where `thought` is not None, a block of the agent as it wrote it."""

    text: str
    thought: Thought | None = None


class ThoughtLog:
    """One agent's. It only grows, in the order in which things were said."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._failures = 0

    def recall(self, said: Sequence[tuple[bool, str]]) -> None:
        """Take up what the record has: the words of the user (True) and of the agent, oldest first, whatever was compressed since."""
        for is_user, text in said:
            if is_user:
                self.user(text)
                continue
            for thought, raw in grammar.readings(text):
                self.thought(thought, raw)

    def user(self, text: str) -> None:
        """The user said something; blank text is nothing."""
        if text.strip():
            self._entries.append(Entry(text))

    def thought(self, thought: Thought, raw: str) -> None:
        """The agent thought something; `raw` is the block with its tags."""
        self._entries.append(Entry(raw, thought))

    def unreadable(self) -> None:
        """A reply that should have had a thought had none that can be read."""
        self._failures += 1

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        """Everything, oldest first."""
        return iter(self._entries)

    @property
    def failures(self) -> int:
        """How many replies had no readable thought (L-19)."""
        return self._failures

    @property
    def user_inputs(self) -> tuple[str, ...]:
        """What the user said, oldest first."""
        return tuple(entry.text for entry in self._entries if entry.thought is None)

    def thoughts(self, last_n: int = 0) -> tuple[Thought, ...]:
        """The newest `last_n` thoughts, oldest first; 0 for all."""
        found = [entry.thought for entry in self._entries if entry.thought is not None]
        return tuple(found[-last_n:] if last_n > 0 else found)

    @property
    def open_items(self) -> tuple[PlanItem, ...]:
        """What is not done of the newest plan (L-22). A thought without a plan leaves the plan before it as it is."""
        for entry in reversed(self._entries):
            if entry.thought is not None and entry.thought.plan:
                return entry.thought.open_items
        return ()
