"""Whether a failed model call is tried again, and after how long. Decides only; the engine waits.

A server that names a time is believed up to `longest_wait`. Where nobody names one, waits begin with `first_wait` and double (C-18).
Waits are stretched by up to a quarter at random, so that parallel agents do not come back together; they are never shortened.
"""

from collections.abc import Callable

from yagent.llm.engine import ModelError, RateLimited, TransientModelError
from yagent.records import dataclass

_STRETCH = 0.25
HASTY_RETRIES = 1


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """`max_retries` 0 never tries again. Times in seconds."""

    max_retries: int = 5
    first_wait: float = 10.0
    longest_own_wait: float = 120.0
    longest_wait: float = 300.0

    def hasty(self) -> "RetrySettings":
        """For a server that never answered in this process: a wrong address or no network at all is told soon, not after minutes."""
        return RetrySettings(min(self.max_retries, HASTY_RETRIES), self.first_wait, self.longest_own_wait, self.longest_wait)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Wait `delay` seconds and try again, or, when it is None, give up for `reason` ("" where the error says it all)."""

    delay: float | None
    reason: str = ""


def judge(error: ModelError, *, failures: int, remaining: float | None, settings: RetrySettings, random: Callable[[], float]) -> Verdict:
    """What to do after the failure number `failures` (from 1), with `remaining` seconds of the call's total left (None: no limit)."""
    if not isinstance(error, TransientModelError):
        return Verdict(None)
    if failures > settings.max_retries:
        return Verdict(None, "1 attempt failed." if failures == 1 else f"{failures} attempts failed.")
    asked = error.retry_after if isinstance(error, RateLimited) else None
    if asked is not None and asked > settings.longest_wait:
        return Verdict(None, f"The server asks to wait {asked:.0f} s; more than {settings.longest_wait:.0f} s is not waited for.")
    delay = _delay(asked, failures, settings) * (1 + _STRETCH * random())
    if remaining is not None and delay >= remaining:
        return Verdict(None, f"The next try would come after {delay:.0f} s, and only {remaining:.0f} s of the call's time limit are left.")
    return Verdict(delay)


def _delay(asked: float | None, failures: int, settings: RetrySettings) -> float:
    doubled = 2.0 ** (failures - 1)
    if asked is not None:
        # A server that says 0 again and again is not believed every time.
        return max(asked, min(doubled - 1, settings.longest_own_wait))
    return min(settings.first_wait * doubled, settings.longest_own_wait)
