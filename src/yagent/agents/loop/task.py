"""What a whole task has used and may use: one account for the Director and everything below it."""

from collections.abc import Callable
from dataclasses import field

from yagent.agents.loop.stop import LimitReached
from yagent.protocol.messages import ModelIdentity, Usage
from yagent.protocol.result import DelegationAccount, DeniedAccount
from yagent.protocol.stop import StopReason
from yagent.records import dataclass


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """Limits of a task that its account watches: `max_cost` in US dollars, None for none. Time is watched by the runs' activities."""

    max_cost: float | None = None


@dataclass(slots=True)
class TaskAccount:
    """Running totals. `usage` and `cost` are None while nothing is known; `cost_unknown` counts calls whose cost could not be told."""

    limits: TaskLimits
    usage: Usage | None = None
    cost: float | None = None
    cost_unknown: int = 0
    model_calls: int = 0
    denials: list[DeniedAccount] = field(default_factory=list)
    delegations: list[DelegationAccount] = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)  # "repo#2" and, for the newest of a role, "repo" -> rendered result
    runs: dict[str, int] = field(default_factory=dict)  # role -> delegations begun
    delegation_ids: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)
    told: Callable[[str], None] = lambda text: None  # hears of each new warning

    def warn(self, text: str) -> None:
        """Keep a warning for the account of the task, once."""
        if text not in self.warnings:
            self.warnings.append(text)
            self.told(text)

    def name_result(self, role: str) -> str:
        """The name of the next result of a role: `repo#1`, `repo#2`, …, in the order in which the delegations began."""
        self.runs[role] = self.runs.get(role, 0) + 1
        return f"{role}#{self.runs[role]}"

    def new_delegation(self, call_id: str) -> str:
        """The id of the delegation that a call starts: the call's own (F-18), told apart where agents of one tree use the same."""
        found, number = call_id, 1
        while found in self.delegation_ids:
            number += 1
            found = f"{call_id}-{number}"
        self.delegation_ids.add(found)
        return found

    def charge(self, identity: ModelIdentity, usage: Usage | None) -> float | None:
        """Add one call; returns its cost, None when unknown."""
        self.model_calls += 1
        if usage is not None:
            self.usage = usage if self.usage is None else self.usage + usage
        cost = price(identity, usage)
        if cost is None:
            self.cost_unknown += 1
            if self.limits.max_cost is not None:
                limit = f"the cost limit of ${self.limits.max_cost:g}"
                self.warn(f"What a call of {identity.model} cost is not known, so {limit} cannot be watched reliably.")
        else:
            self.cost = cost + (self.cost or 0.0)
        return cost

    def check(self) -> None:
        """Called before each model call. Raises `LimitReached` when the task may not go on."""
        limit = self.limits.max_cost
        if limit is not None and self.cost is not None and self.cost >= limit:
            raise LimitReached(
                StopReason.COST_LIMIT, f"The cost limit of ${limit:g} is reached (${self.cost:.4f} used). Raise --max-cost to go on."
            )


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
