"""Headless case G-07: signals end the work, its commands and its record."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
import termios

import pytest

from tests.support.command_line import LIMIT, CommandLine, Ended, alive, ended, send, until
from tests.support.model_server import Agent, Chaos, ModelServer, Reply
from tests.support.terminal import Terminal

pytestmark = [pytest.mark.real_time, pytest.mark.slow]
SLEEPS = "trap '' TERM; touch started; sleep 90 & sleep 90"


def play_sleeping(server: ModelServer) -> None:
    """A command that ignores SIGTERM, with a child of its own in the background."""

    async def coding(agent: Agent) -> str:
        return await agent.call("run_bash", command=SLEEPS)

    async def director(agent: Agent) -> str:
        return await agent.call("delegate_coding", task="wait")

    server.play({"Director": director, "Coding": coding})


async def interrupted(yagent: CommandLine, *signals: int, arguments: tuple[str, ...] = ()) -> Ended:
    """Run until the command sleeps, then send the signals one after the other."""
    process = await yagent.start("-p", "x", "-Y", *arguments, environment={"MARK": str(yagent.home)})
    await until((yagent.workspace / "started").exists)
    for number in signals:
        await send(process, number)
    return await ended(process)


def unread(stream: asyncio.StreamWriter | None) -> int:
    """Bytes in a pipe to a process that it has not taken."""
    assert stream is not None
    buffered = stream.transport.get_write_buffer_size()
    count = fcntl.ioctl(stream.get_extra_info("pipe"), termios.FIONREAD, bytes(4))
    return buffered + int.from_bytes(count, sys.byteorder)


def stop_reasons(yagent: CommandLine) -> list[object]:
    """How each record says that it ended."""
    return [records[-1]["payload"]["data"].get("stop_reason") for records in yagent.records()]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
async def test_G07_one_signal_ends_the_run_in_order(yagent: CommandLine, model_server: ModelServer, number: int, code: int) -> None:
    play_sleeping(model_server)
    result = await interrupted(yagent, number, arguments=("--output", "stream-json"))
    assert (result.code, result.lines[-1]["type"], result.lines[-1]["stop_reason"]) == (code, "result", "cancelled")
    assert not alive(str(yagent.home))
    assert stop_reasons(yagent) == ["cancelled", "cancelled"]
    assert "Traceback" not in result.told


async def test_G07_every_call_of_an_interrupted_run_has_its_result_on_the_record(yagent: CommandLine, model_server: ModelServer) -> None:
    play_sleeping(model_server)
    await interrupted(yagent, signal.SIGINT)
    for records in yagent.records():
        messages = [record["payload"]["message"] for record in records if record["type"] == "response_item"]
        parts = [part for message in messages for part in message["parts"]]
        calls = [part["id"] for part in parts if part["kind"] == "tool_call"]
        results = [part["call_id"] for part in parts if part["kind"] == "tool_result"]
        assert calls == results != []


async def test_G07_a_second_signal_ends_the_process_at_once_and_its_commands_all_the_same(
    yagent: CommandLine, model_server: ModelServer
) -> None:
    play_sleeping(model_server)
    result = await interrupted(yagent, signal.SIGINT, signal.SIGINT)
    assert result.code == 130
    await until(lambda: not alive(str(yagent.home)))


async def test_G07_commands_end_when_the_process_itself_is_killed(yagent: CommandLine, model_server: ModelServer) -> None:
    play_sleeping(model_server)
    assert (await interrupted(yagent, signal.SIGKILL)).code == -signal.SIGKILL
    await until(lambda: not alive(str(yagent.home)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_model_call_in_flight_is_given_up(yagent: CommandLine, model_server: ModelServer, number: int) -> None:
    model_server.script = lambda view: Reply(text="never", chaos=[Chaos("hang_before_headers")])
    process = await yagent.start("-p", "x", "--output", "json")
    await until(lambda: model_server.exchanges)
    process.send_signal(number)
    result = await ended(process)
    assert (result.code, result.document["stop_reason"]) == (128 + number, "cancelled")
    assert stop_reasons(yagent) == ["cancelled"]


async def test_an_interrupt_while_the_prompt_is_still_being_read_is_130(yagent: CommandLine, model_server: ModelServer) -> None:
    process = await yagent.start("-p", "-", stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"the beginning of a task")
    await until(lambda: unread(process.stdin) == 0)  # it has begun to read, and waits for more
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(LIMIT):
        assert await process.wait() == 130
    result = await ended(process)
    assert "Traceback" not in result.told


async def test_an_interrupt_during_the_first_look_at_the_workspace_is_recorded(yagent: CommandLine, model_server: ModelServer) -> None:
    """git is slow here: the loop has not begun yet."""
    tools = yagent.home / "tools"
    tools.mkdir()
    git = tools / "git"
    git.write_text(f'#!/bin/sh\ntouch "{yagent.home}/asked"\nsleep 90\n')
    git.chmod(0o755)
    process = await yagent.start("-p", "x", "--output", "json", environment={"PATH": f"{tools}:{os.environ['PATH']}"})
    await until((yagent.home / "asked").exists)
    process.send_signal(signal.SIGINT)
    result = await ended(process)
    assert (result.code, result.document["stop_reason"]) == (130, "cancelled")
    assert stop_reasons(yagent) == ["cancelled"]


async def test_a_terminal_is_left_sane_even_when_the_process_ends_at_once(yagent: CommandLine, model_server: ModelServer) -> None:
    play_sleeping(model_server)
    async with Terminal() as terminal:
        before = terminal.settings()
        process = await terminal.start(yagent, "-p", "x", "-Y", environment={"MARK": str(yagent.home)})
        await until((yagent.workspace / "started").exists)
        for _ in range(2):
            await send(process, signal.SIGINT)
        assert (await ended(process)).code == 130
        await until(lambda: terminal.settings() == before)
        await terminal.see_the_rest()
    assert terminal.seen.rfind(b"\x1b[?25h") > terminal.seen.rfind(b"\x1b[?25l")
    await until(lambda: not alive(str(yagent.home)))
