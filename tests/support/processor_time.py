"""A test that needs more than two seconds is marked slow, or fails (V-06).

Seconds are those of the processor, of this process and of the programs it has waited for: others who work on the machine count only in that
they slow it down. What a machine is slower than the one the limit was made on is found out where it matters, by a piece of work, and the
limit grows by as much; beside that the same test takes up to twice as long from one run to the next, so only what is far over it fails.
"""

import os
from collections.abc import Callable, Generator
from dataclasses import dataclass

import pytest

PROCESSOR_SECONDS = 2.0
NOISE = 4.0  # times the limit before a test fails
WALL_SECONDS = 30.0  # for what a test waits for, beside what it computes
CROWD = 4.0  # seconds of the clock that one of the processor may take on a busy machine
REFERENCE_SECONDS = 0.026  # that `_piece_of_work` takes where the limit was made
PIECES = 8  # the clock of the processor has ticks of 10 ms


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds: of the processor, and of the clock."""

    processor: float
    wall: float


def slowness() -> float:
    """How much longer than where the limit was made this machine takes now; at least 1."""
    before = os.times()
    for _ in range(PIECES):
        _piece_of_work()
    return max(1.0, (sum(os.times()[:2]) - sum(before[:2])) / (PIECES * REFERENCE_SECONDS))


def _piece_of_work() -> None:
    sums: dict[int, int] = {}
    for number in range(200_000):
        sums[number % 1000] = sums.get(number % 1000, 0) + number


class Watch:
    """A plugin of pytest; `limit` in seconds of the processor, on a machine whose `slowness` is 1."""

    def __init__(self, limit: float = PROCESSOR_SECONDS, slowness: Callable[[], float] = slowness) -> None:
        self._limit = limit
        self._slowness = slowness

    def complaint(self, spent: Spent) -> str:
        """What is wrong about a test that is not marked; empty when nothing is."""
        sure = self._limit * NOISE
        if spent.processor > sure and spent.processor > (allowed := sure * self._slowness()):
            return f"it took {spent.processor:.1f} s of processor time, and {allowed:.1f} s are allowed here"
        if spent.wall > WALL_SECONDS + CROWD * spent.processor:
            return f"it took {spent.wall:.1f} s, of which only {spent.processor:.1f} s were work"
        return ""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Judge what a test took; one that fails anyway is not judged."""
        before = os.times()
        yield
        after = os.times()
        spent = Spent(sum(after[:4]) - sum(before[:4]), after.elapsed - before.elapsed)
        if item.get_closest_marker("slow") is None and (told := self.complaint(spent)):
            pytest.fail(f"{told}: make it faster, or mark it slow", pytrace=False)
