"""What was taken out of a conversation can be read with `read_artifact`, by the ids that stand in its place, also in a later process."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from tests.llm.wire import FORMATS
from tests.support.model_server import Call, ModelServer, Reply, RequestView, status
from tests.support.session import Sessions
from yagent.compression.compaction import Tier
from yagent.protocol.events import ContextCompressed, ContextEmergencyCompressed, ContextUltimateCompressed
from yagent.protocol.ops import CompactTask
from yagent.session.request import Resume

TIERS: tuple[Tier, ...] = get_args(Tier)
TOLD = (ContextCompressed, ContextEmergencyCompressed, ContextUltimateCompressed)
NEEDLE = "the number of the house is 4711"
THOUGHT = "<thought>\ngoal: find the house\nstep: read\nreason: asked\nplan:\n- [>] read\n</thought>"
BROKEN = status(400, body=b'{"error":{"message":"no summary today","type":"invalid_request_error"}}')
NAMED = re.compile(r"read_artifact (\S+) (?:gives|has)")


class Reader:
    """Reads a file with a needle in it, talks much about it, and reads what it is told was taken out."""

    def __init__(self, tier: Tier) -> None:
        self.tier = tier
        self.wanted = ""
        self.found = ""

    def __call__(self, view: RequestView) -> Reply:
        if "You summarise" in view.identity:
            return Reply("worked on stuff", chaos=[BROKEN] if self.tier == "ultimate" else ())
        if view.results:
            self.found = view.results[-1].text
            return Reply("I have read it.")
        if "Find" in view.user_text:
            return Reply(THOUGHT, calls=(Call("read_file", {"path": "house.txt"}),))
        if "Again" in view.user_text:
            said = "\n".join(entry.text + "".join(each.text for each in entry.results) for entry in view.entries)
            self.wanted = self.wanted or NAMED.findall(said)[0]
            return Reply(calls=(Call("read_artifact", {"artifact_id": self.wanted}),))
        return Reply("many words " * 400, piece=4096)


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("tier", TIERS)
async def test_what_any_tier_took_out_can_be_read_also_after_a_resume(
    sessions: Sessions, model_server: ModelServer, tier: Tier, api_format: str
) -> None:
    lines = [f"line {number} of a text about houses" for number in range(300 if tier == "rule" else 10)]
    (sessions.workspace / "house.txt").write_text("\n".join([*lines[:3], NEEDLE, *lines[3:]]))
    environ = sessions.environment(api_format)
    model_server.tolerate = ("prefix",)
    model_server.script = model = Reader(tier)
    async with sessions.open(environ=environ) as opened:
        first = await opened.do("Find the house.")
        for _ in range(0 if tier == "rule" else 3):
            await opened.do("Tell me more.")
        await opened.session.submit(CompactTask())
        assert len(opened.told(TOLD[TIERS.index(tier)])) == 1
        await opened.do("Again, which number has it?")
    asked = next(view for view in model_server.views if "Again" in view.user_text)
    assert NEEDLE not in "".join(asked.segments)
    assert NEEDLE in model.found
    model.found = ""
    async with sessions.open(environ=environ, resume=Resume(first.session)) as opened:
        await opened.do("Again?")
    assert NEEDLE in model.found
