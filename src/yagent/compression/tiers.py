"""The tiers one after the other, for one compression. Loaded when the first conversation has to be compressed."""

from collections.abc import Callable
from dataclasses import replace

from yagent.compression.compaction import Compaction, Dropped, Facts, Summarise, Tier
from yagent.compression.emergency import emergency
from yagent.compression.facts import listed
from yagent.compression.frame import Frame
from yagent.compression.rule import Rule, Shortened, shorten
from yagent.compression.state import TRIES, CompressionState
from yagent.compression.transcript import whole
from yagent.compression.ultimate import ultimate
from yagent.protocol.messages import Message

_FORCED = 0.7  # of its size, without its head: what a conversation is brought under that has to shrink whatever the threshold says
_REWRITTEN = 0.6  # of the room: what a rewritten conversation may take


class Attempt:
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
