"""Measure what reading a large record costs, and a list of many sessions: python -m scripts.bench.rollout.

Each figure is of a fresh process that does nothing else, the best of a few tries.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from yagent.protocol.messages import Message, Reasoning, Text, ToolCall, ToolResult, result_message, user_message
from yagent.rollout.records import EventMessage, Record, ResponseItem, SessionMeta, TurnContext, encode

AT = "2026-01-01T00:00:00.000000+00:00"
WORDS = "def half(amount): return (amount + 1) // 2  # rounded up, as the table of the tax office says\n"
RECORD = 2000  # bytes of text in a message
READ = """
import resource, sys, time
from pathlib import Path
from yagent.rollout.checkpoint import digest
from yagent.rollout.marks import Segment
from yagent.rollout.replay import replay
begun = time.perf_counter()
found = replay([Segment(Path(sys.argv[1]))])
seconds = time.perf_counter() - begun
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
begun = time.perf_counter()
digest(found.messages)
print([seconds, peak, len(found.messages), time.perf_counter() - begun])
"""
LIST = """
import sys, time
from pathlib import Path
from yagent.rollout.index import list_sessions
begun = time.perf_counter()
found = list_sessions(Path(sys.argv[1]), 1000)
print([time.perf_counter() - begun, len(found)])
"""


@dataclass(frozen=True)
class Bar:
    """A promise (of the issue on durable sessions) and what was measured."""

    name: str
    measured: float
    limit: float
    unit: str

    @property
    def held(self) -> bool:
        """Whether the promise was kept."""
        return self.measured <= self.limit

    def __str__(self) -> str:
        return f"{self.name:<42} {self.measured:8.2f} {self.unit:<3} (at most {self.limit:g}) {'ok' if self.held else 'MISSED'}"


def main() -> int:
    """Measure, print, and say by the exit code whether every promise was held."""
    options = _options()
    with TemporaryDirectory(prefix="yagent-bench-") as temporary:
        bars = [*large_session(Path(temporary), options.megabytes, options.tries), *many_sessions(Path(temporary), options.tries)]
    print("\n".join(map(str, bars)))
    return int(not all(bar.held for bar in bars))


def large_session(folder: Path, megabytes: int, tries: int) -> list[Bar]:
    """The figures of reading one session."""
    path = folder / "20260101-000000_large.jsonl"
    size = write_session(path, conversation(), megabytes * 1_000_000)
    seconds, peak, messages, digest = min(_measured(READ, path) for _ in range(tries))
    print(f"a session of {size / 1e6:.0f} MB, {messages:.0f} messages; its digest takes {digest:.2f} s more")
    return [Bar("replay of a session of 100 MB", seconds, 4.0, "s"), Bar("memory of it, peak of the process", peak / 1e6, 200, "MB")]


def many_sessions(folder: Path, tries: int) -> list[Bar]:
    """The figures of listing a thousand sessions of some size."""
    directory = folder / "project"
    directory.mkdir()
    for number in range(1000):
        write_session(directory / f"20260101-{number:06}_s{number:04}.jsonl", finished(f"s{number:04}"), 200_000)
    cold = []
    for _ in range(tries):
        (directory / "index.json").unlink(missing_ok=True)
        cold.append(_measured(LIST, directory)[0])
    warm = min(_measured(LIST, directory)[0] for _ in range(tries))
    return [Bar("list of 1,000 sessions without the index", min(cold), 0.3, "s"), Bar("list of 1,000 sessions", warm, 0.3, "s")]


def write_session(path: Path, records: Iterator[Record], size: int) -> int:
    """A file of these records, as many as `size` bytes take; the bytes written."""
    written = 0
    with path.open("wb") as stream:
        for ordinal, record in enumerate(records, 1):
            written += stream.write(encode(ordinal, AT, record))
            if written >= size:
                break
    return written


def conversation(session: str = "large") -> Iterator[Record]:
    """A session without end: replies with a thought and a call, and their results."""
    yield SessionMeta(session, "director", "/project", "1.0", task="round as the table says")
    yield TurnContext("stub", "m1", "openai", "f00", "ba4", "/project", "en")
    yield ResponseItem(user_message("round as the table says"))
    words = (WORDS * (RECORD // len(WORDS) + 1))[:RECORD]
    step = 0
    while True:
        step += 1
        call = ToolCall(f"call_{step:08}", "read_file", json.dumps({"path": f"src/tax_{step}.py"}))
        said = (Reasoning(words[: RECORD // 2]), Text(words[: RECORD // 2 - 200]), call)
        yield ResponseItem(Message("assistant", said, "openai:stub:m1"))
        yield EventMessage("agent_activity", {"step": step, "tools": [call.name]})
        yield ResponseItem(result_message(ToolResult(call.id, call.name, words)))


def finished(session: str) -> Iterator[Record]:
    """A session that ended after some steps."""
    yield from islice(conversation(session), 40)
    yield EventMessage("task_complete", {"stop_reason": "agent_exit", "status": "ok", "steps": 12})


def _measured(program: str, path: Path) -> list[float]:
    told = subprocess.run([sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True)
    figures: list[float] = json.loads(told.stdout)
    return figures


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.bench.rollout", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100, metavar="N", help="size of the large session (100)")
    parser.add_argument("--tries", type=int, default=3, metavar="N", help="how often each is measured; the best counts (3)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
