"""What a whole task has used and may use: one account for the Director and everything below it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import field, replace

from yagent.agents.loop.results import Results
from yagent.agents.loop.stop import LimitReached
from yagent.protocol.messages import ModelIdentity, Usage
from yagent.protocol.result import DelegationAccount, DeniedAccount
from yagent.protocol.stop import StopReason
from yagent.records import dataclass

BYTES_PER_TOKEN = 4  # of a request nothing else is known of


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """Limits of a task that its account watches: `max_cost` in US dollars, None for none. Time is watched by the runs' activities."""

    max_cost: float | None = None


@dataclass(slots=True)
class TaskAccount:
    """Running totals. `usage` and `cost` are None while nothing is known; `cost_unknown` counts calls whose cost could not be told.

    Of those, `lost` are the ones whose reply broke off, of which `known_of_lost` dollars are sure; the limit takes all of them for `owed`.
    """

    limits: TaskLimits
    usage: Usage | None = None
    cost: float | None = None
    newest_cost: float = 0.0  # of the newest call whose cost is known
    cost_unknown: int = 0
    lost: int = 0
    known_of_lost: float = 0.0
    owed: float = 0.0
    model_calls: int = 0
    in_flight: int = 0  # model calls that have begun and not ended
    reserved: set[object] = field(default_factory=set)  # runs at work that may need one more call to hand over
    limit: StopReason | None = None  # the limit of the task that ended a part of it
    denials: list[DeniedAccount] = field(default_factory=list)
    delegations: list[DelegationAccount] = field(default_factory=list)
    results: Results = field(default_factory=Results)  # of the whole session
    changed_earlier: tuple[str, ...] = ()  # files that earlier tasks of the session changed
    changed: dict[str, None] = field(default_factory=dict)  # files changed so far, anywhere in the task
    made: set[str] = field(default_factory=set)  # those of them that file tools made, and that were not there before
    has_run: bool = False  # commands, which may have changed anything
    warnings: list[str] = field(default_factory=list)
    told: Callable[[str], None] = lambda text: None  # hears of each new warning
    _call_ended: asyncio.Event = field(default_factory=asyncio.Event)

    def warn(self, text: str) -> None:
        """Keep a warning for the account of the task, once."""
        if text not in self.warnings:
            self.warnings.append(text)
            self.told(text)

    def note_changes(self, changed: Sequence[str], made: Sequence[str]) -> None:
        """Keep which files a call changed, and which of them it made: that counts when nothing is known of them yet."""
        self.made.update(path for path in made if path not in self.changed)
        self.changed.update(dict.fromkeys(changed))

    def charge(self, identity: ModelIdentity, usage: Usage | None, size: int = 0) -> float | None:
        """Add one call, whose request had `size` bytes; returns its cost, None when unknown."""
        cost = price(identity, usage)
        if cost is None:
            self._owe(identity, usage, size)
            if self.limits.max_cost is not None:
                limit = f"the cost limit of ${self.limits.max_cost:g}"
                self.warn(f"What a call of {identity.model} cost is not known, so {limit} cannot be watched reliably.")
        else:
            self.cost, self.newest_cost = cost + (self.cost or 0.0), cost
        self._count(usage)
        return cost

    def charge_lost(self, identity: ModelIdentity, usage: Usage | None, size: int = 0) -> None:
        """Add a call that was accepted and whose reply broke off: `usage` is what was reported until then, and nobody tells the rest."""
        if identity.prices is not None:
            self.lost += 1
        self.known_of_lost += self._owe(identity, usage, size)
        self._count(usage)

    def told_cost(self) -> float | None:
        """What the task cost, as far as it goes on record: None while any of it is unknown. What is sure then stands in a warning."""
        if self.lost:
            count = "A reply" if self.lost == 1 else f"{self.lost} replies"
            least = f"the task cost at least ${(self.cost or 0.0) + self.known_of_lost:.4f}"
            self.warn(f"{count} broke off, and nobody tells what that cost: {least}.")
        return self.cost if not self.cost_unknown else None

    def _count(self, usage: Usage | None) -> None:
        self.model_calls += 1
        if usage is not None:
            self.usage = usage if self.usage is None else self.usage + usage

    def _owe(self, identity: ModelIdentity, usage: Usage | None, size: int) -> float:
        """Take a call of unknown cost for what is known of it, or for what such a call costs if that is more; returns what is known."""
        so_far = usage or Usage()
        known = price(identity, replace(so_far, total_input=so_far.total_input or 0, output=so_far.output or 0)) or 0.0
        expected = self._expected()
        if not expected and not known:
            expected = price(identity, Usage(size // BYTES_PER_TOKEN, 0)) or 0.0
        self.cost_unknown += 1
        self.owed += max(known, expected)
        return known

    @contextmanager
    def last_word_reserved(self, run: object) -> Iterator[None]:
        """Nobody else spends what one call of `run` will cost when its work has to end."""
        self.reserved.add(run)
        try:
            yield
        finally:
            self.reserved.discard(run)

    @asynccontextmanager
    async def admitted(self, run: object, *, is_last: bool = False) -> AsyncIterator[None]:
        """Hold a place among the calls in flight, for one model call of `run`; `is_last` uses its reservation.

        It is given while the cost limit has room for this call, those in flight and the reserved ones, as far as earlier calls can tell:
        many agents at work cannot each spend the rest. Waits for calls in flight, which may turn out cheap. Raises `LimitReached` when
        there is no room even without them.
        """
        while not self._has_room(self._wanted(run, is_last) + self.in_flight):
            self.demand_room(run, is_last=is_last)
            await self._call_ended.wait()
        self.in_flight += 1
        if is_last:
            self.reserved.discard(run)
        try:
            yield
        finally:
            self.in_flight -= 1
            self._call_ended.set()
            self._call_ended = asyncio.Event()

    def demand_room(self, run: object, *, is_last: bool) -> None:
        """Raises `LimitReached` when the cost limit has no room for a call of `run`, or its next attempt, even without those in flight."""
        if self._has_room(self._wanted(run, is_last)):
            return
        limit = self.limits.max_cost or 0.0
        used = f"{'about ' if self.owed else ''}${self._spent():.4f} used"
        text = f"The cost limit of ${limit:g} leaves no room for another model call ({used}). Raise --max-cost to go on."
        raise LimitReached(StopReason.COST_LIMIT, text)

    def _wanted(self, run: object, is_last: bool) -> int:
        """Calls there has to be room for beside those in flight; last words take what is left when those of others are seen to."""
        return len(self.reserved - {run}) if is_last else 1 + len(self.reserved)

    def _has_room(self, calls: int) -> bool:
        limit = self.limits.max_cost
        return limit is None or self._spent() + calls * self._expected() < limit

    def _spent(self) -> float:
        """Dollars, those of calls of unknown cost as they are taken for."""
        return (self.cost or 0.0) + self.owed

    def _expected(self) -> float:
        """Dollars of the next call, as far as earlier ones can tell."""
        known = self.model_calls - self.cost_unknown
        if known > 0:
            return max((self.cost or 0.0) / known, self.newest_cost)  # conversations grow: the average alone lags behind
        return self.owed / self.cost_unknown if self.cost_unknown else 0.0

    def ended(self, reason: StopReason, *, is_whole: bool) -> StopReason:
        """Take in how a run ended. The task as a whole was ended by the limit that ended a part of it, whatever its Director says."""
        if reason in (StopReason.COST_LIMIT, StopReason.TIME_LIMIT):
            self.limit = self.limit or reason
        by_itself = reason in (StopReason.AGENT_EXIT, StopReason.PLAIN_TEXT)
        return self.limit if is_whole and by_itself and self.limit is not None else reason


def price(identity: ModelIdentity, usage: Usage | None) -> float | None:
    """US dollars of one call, each token counted once: uncached input, cached input and cache writes at their own rates, output."""
    prices = identity.prices
    if prices is None or usage is None or usage.total_input is None or usage.output is None:
        return None
    if "input" not in prices or "output" not in prices:
        return None
    cached, written = usage.cached or 0, usage.cache_written or 0
    plain = max(0, usage.total_input - cached - written)
    rates = (
        (plain, prices["input"]),
        (cached, prices.get("cached", prices["input"])),
        (written, prices.get("cache_written", prices["input"])),
    )
    return (sum(count * rate for count, rate in rates) + usage.output * prices["output"]) / 1_000_000
