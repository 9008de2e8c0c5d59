"""Measure what the context of a long session costs: python -m scripts.bench.context.

Scripted sessions over real HTTP, in this process, with the model played by the strict server of the tests, which reports usage: one of 300
steps for each of two windows, in which all three tiers of compression run, and one that grows to 200,000 tokens without any. Looked at from
outside: the requests as they arrive, and the time that `Fitting` takes beside what the model is asked. That is time of the processor,
so that other programs do not count, and without garbage collections, which in this process are mostly those of the server.
"""

import argparse
import asyncio
import gc
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import thread_time
from typing import Any
from unittest.mock import patch

from scripts.bench.report import Bar, bar_table, machine, table, write_section
from scripts.bench.tier_one import tier_one
from tests.support.model_server import Call, ModelServer, Reply, RequestView, status
from yagent.agents.loop.fitting import Fitting
from yagent.protocol.ops import StartTask
from yagent.runtime.clock import SystemClock
from yagent.session.build import open_session
from yagent.session.request import RunFlags, SessionRequest
from yagent.workspace.difference import common_start

STEPS = 300
BLOCK = 25  # steps in a row of the table
WINDOWS = (128_000, 200_000)
HISTORY = 200_000  # tokens at which counting is judged
LINES, LINE = 150, "{0:06} the quick brown fox jumps over the lazy dog.\n"  # of a result
THOUGHT = "<thought>\ngoal: read it all\nstep: number {0}\nreason: it is next\nplan:\n- [>] read on\n- [ ] report\n</thought>"
REASONED = "What stands in part {0} agrees with the parts before it in every number that I have compared so far. "
SUMMARY = "Read the parts so far; nothing was found that speaks against the first of them."
BROKEN = status(400, body=b'{"error":{"message":"no summary today","type":"invalid_request_error"}}')
CONFIGURATION = """[global.llm.providers.bench]
api_base_url = "{url}"
model = "played-model"
api_format = "openai"
context_window = {window}
"""


@dataclass(slots=True)
class Step:
    """One request of the agent. Times in ms: `counting` without, `compressing` with a compression before it, both without the model."""

    size: int = 0  # bytes
    shared: int = 0  # bytes with which the request before began as well
    tokens: int = 0  # as the server counts them
    counting: float = 0.0
    compressing: float = 0.0
    tiers: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Watch:
    """A model that reads and reasons on and on, and looks at the requests; `fit` and `replied` stand around those of `Fitting`.

    In the first half results are what grows, in the second the words of the model. Of three summaries two fail, one after the other.
    """

    steps: int
    grows_by_results: bool = False  # to the end
    seen: list[Step] = field(default_factory=lambda: [Step()])
    summaries: int = 0
    _before: bytes = b""

    def __call__(self, view: RequestView) -> Reply:
        if "You summarise" in view.identity:
            self.summaries += 1
            return Reply(SUMMARY, chaos=() if self.summaries % 3 == 1 else [BROKEN])
        number = len(self.seen)
        self._look(view, self.seen[-1])
        self.seen.append(Step())
        if number > self.steps:
            return Reply("All is read.")
        reads = self.grows_by_results or number <= self.steps // 2
        first = number * LINES - LINES + 1
        lines = {"path": "long.txt", "start_line": first, "end_line": first + (LINES - 1 if reads else 9)}
        words = THOUGHT.format(number) + ("" if reads else REASONED.format(number) * 70)
        return Reply(words, calls=(Call("read_file", lines),), piece=4096)

    def _look(self, view: RequestView, step: Step) -> None:
        request = "\n".join(view.segments).encode()
        step.size, step.tokens, step.shared = (
            len(request),
            sum(len(part.encode()) for part in view.segments) // 4,
            common_start(self._before, request),
        )
        self._before = request

    def wrapped(self) -> ExitStack:
        """While it is open all fittings are timed."""
        fit, replied = Fitting.fit, Fitting.replied

        async def timed_fit(fitting: Fitting, frame: Any, step: int, changed: Any, summarise: Any, **how: Any) -> bool:
            asked = 0.0

            async def timed_summarise(prompt: str) -> str:
                nonlocal asked
                begun = thread_time()
                try:
                    return str(await summarise(prompt))
                finally:
                    asked += thread_time() - begun

            gc.disable()
            begun = thread_time()
            did = await fit(fitting, frame, step, changed, timed_summarise, **how)
            spent = (thread_time() - begun - asked) * 1000
            gc.enable()
            if did:
                self.seen[-1].compressing += spent
            else:
                self.seen[-1].counting += spent
            return did

        def timed_replied(fitting: Fitting, usage: Any) -> None:
            gc.disable()
            begun = thread_time()
            replied(fitting, usage)
            self.seen[-1].counting += (thread_time() - begun) * 1000
            gc.enable()

        stack = ExitStack()
        stack.enter_context(patch.object(Fitting, "fit", timed_fit))
        stack.enter_context(patch.object(Fitting, "replied", timed_replied))
        return stack

    @property
    def requests(self) -> list[Step]:
        """Those that were made."""
        return self.seen[:-1]

    @property
    def tiers(self) -> dict[str, int]:
        """How often each ran."""
        told = [tier for step in self.requests for tier in step.tiers]
        return {tier: told.count(tier) for tier in ("rule", "emergency", "ultimate")}

    @property
    def kept(self) -> float:
        """The smallest share of a request with which the next one of its epoch began."""
        return min((after.shared / before.size for before, after in pairwise(self.requests) if not after.tiers), default=1.0)

    @property
    def reused(self) -> float:
        """The share of all requests that the one before each had already."""
        return sum(step.shared for step in self.requests) / sum(step.size for step in self.requests)

    def counted(self, since: int = 0) -> list[float]:
        """Counting and deciding in ms, in the requests of `since` tokens and more that began without a compression."""
        return [step.counting for step in self.requests if step.tokens >= since and not step.tiers]


async def run(folder: Path, window: int, watch: Watch) -> None:
    """One session."""
    home, workspace = folder / "home", folder / "project"
    workspace.mkdir(parents=True)
    home.mkdir()
    (workspace / "long.txt").write_text("".join(map(LINE.format, range(1, (watch.steps + 1) * LINES))))
    server = ModelServer(tolerate=("prefix",))
    server.script = watch
    async with server:
        configuration = folder / "config.toml"
        configuration.write_text(CONFIGURATION.format(url=server.url, window=window))
        configuration.chmod(0o600)
        environ = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
        flags = RunFlags(max_steps=watch.steps + 50)
        request = SessionRequest(workspace=workspace, environ=environ, config_path=configuration, flags=flags)
        async with open_session(request, SystemClock()) as session:
            told = asyncio.ensure_future(_listen(session.events(), server, watch))
            with watch.wrapped():
                result = await session.submit(StartTask("Read long.txt to its end. Never touch generated/."))
            told.cancel()
    if result is None or result.answer != "All is read.":
        raise RuntimeError(f"the session did not come to its end: {result}")
    server.check()


async def _listen(events: Any, server: ModelServer, watch: Watch) -> None:
    """Note compressions, and let go of requests that were looked at."""
    async for event in events:
        if event.payload.type in ("context_compressed", "context_emergency_compressed", "context_ultimate_compressed"):
            watch.seen[-1].tiers.append(event.payload.tier)
        for exchange in server.exchanges[:-1]:
            exchange.raw, exchange.view = b"", None


def bars(sessions: dict[int, Watch], large: Watch, tier: Sequence[tuple[int, float]]) -> list[Bar]:
    """The promises, judged."""
    found = []
    for window, watch in sessions.items():
        name = f"window of {window // 1000}k"
        tiers = watch.tiers
        found.append(Bar(f"{name}: how often each tier ran", "each", " · ".join(map(str, tiers.values())), min(tiers.values()) > 0))
        found.append(Bar(f"{name}: kept inside an epoch", "100 %", f"{watch.kept:.2%}", watch.kept == 1))
        found.append(Bar(f"{name}: reused over the session", "95 %", f"{watch.reused:.2%}", watch.reused >= 0.95))
    times = large.counted(HISTORY)
    middle, high = median(times), quantiles(times, n=20)[-1]
    found.append(Bar(f"counting and deciding above {HISTORY // 1000}k tokens, median ms", "3", f"{middle:.2f}", middle <= 3))
    found.append(Bar(f"counting and deciding above {HISTORY // 1000}k tokens, p95 ms", "3", f"{high:.2f}", high <= 3))
    growth = tier[-1][1] / tier[0][1] / (tier[-1][0] / tier[0][0])
    shown = ", ".join(f"{time:.0f} ms at {size // 1000}k" for size, time in tier)
    found.append(
        Bar(
            f"tier 1, time per token at {tier[-1][0] // 1000}k to that at {tier[0][0] // 1000}k",
            "1.3",
            f"{growth:.2f} ({shown})",
            growth <= 1.3,
        )
    )
    return found


def rows(watch: Watch, length: int) -> str:
    """The session as Markdown, a row for `length` steps."""
    lines = []
    for start in range(0, len(watch.requests), length):
        part = watch.requests[start : start + length]
        earlier = watch.requests[max(start - 1, 0) : start + length]
        kept = min((after.shared / before.size for before, after in pairwise(earlier)), default=1.0)
        tiers = [f"{tier} in step {start + number}" for number, step in enumerate(part, 1) for tier in step.tiers]
        lines.append(
            (
                f"{start + 1}–{start + len(part)}",
                f"{part[0].tokens:,} → {part[-1].tokens:,}",
                f"{kept:.1%}",
                f"{sum(step.shared for step in part) / sum(step.size for step in part):.1%}",
                f"{median(step.counting for step in part):.2f} / {max(step.counting for step in part):.2f}",
                f"{sum(step.compressing for step in part):.0f}",
                ", ".join(tiers) or "-",
            )
        )
    return table(("steps", "tokens", "least kept", "reused", "counting ms, median / most", "compressing ms", "tiers"), lines)


def main() -> int:
    """Measure, print, and say by the exit code whether every promise was held."""
    options = _options()
    large, sessions = Watch(110, grows_by_results=True), {window: Watch(options.steps) for window in WINDOWS}
    with TemporaryDirectory(prefix="yagent-bench-") as temporary:
        for window, watch in sessions.items():
            asyncio.run(run(Path(temporary) / str(window), window, watch))
        asyncio.run(run(Path(temporary) / "large", 1_000_000, large))
    judged = bars(sessions, large, asyncio.run(tier_one()))
    parts = [f"Measured {machine()}.", bar_table(judged)]
    parts += [
        f"The session in the window of {window:,} tokens:\n\n{rows(watch, 1 if options.all else BLOCK)}"
        for window, watch in sessions.items()
    ]
    print("\n\n".join(parts))
    if options.write:
        write_section("context", "\n\n".join(parts))
    return int(not all(bar.held for bar in judged))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.bench.context", description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, metavar="N", help=f"steps of the sessions with compression ({STEPS})")
    parser.add_argument("--all", action="store_true", help="a row for each step")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
