"""More of everything than anybody needs: the memory of a real run stays bounded, and the loop goes on answering."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hostile.tour import Tour
from tests.support.command_line import CommandLine
from tests.support.model_server import Call, ModelServer, Reply
from tests.tools.scopes import Desk
from yagent.llm.http_engine import CONTENT_BYTES
from yagent.protocol.messages import ToolCall
from yagent.runtime.clock import SystemClock

pytestmark = [pytest.mark.real_time, pytest.mark.slow, pytest.mark.timeout(120)]
MEMORY = 200.0  # MB of the main process, VmHWM
LAG = 0.25  # seconds
SHOWN = 4 * 120_000  # characters; what a conversation is rewritten to stays below its threshold
DEEP = "[" * 10_000 + "]" * 10_000


@dataclass(frozen=True, slots=True)
class Amount:
    """Calls over prepared files, and what each answer says."""

    looks: Sequence[Call] = ()
    works: Sequence[Call] = ()
    prepare: Callable[[Path], object] = lambda place: None
    says: Sequence[str] = ()


def million_hits(place: Path) -> None:
    (place / "hits.txt").write_text("a hit\n" * 800_000)
    (place / "more").mkdir()
    for number in range(200):
        (place / "more" / f"{number}.txt").write_text("a hit\n" * 1000)


def long_line(place: Path) -> None:
    with (place / "line.txt").open("w") as file:
        for _ in range(100):
            file.write("a" * 1_000_000)
        file.write("b")


def short_lines(place: Path) -> None:
    (place / "lines.txt").write_text("a\n" * 1_600_000)


def wide_lines(place: Path) -> None:
    (place / "wide.txt").write_text(("abc" + "d" * 96 + "\n") * 94_000)


def ten_gigabytes(place: Path) -> None:
    with (place / "sparse").open("wb") as file:
        file.truncate(10_000_000_000)


def read(path: str, **more: object) -> Call:
    return Call("read_file", {"path": path, **more})


def replace_all(path: str, search: str, replacement: str) -> Call:
    return Call("search_replace_in_file", {"path": path, "edits": [{"search": search, "replace": replacement, "all": True}]})


def bash(command: str) -> Call:
    return Call("run_bash", {"command": command})


AMOUNTS = {
    "a command that prints 1 GB": Amount(
        works=[bash("yes 0123456789abcdef | head -c 1000000000")],
        says=["of 1000000000 bytes left out here; its first 50000000 bytes are in"],
    ),
    "a command that prints one line of 50 MB": Amount(
        works=[bash("head -c 50000000 /dev/zero | tr '\\0' x")], says=["of 50000000 bytes left out here"]
    ),
    "a search with a million hits": Amount(
        looks=[Call("search_by_regex", {"pattern": "hit", "max_results": 1000})], prepare=million_hits, says=["stopped after 1000 matches"]
    ),
    "a file of one line of 100 MB": Amount(
        looks=[read("line.txt"), read("line.txt", start_line=1, max_lines=3), Call("search_by_regex", {"pattern": "ab"})],
        works=[bash("cat line.txt"), replace_all("line.txt", "ab", "x")],
        prepare=long_line,
        says=[
            "over the limit of 10.0 MB",
            "[line cut: 100000001 characters]",
            "too long to show",
            "of 100000001 bytes left out here",
            "over the limit",
        ],
    ),
    "a sparse file of 10 GB": Amount(
        looks=[read("sparse"), read("sparse", start_line=1, max_lines=1), Call("search_by_regex", {"pattern": "needle"})],
        works=[bash("ls -l sparse"), replace_all("sparse", "a", "b")],
        prepare=ten_gigabytes,
        says=["over the limit of 10.0 MB", "is not text", "no matches", "10000000000", "over the limit"],
    ),
    "an edit of 1.6 million places": Amount(
        works=[read("lines.txt"), replace_all("lines.txt", "a\n", "bbbbb\n")],
        prepare=short_lines,
        says=["1600000", "occurs 1600000 times"],
    ),
    "an edit of every line of 9.4 MB": Amount(
        works=[read("wide.txt"), replace_all("wide.txt", "abc", "xyz")], prepare=wide_lines, says=["of 94000", "(+94000 -94000 lines)"]
    ),
    "a file of 9 MB": Amount(
        works=[Call("create_file", {"path": "big.txt", "content": "line of text\n" * 700_000})], says=["(+700000 -0 lines)"]
    ),
    "arguments nested 10,000 deep": Amount(
        looks=[Call("read_file", f'{{"path":{DEEP}}}'), Call("read_file", '{"path":' + '{"a":' * 10_000 + "1" + "}" * 10_001)],
        works=[Call("search_replace_in_file", f'{{"path":"notes.txt","edits":{DEEP}}}')],
        says=["not one JSON object"] * 3,
    ),
    "arguments nested as deep as they are read": Amount(
        looks=[Call("read_file", '{"path":' + "[" * 900 + "]" * 900 + "}")], says=["must be a string"]
    ),
    "10,000 calls in one reply": Amount(looks=[read("notes.txt")] * 10_000, says=["1\tfirst line"] * 10_000),
}


@pytest.mark.parametrize("name", AMOUNTS)
async def test_the_memory_of_a_run_is_bounded(yagent: CommandLine, model_server: ModelServer, workspace: Path, name: str) -> None:
    amount = AMOUNTS[name]
    amount.prepare(workspace)
    tour = Tour(yagent, model_server, limit=100, together=True, piece=4096)
    visit = await tour.visit(amount.looks, amount.works)
    report(name, visit.peak)
    assert visit.run.code == 0, visit.run.told[-2000:]
    for answer, expected in zip(visit.answers, amount.says, strict=True):
        assert expected in answer
        assert len(answer) < (SHOWN if answer.startswith("[yagent]") else 40_000)
    assert visit.peak is None or visit.peak < MEMORY


@pytest.mark.parametrize("api_format", ["openai", "responses", "anthropic"])
@pytest.mark.parametrize("what", ["words", "arguments"])
async def test_a_reply_of_fifty_megabytes_is_given_up(
    yagent: CommandLine, model_server: ModelServer, workspace: Path, api_format: str, what: str
) -> None:
    yagent.talks_to(model_server.url, api_format)
    huge = "x" * 50_000_000
    reply = Reply(text=huge, piece=4096) if what == "words" else Reply(calls=[Call("read_file", {"path": huge})], piece=4096)
    tour = Tour(yagent, model_server, limit=60)
    run, peak = await tour.hear(reply)
    report(f"a reply of 50 MB of {what}, {api_format}", peak)
    assert run.code == 1
    assert f"more than {CONTENT_BYTES // 1_000_000} MB of content" in run.told
    assert peak is None or peak < MEMORY


def report(name: str, peak: float | None) -> None:
    """For the table of docs/robustness.md: shown by `pytest -s`."""
    print(f"\n| {name} | {'unknown' if peak is None else round(peak)} MB |")


@dataclass(slots=True)
class Probe:
    """How long the loop was kept from a task at most, in seconds: at work elsewhere. What the machine was busy with is no work of ours."""

    worst: float = 0.0

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        task = asyncio.ensure_future(self._watch())
        try:
            yield
        finally:
            task.cancel()

    async def _watch(self) -> None:
        while True:
            before, worked = time.monotonic(), time.process_time()
            await asyncio.sleep(0.005)
            self.worst = max(self.worst, min(time.monotonic() - before, time.process_time() - worked) - 0.005)


@pytest.mark.parametrize("name", [name for name in AMOUNTS if "10,000 calls" not in name])
async def test_the_loop_answers_while_a_tool_is_at_work(workspace: Path, isolated_home: Path, name: str) -> None:
    amount = AMOUNTS[name]
    amount.prepare(workspace)
    desk = Desk(workspace, SystemClock(), home=isolated_home)
    probe = Probe()
    async with probe.watching():
        for call in (*amount.looks, *amount.works):
            arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
            assert (await desk.invoker.invoke(ToolCall("call", call.name, arguments), desk.scope)).text
    print(f"\n| {name} | {round(probe.worst * 1000)} ms |")
    # A thread of ours that is at work goes on while the loop waits for its turn, and on a busy machine that takes longer.
    assert probe.worst < LAG * (1 + os.getloadavg()[0] / (os.cpu_count() or 1))
