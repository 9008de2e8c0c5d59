"""Session cases about the record itself: D01 (a torn end), D02 (damage in the middle) and D04 (two processes, one session)."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.llm.wire import FORMATS
from tests.support.command_line import CommandLine, ended, until
from tests.support.model_server import Chaos, ModelServer, Reply, RequestView, call
from tests.support.session import Opened, Sessions
from yagent.protocol.events import WarningIssued
from yagent.rollout.reader import Account, read
from yagent.session.request import Resume

READINGS = 3
Lines = list[bytes]


async def _recorded(sessions: Sessions, server: ModelServer, api_format: str) -> tuple[str, Path]:
    """A task of three tool turns that ended in order: its session and its record."""
    for number in range(READINGS):
        (sessions.workspace / f"{number}.txt").write_text(f"found in {number}\n")
    readings = [call("read_file", path=f"{number}.txt") for number in range(READINGS)]
    server.play({"are the Director": [*readings, "the first answer"]})
    async with sessions.open(api_format=api_format) as opened:
        result = await opened.do("the first task")
        assert result.exit_code == 0
    (path,) = sessions.home.glob(".yagent/data/rollout/**/*.jsonl")
    assert len(path.read_bytes().splitlines()) >= 15
    return result.session, path


async def _taken_up(sessions: Sessions, server: ModelServer, session: str, api_format: str) -> tuple[RequestView, Opened]:
    """Go on with new words: the first request, which the strict server accepted, and what was told."""
    server.memory.conversations.clear()  # what is missing now was there before
    server.script = lambda view: Reply(text="going on")
    asked = len(server.views)
    async with sessions.open(api_format=api_format, resume=Resume(session)) as opened:
        result = await opened.do("the new words")
        assert (result.exit_code, result.answer) == (0, "going on")
    assert len(server.views) == asked + 1
    return server.views[asked], opened


def _warnings(opened: Opened) -> str:
    return "\n".join(warning.text for warning in opened.told(WarningIssued))


TORN: dict[str, Callable[[bytes], bytes]] = {
    "the last line cut after 37 bytes": lambda data: data[: data[:-1].rfind(b"\n") + 38],
    "4096 zero bytes behind": lambda data: data + b"\0" * 4096,
    "empty lines behind": lambda data: data + b"\n\n \n",
    "a line cut inside a character": lambda data: data + '{"ordinal":99,"type":"response_item","payload":{"text":"é'.encode()[:-1],
}


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("damage", TORN)
async def test_D01_a_torn_end_costs_nothing_but_what_is_torn(
    sessions: Sessions, model_server: ModelServer, damage: str, api_format: str
) -> None:
    session, path = await _recorded(sessions, model_server, api_format)
    before = TORN[damage](path.read_bytes())
    path.write_bytes(before)
    request, opened = await _taken_up(sessions, model_server, session, api_format)
    sent = json.dumps(request.body)
    assert [f"found in {number}" in sent for number in range(READINGS)] == [True] * READINGS
    assert "the first task" in sent
    assert "the first answer" in sent
    assert "the new words" in request.entries[-1].text
    assert "bytes skipped" in _warnings(opened) or "empty" in damage
    assert path.read_bytes().startswith(before), "nothing of the record is cut off"


# of the line at an index: what becomes of the record, whether the line is lost by it, and what is said of it
MIDDLE: dict[str, tuple[Callable[[Lines, int], Lines], bool, str]] = {
    "half an object": (lambda lines, at: [*lines[:at], b'{"type":"x"\n', *lines[at + 1 :]], True, "skipped"),
    "no object": (lambda lines, at: [*lines[:at], b"[1]\n", *lines[at + 1 :]], True, "skipped"),
    "an unknown type": (lambda lines, at: [*lines[:at], lines[at].replace(b'"type":"', b'"type":"x_'), *lines[at + 1 :]], True, "skipped"),
    "removed": (lambda lines, at: [*lines[:at], *lines[at + 1 :]], True, ""),
    "zero bytes before it": (lambda lines, at: [*lines[:at], b"\0" * 512 + lines[at], *lines[at + 1 :]], False, "zero bytes"),
    "doubled": (lambda lines, at: [*lines[: at + 1], *lines[at:]], False, "dropped"),
}


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("kind", ["tool_call", "tool_result"])
@pytest.mark.parametrize("damage", MIDDLE)
async def test_D02_a_bad_line_in_the_middle_loses_no_later_one(
    sessions: Sessions, model_server: ModelServer, damage: str, kind: str, api_format: str
) -> None:
    session, path = await _recorded(sessions, model_server, api_format)
    change, is_lost, told = MIDDLE[damage]
    lines = path.read_bytes().splitlines(keepends=True)
    _, second, _ = (number for number, line in enumerate(lines) if f'"kind":"{kind}"'.encode() in line)
    path.write_bytes(b"".join(change(lines, second)))
    request, opened = await _taken_up(sessions, model_server, session, api_format)
    sent = json.dumps(request.body)
    assert [f"found in {number}" in sent for number in range(READINGS)] == [True, not is_lost, True]
    assert "the first answer" in sent
    assert "the new words" in request.entries[-1].text
    assert told in _warnings(opened)
    assert ("outcome unknown" in sent) is (is_lost and kind == "tool_result")
    results = [result.call_id for entry in request.entries for result in entry.results]
    assert sorted(results) == sorted(made.id for entry in request.entries for made in entry.calls)
    assert len(results) == (READINGS - 1 if is_lost and kind == "tool_call" else READINGS)


@pytest.mark.real_time
@pytest.mark.slow
async def test_D04_a_session_that_is_open_belongs_to_its_process_until_that_is_gone(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["the first answer"]})
    older = str((await yagent.run("-p", "the older task", "--output", "json")).document["session"])
    hanging = Reply(text="never", chaos=[Chaos("hang_before_headers")])
    model_server.play({"are the Director": [call("read_file", path="notes.txt"), hanging]})
    running = await yagent.start("-p", "the running task")
    await until(lambda: len(model_server.exchanges) == 3)
    open_one = next(records[0]["payload"]["session"] for records in yagent.records() if records[0]["payload"]["session"] != older)
    for arguments in (["-r", open_one, "-p", "mine"], ["resume", open_one]):
        refused = await yagent.run(*arguments)
        assert (refused.code, refused.answer) == (2, "")
        assert f"Session {open_one} is open in another process." in refused.told
    model_server.script = lambda view: Reply(text="going on")
    newest = await yagent.run("-C", "-p", "the new words")
    assert (newest.code, f"session {older}: the older task" in newest.told) == (0, True), "one that is not in use is preferred"
    running.send_signal(signal.SIGKILL)
    await ended(running)
    model_server.memory.conversations.clear()
    taken = await yagent.run("-r", open_one, "-p", "mine now")
    assert (taken.code, taken.answer) == (0, "going on\n"), "the lock went with the process"
    sent = json.dumps(model_server.views[-1].body)
    assert "the running task" in sent
    assert "the older task" not in sent
    assert "the new words" not in sent
    for path in yagent.data.glob("data/rollout/**/*.jsonl"):
        account = Account()
        assert len({entry.ordinal for entry in read(path, account)}) == len(list(read(path)))
        assert account.count == 0
