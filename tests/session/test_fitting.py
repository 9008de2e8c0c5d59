"""A conversation that outgrows its model's window is compressed on the way, and the run goes on to its end."""

from __future__ import annotations

import pytest

from tests.llm.wire import FORMATS
from tests.support.model_server import Call, ModelServer, Reply, RequestView, call, hand_over
from tests.support.session import Sessions
from yagent.protocol.client import CompressionStatistics
from yagent.protocol.events import ContextCompressed, ContextEmergencyCompressed, ContextUltimateCompressed
from yagent.rollout.reader import read
from yagent.rollout.records import Compacted
from yagent.session.request import Resume

TOLD = (ContextCompressed, ContextEmergencyCompressed, ContextUltimateCompressed)
THOUGHT = "<thought>\ngoal: read it all\nstep: {0}\nreason: asked\nplan:\n- [>] read on\n- [ ] report\n</thought>"


class Reader:
    """Reads on and on whatever the conversation looks like, then answers; a summary it writes badly."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.number = 0

    def __call__(self, view: RequestView) -> Reply:
        if "You summarise" in view.identity:
            return Reply("worked on stuff")
        self.number += 1
        if self.number > self.steps:
            return Reply("read to the end")
        first = self.number * 40 - 39
        lines = {"path": "long.txt", "start_line": first, "end_line": first + 39}
        return Reply(text=THOUGHT.format(self.number), calls=(Call("read_file", lines),))


@pytest.mark.parametrize("api_format", FORMATS)
async def test_a_long_run_in_a_small_window_reaches_its_end_with_the_users_words(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    (sessions.workspace / "long.txt").write_text("".join(f"line {number} of a long text with words in it\n" for number in range(600)))
    model_server.tolerate = ("prefix",)
    model_server.script = Reader(12)
    environ = sessions.environment(api_format, YAGENT_COMPRESS_THRESHOLD="6000")
    async with sessions.open(environ=environ) as opened:
        assert opened.session.snapshot().compressions == ()
        result = await opened.do("Read long.txt. Never touch generated/.")
        compressions = opened.session.snapshot().compressions
    told = [payload for kind in TOLD for payload in opened.told(kind)]
    assert compressions == tuple(
        CompressionStatistics(tier, len(found), sum(each.saved_tokens for each in found), max(each.original_tokens for each in found))
        for tier in ("rule", "emergency", "ultimate")
        if (found := [each for each in told if each.tier == tier])
    )
    assert sum(each.count for each in compressions) > 1
    assert all(each.saved_tokens > 0 for each in compressions)
    assert result.answer == "read to the end", result
    assert any(opened.told(kind) for kind in TOLD)
    assert "Never touch generated/." in str(model_server.views[-1].body)
    (path,) = sessions.home.glob(".yagent/data/rollout/**/*.jsonl")
    assert any(isinstance(entry.record, Compacted) for entry in read(path))


@pytest.mark.parametrize("window", [4000, None])
async def test_a_summary_is_asked_of_a_model_that_can_read_the_request(
    sessions: Sessions, model_server: ModelServer, window: int | None
) -> None:
    providers = {"own": ("played-model", 20_000), "other": ("another-model", window)}
    known = {name: f"context_window = {size}\n" if size else "" for name, (_, size) in providers.items()}
    sessions.configure(
        '[global.llm]\nuse_provider = "own"\n[tools.llm]\nuse_provider = "other"\n'
        + "".join(
            f'[global.llm.providers.{name}]\napi_base_url = "{sessions.url}"\nmodel = "{model}"\napi_format = "openai"\n{known[name]}'
            for name, (model, _) in providers.items()
        )
    )

    def script(view: RequestView) -> Reply:
        if "You summarise" in view.identity:
            return Reply("talked about words")
        return Reply("many words " * 700, piece=4096)

    model_server.tolerate = ("prefix",)
    model_server.script = script
    environ = {name: value for name, value in sessions.environment().items() if not name.startswith("YAGENT_")}
    async with sessions.open(environ=environ) as opened:
        for _ in range(12):
            await opened.do("talk")
    asked = [view for view in model_server.views if "You summarise" in view.identity]
    assert asked
    if window is None:
        assert {view.body["model"] for view in asked} == {"played-model"}
        return
    assert {view.body["model"] for view in asked} == {"another-model"}
    assert max(sum(len(part.encode()) for part in view.segments) // 4 for view in asked) < window


async def test_a_conversation_that_is_taken_up_is_large_also_by_what_its_calls_say(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.tolerate = ("prefix",)
    model_server.play({"are the Director": [call("delegate_chat", task="word " * 40_000), "done"], "are Chat": [hand_over("said")]})
    async with sessions.open() as opened:
        first = await opened.do("let Chat say it")
    model_server.script = lambda view: Reply("it was said" if "You summarise" in view.identity else "went on")
    environ = sessions.environment(YAGENT_COMPRESS_THRESHOLD="30000")
    async with sessions.open(environ=environ, resume=Resume(first.session)) as opened:
        assert (await opened.do("go on")).answer == "went on"
        assert any(opened.told(kind) for kind in TOLD)
    assert len(str(model_server.views[-1].body)) < 4 * 30_000
