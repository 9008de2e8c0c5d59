"""What a compression takes from the agent, and what it comes to."""

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from yagent.protocol.messages import Message
from yagent.records import dataclass

Tier: TypeAlias = Literal["rule", "emergency", "ultimate"]
Summarise: TypeAlias = Callable[[str], Awaitable[str]]  # asks a model


@dataclass(frozen=True, slots=True)
class Facts:
    """From the record, not from the model. `user_inputs` oldest first, `rules` those of the project, `running` what goes on meanwhile."""

    goal: str = ""
    user_inputs: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    open_items: tuple[str, ...] = ()
    files_changed: tuple[str, ...] = ()
    running: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """A text that is no longer in the conversation, under the id by which the conversation names it.

    `call_id` is that of the tool result it was; "" for all that a rewrite left out.
    """

    id: str
    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Compaction:
    """The first `replaces` messages become `messages`. `before`, `after`: estimated tokens of the whole conversation without its head."""

    tier: Tier
    id: str
    replaces: int
    messages: tuple[Message, ...]
    before: int
    after: int
    dropped: tuple[Dropped, ...]
    notes: tuple[str, ...] = ()  # what went wrong on the way, for people
    has_room: bool = True  # False: it fits, but the next step may need another
    requests: int = 0  # made to a model for a summary

    @property
    def saved(self) -> int:
        """Estimated tokens saved."""
        return self.before - self.after
