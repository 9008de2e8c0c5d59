"""What the logs of sessions that share a home tell apart (U-09)."""

from __future__ import annotations

import re

import pytest

from tests.support.model_server import ModelServer, Reply, call
from tests.support.session import Sessions
from yagent.protocol.events import AiChunk
from yagent.protocol.ops import StopTask
from yagent.runtime.supervise import Domain

LINE = re.compile(r"\d{4}-\d\d-\d\dT\S+ (?P<whose>\S+) (?:[A-Z]+ \S+: |\| )(?P<told>.*)")


async def test_every_line_names_its_session_and_task(sessions: Sessions, model_server: ModelServer) -> None:
    begun = []
    for _ in range(2):
        model_server.play({"are the Director": [call("read_file", path="notes.txt"), "one", call("list_dir", path="."), "two"]})
        async with sessions.open() as opened:
            begun.append((await opened.do("first")).session)
            await opened.do("second")
    found = [match for line in lines(sessions, "app") if (match := LINE.fullmatch(line))]
    assert len(found) == len(lines(sessions, "app"))
    tools = {(match["whose"], name) for match in found for name in ("read_file", "list_dir") if f" {name} {{" in match["told"]}
    assert tools == {(f"{session}-{number}", name) for session in begun for number, name in ((1, "read_file"), (2, "list_dir"))}
    assert {match["whose"] for match in found} <= {f"{session}{task}" for session in begun for task in ("", "-1", "-2")}


async def test_what_a_result_says_in_several_lines_belongs_to_its_task(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": [call("read_file", path="notes.txt"), "one"]})
    async with sessions.open() as opened:
        session = (await opened.do("first")).session
    assert [line.split(" ", 1)[1] for line in lines(sessions, f"{session}-1/tool")][-1] == f"{session}-1 | 2\tsecond line"


async def test_why_a_task_was_stopped_is_in_the_log(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": [Reply("words " * 500, pace=1.0)]})
    async with sessions.open() as opened, Domain("stopping") as domain:
        events = opened.session.events()

        async def stop() -> None:
            async for event in events:
                if isinstance(event.payload, AiChunk):
                    await opened.session.submit(StopTask(reason="lunch"))
                    return

        domain.go("stop", stop())
        await opened.do("go")
    assert [line for line in lines(sessions, "app") if line.endswith("the task is stopped: lunch")]
    assert [line for line in lines(sessions, "*/llm") if "director call 1 was stopped after" in line]
    assert not lines(sessions, "*/llm-error")


async def test_a_log_that_cannot_be_written_is_told_once(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["one", "two"]})
    place = sessions.home / ".yagent/logs"
    place.parent.mkdir()
    place.write_text("in the way")
    async with sessions.open() as opened:
        told = [(await opened.do("first")).warnings, (await opened.do("second")).warnings]
    assert [["cannot be written" in warning for warning in warnings] for warnings in told] == [[True], []]


async def test_old_logs_go_when_a_session_ends(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["one"]})
    old = sessions.home / ".yagent/logs/gone-1/tool-2020-01-01.log"
    old.parent.mkdir(parents=True)
    old.write_text("long ago")
    async with sessions.open() as opened:
        await opened.do("first")
        assert old.exists()
    assert not old.parent.exists()
    assert lines(sessions, "app")


async def test_what_a_slow_subscriber_missed_is_told_at_the_end_of_its_task(
    sessions: Sessions, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    model_server.play({"are the Director": [Reply("short"), Reply("a long answer " * 100, piece=1)]})
    async with sessions.open() as opened:
        slow = opened.session.bus.subscribe(name="slow")
        session = (await opened.do("first")).session
        assert slow.dropped == 0
        await opened.do("second")
    told = [record.message for record in caplog.records if "missed" in record.message]
    assert told == [f"{session}-2: subscriber 'slow' missed {slow.dropped} events"]


def lines(sessions: Sessions, kind: str) -> list[str]:
    """What the log of one kind holds."""
    return [line for path in (sessions.home / ".yagent/logs").glob(f"{kind}-*.log") for line in path.read_text().splitlines()]
