"""Cases of a history that is larger than the window: the way out may not be as large as the trouble."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.cases.narrow import PROVIDER, SUMMARISER, Narrow, bare, write_long
from tests.llm.wire import FORMATS
from tests.session.stances import until
from tests.support.model_server import Call, ModelServer, Reply, RequestView
from tests.support.session import Sessions
from yagent.protocol.events import ContextCompressed, ContextEmergencyCompressed, ContextUltimateCompressed
from yagent.protocol.ops import CompactTask, PauseTask, StopTask
from yagent.protocol.stop import StopReason
from yagent.rollout.reader import read
from yagent.rollout.records import ResponseItem

WINDOW = 6800  # tokens, as the server counts them


class Oversized(Narrow):
    """Looks at a few lines, then calls a tool whose result alone is larger than the window; `meanwhile` happens before it has that."""

    def __init__(self, tool: str, meanwhile: Callable[[], Awaitable[object]] | None = None) -> None:
        super().__init__(WINDOW, "worked on stuff", lines=5)
        self._tool = tool
        self._meanwhile = meanwhile

    async def answer(self, view: RequestView) -> Reply:
        """The script."""
        if "the last of three" in view.identity:
            if self._meanwhile is not None:
                await self._meanwhile()
            return Reply("so it is " * 12_000, piece=4096)
        if "of three who think" in view.identity:
            return Reply("it may be so")
        own = SUMMARISER not in view.identity
        if not own or self.taken != 5:
            if own and self.taken > 5:
                self.taken = self.steps
            return self(view)
        self.taken += 1
        asked = Call("read_file", {"path": "long.txt"}) if self._tool == "read_file" else Call(self._tool, {"question": "how?"})
        return Reply("I look at it.", calls=(asked,))


def _provider(sessions: Sessions, api_format: str, *, is_known: bool) -> None:
    known = f"context_window = {WINDOW}\n" if is_known else ""
    sessions.configure(PROVIDER.format(url=sessions.url, api_format=api_format) + known)


def _is_survived(narrow: Narrow, *, is_known: bool) -> None:
    """Nothing that was too long was sent twice, and no request for a summary was too long."""
    assert len(narrow.refused) == len(set(narrow.refused)), "a request that was too long was sent again"
    assert all(SUMMARISER not in request for request in narrow.refused)
    if is_known:
        assert narrow.refused == []


def _largest_result(sessions: Sessions) -> int:
    """Tokens of the largest result on the record, as the server counts them."""
    (path,) = sessions.home.glob(".yagent/data/rollout/**/*.jsonl")
    items = (entry.record for entry in read(path) if isinstance(entry.record, ResponseItem))
    return max(len(result.text.encode()) // 4 for item in items for result in item.message.results)


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("is_known", [True, False], ids=["window known", "window unknown"])
@pytest.mark.parametrize("tool", ["read_file", "deepthinking"])
async def test_D07_a_result_larger_than_the_window_is_cut_before_anything_is_asked_and_the_session_goes_on(
    sessions: Sessions, model_server: ModelServer, api_format: str, is_known: bool, tool: str
) -> None:
    write_long(sessions)
    model_server.tolerate = ("prefix",)
    oversized = Oversized(tool)
    model_server.script = oversized.answer
    _provider(sessions, api_format, is_known=is_known)
    async with sessions.open(environ=bare(sessions)) as opened:
        first = await opened.do("Read long.txt.")
        second = await opened.do("And now?")
    assert (first.answer, second.answer) == ("all done", "all done"), (first, second)
    assert _largest_result(sessions) > WINDOW
    _is_survived(oversized, is_known=is_known)
    told = [kind for kind in (ContextCompressed, ContextEmergencyCompressed, ContextUltimateCompressed) if opened.told(kind)]
    if tool == "deepthinking":  # whose results the first tier leaves alone
        assert len(oversized.summaries) >= 1
        assert ContextEmergencyCompressed in told
    assert told


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("is_known", [True, False], ids=["window known", "window unknown"])
async def test_D07_a_history_that_is_over_the_window_already_can_be_compressed_by_the_user(
    sessions: Sessions, model_server: ModelServer, api_format: str, is_known: bool
) -> None:
    write_long(sessions)
    model_server.tolerate = ("prefix",)
    _provider(sessions, api_format, is_known=is_known)
    async with sessions.open(environ=bare(sessions)) as opened:
        oversized = Oversized("deepthinking", lambda: opened.session.submit(PauseTask()))
        model_server.script = oversized.answer
        task = asyncio.ensure_future(opened.do("Read long.txt."))
        await until(lambda: any(agent.stands_still for agent in opened.session.snapshot().agents))
        await opened.session.submit(StopTask())
        assert (await task).stop_reason is StopReason.CANCELLED
        assert oversized.summaries == []
        compacted = await opened.session.submit(CompactTask())
        assert compacted is not None
        assert compacted.answer.startswith("The conversation was compressed"), compacted
        assert len(oversized.summaries) >= 1
        assert (await opened.do("And now?")).answer == "all done"
    assert _largest_result(sessions) > WINDOW
    _is_survived(oversized, is_known=is_known)


@pytest.mark.parametrize("api_format", FORMATS)
async def test_D07_a_large_result_further_back_is_shortened_for_the_summary(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    write_long(sessions)
    oversized = Oversized("deepthinking")
    oversized.window = 10 * WINDOW
    model_server.tolerate = ("prefix",)
    model_server.script = oversized.answer
    _provider(sessions, api_format, is_known=False)
    async with sessions.open(environ=bare(sessions)) as opened:
        for words in ("Read long.txt.", "And now?", "And now?"):
            assert (await opened.do(words)).answer == "all done"
        oversized.window = WINDOW  # as when the server behind the address is another one now
        assert oversized.summaries == []
        compacted = await opened.session.submit(CompactTask())
        assert compacted is not None
        assert compacted.answer.startswith("The conversation was compressed"), compacted
        assert (await opened.do("And now?")).answer == "all done"
    assert _largest_result(sessions) > WINDOW
    assert any("of deepthinking" in str(view.body) for view in oversized.summaries)
    assert oversized.refused == []
