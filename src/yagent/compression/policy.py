"""Whether and how a conversation is compressed before its next request: the cheapest tier that makes room (L-01).

Room is what the threshold leaves beside system prompt and tools. The first tier aims at half of it, the others stay below six tenths, and a
tier that leaves less than a quarter free gives way to the next. What leaves no more is tried twice in a row; then `ContextFull` ends it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from yagent.compression.compaction import Compaction, Dropped, Tier
from yagent.compression.emergency import Summarise, emergency
from yagent.compression.facts import Facts, listed
from yagent.compression.frame import Frame
from yagent.compression.measure import Prefix, over_threshold
from yagent.compression.rule import Rule, Shortened, shorten
from yagent.compression.threshold import CompressionSettings, Window
from yagent.compression.transcript import whole
from yagent.compression.ultimate import ultimate
from yagent.errors import YagentError
from yagent.prompts.text import Prompts
from yagent.protocol.messages import Message
from yagent.records import dataclass
from yagent.thoughts.log import ThoughtLog

TRIES = 2
_FORCED = 0.7  # of its size, without its head: what a conversation is brought under that has to shrink whatever the threshold says
_REWRITTEN = 0.6  # of the room: what a rewritten conversation may take


class ContextFull(YagentError):
    """What has to stay in the conversation leaves the model no room to work."""

    exit_code: ClassVar[int] = 3


@dataclass(frozen=True, slots=True)
class Streak:
    """Compressions in steps that follow one another directly."""

    cramped: int = 0  # how many made no room
    summaries: int = 0  # how many requests for a summary were made

    def after(self, compaction: Compaction | None) -> "Streak":
        """After a step began; None when it began without a compression."""
        if compaction is None:
            return Streak()
        return Streak(0 if compaction.has_room else self.cramped + 1, self.summaries + compaction.requests)


@dataclass(frozen=True, slots=True)
class CompressionState:
    """What is to be compressed. `id` names this compression in the conversation; `is_forced`: the user asked for it, or the provider found
    the request too long, whatever the estimate says. `summary_limit`: how many tokens a request for a summary may have at most because of
    the model that is asked, which may be another one; None for as many as the conversation."""

    messages: tuple[Message, ...]
    prefix: Prefix
    threshold: int
    window: Window
    id: str
    thoughts: ThoughtLog
    prompts: Prompts
    settings: CompressionSettings = CompressionSettings()
    streak: Streak = Streak()
    is_forced: bool = False
    summary_limit: int | None = None


async def policy(state: CompressionState, priority: Callable[[str], int], facts: Facts, summarise: Summarise) -> Compaction | None:
    """The compression the next request needs, None when it needs none.

    Raises:
        ContextFull: no tier makes the conversation fit, or two in a row left no room to work.
    """
    needed = over_threshold(state.messages, state.prefix, state.threshold)
    if not state.settings.enable_context_compression or not state.messages or not (needed or state.is_forced):
        return None
    attempt = _Attempt(state, facts)
    found = attempt.rule(priority) or await attempt.emergency(summarise) or attempt.ultimate() or attempt.best
    if found is None and not needed:
        return None
    if found is None or (not found.has_room and state.streak.cramped >= TRIES):
        raise ContextFull(_no_room(state))
    return attempt.accounted(found)


class _Attempt:
    """One go through the tiers. Each gives a compaction that made room, or None; `best` is the smallest that at least fits."""

    def __init__(self, state: CompressionState, facts: Facts) -> None:
        self._state = state
        self._facts = facts
        self._size = state.prefix.size(state.messages)
        self._before = state.prefix.local(state.messages)
        self._head = state.prefix.head
        forced = self._head + int((self._size - self._head) * _FORCED)
        self._threshold = min(state.threshold, forced) if state.is_forced else state.threshold
        self._room = self._threshold - self._head
        self._requests = 0
        self._notes: tuple[str, ...] = ()
        self.best: Compaction | None = None

    def rule(self, priority: Callable[[str], int]) -> Compaction | None:
        state = self._state
        rule = Rule(state.prefix.counter, state.prompts, priority, state.settings.kept_of_result, state.id)
        shortened = shorten(state.messages, self._size - self._threshold + self._room // 2, rule)
        return self._judged("rule", shortened, self._size - shortened.saved) if shortened.changed else None

    async def emergency(self, summarise: Summarise) -> Compaction | None:
        tries = TRIES - self._state.streak.summaries
        if tries <= 0:
            return None
        limit = self._state.summary_limit
        largest = self._threshold if limit is None else min(self._threshold, limit)
        found = await emergency(self._state.messages, self._facts, self._frame, summarise=summarise, largest=largest, tries=tries)
        self._requests, self._notes = found.requests, found.notes
        return self._rewritten("emergency", found.message)

    def ultimate(self) -> Compaction | None:
        settings, log = self._state.settings, self._state.thoughts
        if not settings.enable_ultimate_compression or not len(log):
            return None
        keep = settings.ultimate_compression_keep_plans
        return self._rewritten("ultimate", ultimate(self._state.messages, self._facts, self._frame, log=log, keep=keep))

    def accounted(self, compaction: Compaction) -> Compaction:
        """With what all tiers together asked and met on the way to it."""
        return replace(compaction, requests=self._requests, notes=self._notes)

    @property
    def _frame(self) -> Frame:
        return Frame(self._state.prefix.counter, self._state.prompts, int(self._room * _REWRITTEN), self._state.id)

    def _rewritten(self, tier: Tier, message: Message | None) -> Compaction | None:
        if message is None:
            return None
        text = "\n\n".join(filter(None, (listed(self._facts), whole(self._state.messages))))
        dropped = (Dropped(self._state.id, "", text),)
        after = self._head + self._state.prefix.counter.of_message(message)
        replaced = Shortened((message,), self._before + self._head - after, len(self._state.messages), dropped)
        return self._judged(tier, replaced, after)

    def _judged(self, tier: Tier, shortened: Shortened, size: int) -> Compaction | None:
        """`size` is that of the next request."""
        count = shortened.changed
        compaction = Compaction(
            tier=tier,
            id=self._state.id,
            replaces=count,
            messages=shortened.messages[:count],
            before=self._before,
            after=self._before - shortened.saved,
            dropped=shortened.dropped,
            has_room=size <= self._threshold - self._room // 4,
        )
        if size > self._threshold or compaction.saved <= 0:
            return None
        if compaction.has_room:
            return compaction
        if self.best is None or compaction.after < self.best.after:
            self.best = compaction
        return None


def _no_room(state: CompressionState) -> str:
    window = "a window of unknown size" if state.window.total is None else f"the window of {state.window.total} tokens"
    return (
        f"The conversation no longer fits {window}: it is compressed above {state.threshold} tokens, system prompt and tools take"
        f" {state.prefix.head} of them, and what has to stay leaves no room to work. Choose a model with a larger window, declare fewer"
        " tools, or start a new session."
    )
