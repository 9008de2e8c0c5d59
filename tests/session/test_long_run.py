"""Sixty turns in a small window, in sessions that are closed and opened again on the way: what the user asked for is in the last request.

The summaries say nothing or cannot be had, so that whatever survives does so because of the record.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.compression.test_long_run import CHAT, CONSTRAINTS, GOAL, OPEN
from tests.support.model_server import Call, ModelServer, Reply, RequestView, status
from tests.support.session import Opened, Sessions
from yagent.protocol.events import ContextCompressed, ContextEmergencyCompressed, ContextUltimateCompressed, Event, LlmCallStart
from yagent.protocol.ops import QueueTask
from yagent.rollout.reader import read
from yagent.rollout.records import Compacted
from yagent.session.request import Resume

SUMMARISER = "You summarise"
COMPRESSED = ContextCompressed | ContextEmergencyCompressed | ContextUltimateCompressed
BROKEN = status(400, body=b'{"error":{"message":"no summary today","type":"invalid_request_error"}}')
PLAN = "\n".join(["- [x] look around", *(f"- [ ] {item}" for item in OPEN)])
THOUGHT = f"<thought>\ngoal: {GOAL}\nstep: number {{0}}\nreason: it is next\nplan:\n{PLAN}\n</thought>"
THRESHOLD = 8000


class Releaser:
    """Reads twice for each of the user's messages, then answers. Of three summaries one says nothing and two fail."""

    def __init__(self) -> None:
        self.step = 0
        self.left = 0
        self.summaries = 0

    def __call__(self, view: RequestView) -> Reply:
        if SUMMARISER in view.identity:
            self.summaries += 1
            return Reply("worked on stuff", chaos=() if self.summaries % 3 == 1 else [BROKEN])
        if self.left == 0:
            self.left = 2
            return self._read()
        self.left -= 1
        return self._read() if self.left else Reply(f"That was step {self.step}.")

    def _read(self) -> Reply:
        self.step += 1
        first = self.step * 7 % 200 * 20 + 1
        lines = {"path": "prices.py", "start_line": first, "end_line": first + 20 + self.step % 4 * 12}
        return Reply(THOUGHT.format(self.step), calls=(Call("read_file", lines),))


class Turns:
    """What the user says, turn by turn, and what came of it."""

    def __init__(self, count: int) -> None:
        self._said = {turn * count // 60: words for turn, words in CONSTRAINTS.items()}
        self._turn = 0
        self.events: list[Event] = []

    async def until(self, turn: int, opened: Opened) -> str:
        """Up to this turn; the id of the session."""
        session = ""
        while self._turn < turn:
            words = self._said.get(self._turn, CHAT.format(number=self._turn)) if self._turn else GOAL
            result = await opened.session.submit(QueueTask(words))
            assert result is not None
            assert result.status == "ok", result
            session, self._turn = result.session, self._turn + 1
        return session


def _changes(server: ModelServer, events: list[Event]) -> list[tuple[bool, bool]]:
    """For each request of the Director after the first: whether it changed what the one before said, whether a compression was told."""
    calls: list[bool] = []
    compressed = False
    for event in events:
        compressed = compressed or isinstance(event.payload, COMPRESSED)
        if isinstance(event.payload, LlmCallStart):
            calls.append(compressed)
            compressed = False
    requests = [(view, told) for view, told in zip(server.views, calls, strict=True) if SUMMARISER not in view.identity]
    return [(after.segments[: len(before.segments)] != before.segments, told) for (before, _), (after, told) in pairwise(requests)]


@pytest.mark.slow
@pytest.mark.parametrize(("api_format", "count", "least"), [("openai", 60, 3), ("responses", 30, 1), ("anthropic", 30, 1)])
async def test_rules_goal_and_plan_survive_many_turns_all_tiers_and_two_resumes(
    sessions: Sessions, model_server: ModelServer, api_format: str, count: int, least: int
) -> None:
    (sessions.workspace / "prices.py").write_text("".join(f"total_{number} = round(prices[{number}] * 2, 2)\n" for number in range(5000)))
    model_server.tolerate = ("prefix",)
    model_server.script = Releaser()
    environ = sessions.environment(api_format, YAGENT_COMPRESS_THRESHOLD=str(THRESHOLD))
    turns, resume, events = Turns(count), None, []
    for turn in (count // 3, count * 3 // 4, count):
        async with sessions.open(environ=environ, resume=resume) as opened:
            resume = Resume(await turns.until(turn, opened))
        events += opened.events
    last = "\n".join(entry.text for entry in model_server.views[-1].entries)
    assert [rule for rule in CONSTRAINTS.values() if rule not in last] == []
    assert GOAL in last
    assert all(item in last for item in OPEN)
    tiers = [event.payload.tier for event in events if isinstance(event.payload, COMPRESSED)]
    assert {tier: tiers.count(tier) >= least for tier in ("rule", "emergency", "ultimate")} == {
        "rule": True,
        "emergency": True,
        "ultimate": True,
    }, tiers
    changes = _changes(model_server, events)
    assert [number for number, (changed, told) in enumerate(changes) if changed != told] == []
    (path,) = sessions.home.glob(".yagent/data/rollout/**/*.jsonl")
    recorded = [entry.record.tier for entry in read(path) if isinstance(entry.record, Compacted)]
    assert recorded == tiers
    assert max(sum(map(len, view.segments)) // 4 for view in model_server.views) < THRESHOLD * 1.2
