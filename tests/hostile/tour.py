"""One run of `yagent -p` through a hostile place: the Director looks around, Coding works, and what has to hold everywhere is checked."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.command_line import CommandLine, Ended, ended
from tests.support.model_server import Agent, Call, ModelServer, Reply, hand_over
from yagent.rollout.reader import read

LOOKS = (
    Call("list_dir", {}),
    Call("print_dir_tree", {}),
    Call("search_by_regex", {"pattern": "needle"}),
    Call("read_file", {"path": "notes.txt"}),
)
WORKS = (
    Call("run_bash", {"command": "echo out; echo err >&2; pwd"}),
    Call("create_file", {"path": "made/new.txt", "content": "made\n"}),
    Call("rename_file", {"source": "made/new.txt", "target": "made/moved.txt"}),
    Call("read_file", {"path": "made/moved.txt"}),
    Call("search_replace_in_file", {"path": "made/moved.txt", "edits": [{"search": "made", "replace": "changed"}]}),
    Call("delete_file", {"path": "made/moved.txt"}),
)
CRASH = re.compile(r"Traceback|panic|unexpected|defect|failed inside|\bError:")


@dataclass(frozen=True, slots=True)
class Visit:
    """What a run said: the process, the Director's first message, the answer to each look and each work, its highest memory in MB."""

    run: Ended
    first: str
    looks: Sequence[str]
    works: Sequence[str]
    peak: float | None = None

    @property
    def answers(self) -> Sequence[str]:
        """All answers."""
        return (*self.looks, *self.works)


@dataclass(slots=True)
class Tour:
    """Visits a place. The script takes one call after the other; `together` puts all calls of an agent into one reply."""

    yagent: CommandLine
    server: ModelServer
    limit: float = 25.0
    flags: Sequence[str] = ("-y",)
    together: bool = False
    piece: int = 24
    start: Mapping[str, Any] = field(default_factory=dict)
    keeps_records: bool = True
    mishap: Callable[[], object] = lambda: None

    async def visit(self, looks: Sequence[Call] = LOOKS, works: Sequence[Call] = WORKS) -> Visit:
        """Run, and hold the run to what has to be true of every run."""
        told: list[str] = []
        seen: list[str] = []
        did: list[str] = []

        async def director(agent: Agent) -> str:
            told.append(agent.task)
            await self._make(agent, looks, seen)
            if works:
                await agent.call("delegate_coding", task="work here")
            return "all seen"

        async def coding(agent: Agent) -> Reply:
            self.mishap()
            await self._make(agent, works, did)
            return hand_over("all done")

        self.server.play({"Director": director, "Coding": coding})
        run, peak = await self._run()
        visit = Visit(run, told[0] if told else "", seen, did, peak)
        check(self.yagent, visit)
        if self.keeps_records:
            records_are_whole(self.yagent.data)
        return visit

    async def hear(self, reply: Reply) -> tuple[Ended, float | None]:
        """A run in which the model says one thing; the process and its highest memory in MB."""
        self.server.play({"Director": [reply]})
        return await self._run()

    async def _run(self) -> tuple[Ended, float | None]:
        process = await self.yagent.start("-p", "look around", *self.flags, **self.start)
        memory = asyncio.ensure_future(highest_memory(process.pid))
        return await ended(process, limit=self.limit), await memory

    async def _make(self, agent: Agent, calls: Sequence[Call], answers: list[str]) -> None:
        for reply in [calls] if self.together and calls else [[call] for call in calls]:
            view = await agent.reply(Reply(calls=reply, piece=self.piece))
            answers += [view.task] * len(reply) if view.is_rewritten else [result.text for result in view.results]


def check(yagent: CommandLine, visit: Visit) -> None:
    """No crash, no control that reaches a terminal, records that can be read to their end."""
    told = visit.run.err.decode("utf-8", "strict")
    assert not CRASH.search(told), told
    assert hidden(told) == [] == hidden(visit.run.out.decode("utf-8", "strict")), told
    for answer in set(visit.answers):
        assert not CRASH.search(answer), answer
    assert not list(yagent.data.glob("logs/crash*")), told


def hidden(text: str) -> list[str]:
    """Characters that a terminal would act on or that reorder what is read."""
    return [
        each for each in text if each not in "\n\t" and (unicodedata.category(each) in ("Cc", "Cs") or each in "\u202a\u202e\u2066\u2069")
    ]


def records_are_whole(data: Path) -> None:
    """Every rollout can be read, each of its lines, and ends with its terminal record."""
    for path in sorted(data.glob("data/rollout/**/*.jsonl")):
        entries = [json.loads(line) for line in path.read_text("ascii").splitlines()]
        assert entries[-1]["payload"]["name"] in ("task_complete", "turn_aborted"), path
        assert read(path)


async def highest_memory(process: int) -> float | None:
    """The high-water mark of a process itself in MB (Linux), looked at until it ends; it only ever grows."""
    highest: float | None = None
    while (now := _high_water(process)) is not None:
        highest = now
        await asyncio.sleep(0.02)
    return highest


def _high_water(process: int) -> float | None:
    """The mark in MB; None when the process is over, and where there is no /proc."""
    try:
        status = Path(f"/proc/{process}/status").read_text("ascii", "replace")
    except OSError:
        return None
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return None if found is None else int(found[1]) / 1024
