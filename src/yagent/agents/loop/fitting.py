"""Makes a conversation fit its model before each request: measures it, asks the policy, and carries out what it decides.

Only here a conversation is rewritten, at the safe point where every call has its result (X-10); each rewriting is on the record and told.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from yagent.agents.loop.conversation import Conversation
from yagent.agents.loop.frame import Frame
from yagent.compression.compaction import Compaction, Facts, Summarise, Tier
from yagent.compression.measure import Prefix, at_most
from yagent.compression.policy import policy
from yagent.compression.state import CompressionState, Streak
from yagent.compression.threshold import CompressionSettings, Window
from yagent.llm.engine import ModelGaveUp
from yagent.prompts.text import Prompts
from yagent.protocol.client import CompressionStatistics
from yagent.protocol.events import ContextCompressed, ContextEmergencyCompressed, ContextUltimateCompressed
from yagent.protocol.messages import Message, Usage
from yagent.records import dataclass
from yagent.thoughts.log import ThoughtLog

FIRST_WORDS = 8  # messages among which a conversation that has begun has one of the agent's
HEAD = 12_000  # tokens that system prompt and tools surely do not exceed
_EVENTS: dict[Tier, type[ContextCompressed | ContextEmergencyCompressed | ContextUltimateCompressed]] = {
    "rule": ContextCompressed,
    "emergency": ContextEmergencyCompressed,
    "ultimate": ContextUltimateCompressed,
}


class LearningCounter(Protocol):
    """Counts tokens, and learns from what a provider reports."""

    def count(self, text: str) -> int: ...

    def of_message(self, message: Message) -> int: ...

    def observe(self, messages: Sequence[Message], reported: int) -> None: ...

    def forget(self) -> None: ...


@dataclass(frozen=True, slots=True)
class FittingParts:
    """What fitting takes. `head()` is the estimate for system prompt and tools in tokens, `load()` makes counts as exact as they can be,
    `name` is what compressions are called before their number, `summary_limit` what a request for a summary may have in tokens because of
    the model that is asked, None for as many as the conversation."""

    counter: LearningCounter
    prompts: Prompts
    settings: CompressionSettings
    window: Window
    threshold: int
    head: Callable[[], int]
    priority: Callable[[str], int]
    load: Callable[[], Awaitable[None]]
    name: str = ""
    summary_limit: int | None = None


async def no_summary(prompt: str) -> str:
    """Nobody can be asked."""
    raise ModelGaveUp("No model can be asked for a summary here.")


class Fitting:
    """Fits one conversation, for as long as it lasts. `begun` is how often it was rewritten before, in an earlier process."""

    def __init__(self, conversation: Conversation, thoughts: ThoughtLog, parts: FittingParts, *, begun: int = 0) -> None:
        self._conversation = conversation
        self._thoughts = thoughts
        self._parts = parts
        self._prefix: Prefix | None = None
        self._is_loaded = False
        self._streak = Streak()
        self._count = begun
        self._dropped: dict[str, str] = {}
        self.done: list[CompressionStatistics] = []  # one for each time it was rewritten in this process
        self.standing = ""  # where the agent works and by which rules of the project: it survives every rewriting

    @property
    def size(self) -> int:
        """About how many tokens the next request has."""
        return self._known().size(self._conversation.messages)

    def dropped(self, identifier: str) -> str | None:
        """A text that this process took out of the conversation, by the id that stands in its place."""
        return self._dropped.get(identifier)

    def replied(self, usage: Usage | None) -> None:
        """The newest message is a reply, with what its call reported."""
        messages, before = self._conversation.messages, self._known()
        if usage is not None and (told := before.told(messages[:-1], usage)):
            self._parts.counter.observe(*told)
        self._prefix = before.measured(messages, usage)

    async def fit(self, frame: Frame, step: int, changed: Sequence[str], summarise: Summarise, *, is_forced: bool = False) -> bool:
        """Before a request: compress where that is needed, or (`is_forced`) whatever the estimate says. Whether anything changed.

        Raises `ContextFull` when the conversation cannot be made to fit.
        """
        if not self._parts.settings.enable_context_compression:
            return False
        if not is_forced and all(message.role == "user" for message in self._conversation.messages[:FIRST_WORDS]):
            return False  # what the user says first goes out whole; whether it fits, the provider knows
        if self._prefix is None and not is_forced and self._is_small():
            return False  # the first request is not made to wait for counting
        if not self._is_loaded:
            self._is_loaded = True
            await self._parts.load()
        state = CompressionState(
            messages=self._conversation.messages,
            prefix=self._known(),
            threshold=self._parts.threshold,
            window=self._parts.window,
            id=f"{self._parts.name}c{self._count + 1}",
            thoughts=self._thoughts,
            prompts=self._parts.prompts,
            settings=self._parts.settings,
            streak=self._streak,
            is_forced=is_forced,
            summary_limit=self._parts.summary_limit,
        )
        compaction = await policy(state, self._parts.priority, self._facts(frame, changed), summarise)
        if not is_forced:
            self._streak = self._streak.after(compaction)
        if compaction is None:
            return False
        self._carry_out(compaction, frame, step)
        return True

    def _carry_out(self, compaction: Compaction, frame: Frame, step: int) -> None:
        self._count += 1
        self._dropped.update({each.id: each.text for each in compaction.dropped})
        self._conversation.rewrite(compaction.replaces, compaction.messages, tier=compaction.tier, identifier=compaction.id)
        if compaction.tier == "rule":
            self._prefix = self._known().shortened(compaction.saved)
        else:
            self._prefix = self._known().void()
            self._parts.counter.forget()
        self.done.append(CompressionStatistics(compaction.tier, 1, compaction.saved, compaction.before))
        for note in compaction.notes:
            frame.account.warn(note)
        told = _EVENTS[compaction.tier]
        frame.publisher.publish(
            told(
                tier=compaction.tier,
                original_tokens=compaction.before,
                saved_tokens=compaction.saved,
                threshold=self._parts.threshold,
                step=step,
            )
        )

    def _is_small(self) -> bool:
        """Whether the conversation is far below the threshold, without counting."""
        return at_most(self._conversation.messages) + HEAD < self._parts.threshold

    def _known(self) -> Prefix:
        """What is known of the beginning of the conversation; the head is counted when it is first asked for."""
        if self._prefix is None:
            self._prefix = Prefix(self._parts.counter, self._parts.head())
        return self._prefix

    def _facts(self, frame: Frame, changed: Sequence[str]) -> Facts:
        """What survives whatever a summary says: from the record of what was said and done."""
        log = self._thoughts
        goal = next((thought.goal for thought in reversed(log.thoughts()) if thought.goal), "")
        inputs = log.user_inputs
        return Facts(
            goal=goal or (inputs[0] if inputs else ""),
            user_inputs=inputs,
            rules=(self.standing,) if self.standing else (),
            open_items=tuple(item.text for item in log.open_items),
            files_changed=tuple(changed),
            running=frame.running(),
        )
