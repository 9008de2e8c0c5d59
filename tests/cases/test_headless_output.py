"""Headless cases about the pipe at the other end: G-04 and G-05."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import sys
import termios
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine, alive, ended, send, until
from tests.support.model_server import Agent, Call, ModelServer, Reply

pytestmark = [pytest.mark.real_time, pytest.mark.slow]
NEARLY_FULL = 15 * 4096  # bytes, of the 16 pages of a pipe
BIG = "".join(f'{number:07d} ✓ \\ "quoted" \x1b[31m\n' for number in range(40_000))


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
async def test_G04_every_byte_arrives_at_a_reader_who_comes_late(yagent: CommandLine, model_server: ModelServer, output: str) -> None:
    assert len(BIG.encode()) > 1_000_000
    model_server.play({"Director": [Reply(text=BIG, piece=8192)]})
    result = await yagent.shell(f"yagent -p big --output {output} --quiet | (sleep 1; cat)")
    assert result.told == ""
    said = result.answer if output == "text" else result.lines[-1]["answer"]
    # trailing blank space around an answer is the model's, not the answer
    assert sha256(said.strip().encode()).digest() == sha256(BIG.strip().encode()).digest()


async def test_G04_a_pipe_that_the_parent_made_non_blocking_loses_nothing(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text=BIG, piece=8192)]})
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    process = await yagent.start("-p", "big", stdout=writing)
    os.close(writing)
    received = b""
    while part := await asyncio.to_thread(os.read, reading, 3000):
        received += part
    os.close(reading)
    assert (await ended(process)).code == 0
    assert received.decode().strip() == BIG.strip()


async def test_G05_a_reader_who_leaves_ends_the_answer_quietly(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text=BIG, piece=8192)]})
    result = await yagent.shell("yagent -p long --quiet | head -1; echo ${PIPESTATUS[0]}")
    assert result.answer.splitlines() == [BIG.splitlines()[0], "141"]
    assert result.told == ""


@pytest.mark.parametrize("output", ["text", "stream-json"])
async def test_G05_a_reader_who_leaves_stops_the_work_and_its_commands(yagent: CommandLine, model_server: ModelServer, output: str) -> None:
    async def coding(agent: Agent) -> str:
        return await agent.call("run_bash", command="touch started; sleep 90")

    async def director(agent: Agent) -> str:
        return await agent.call("delegate_coding", task="wait")

    model_server.play({"Director": director, "Coding": coding})
    reading, writing = os.pipe()
    process = await yagent.start("-p", "x", "-y", "--quiet", "--output", output, stdout=writing, environment={"MARK": str(yagent.home)})
    os.close(writing)
    await until((yagent.workspace / "started").exists)
    os.close(reading)
    result = await ended(process)
    assert (result.code, result.told) == (141, "")
    assert not alive(str(yagent.home))
    assert yagent.records()[-1][-1]["payload"]["data"]["stop_reason"] == "cancelled"


@pytest.mark.parametrize("line", ["yagent --help | true", "yagent --help | head -1", "yagent sessions list 2>/dev/null | head -1"])
async def test_G05_help_and_lists_end_quietly_too(yagent: CommandLine, model_server: ModelServer, line: str) -> None:
    result = await yagent.shell(f"{line}; echo ${{PIPESTATUS[0]}}")
    assert result.told == ""
    assert int(result.answer.splitlines()[-1]) in (0, 141)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("output", ["text", "json"])
async def test_an_answer_that_a_full_disk_refuses_is_an_error_and_is_kept(
    yagent: CommandLine, model_server: ModelServer, output: str
) -> None:
    model_server.play({"Director": ["ok"]})
    result = await yagent.shell(f"yagent -p x --quiet --output {output} > /dev/full")
    session = yagent.records()[0][0]["payload"]["session"]
    assert result.code == 1
    assert result.told == (
        f"yagent: The answer could not be written: No space left on device. It is kept in the record: yagent sessions show {session}\n"
    )
    assert "ok" in (await yagent.run("sessions", "show", session)).answer


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
async def test_of_an_answer_that_cannot_be_written_and_a_limit_that_was_reached_the_stronger_code_is_told(
    yagent: CommandLine, model_server: ModelServer
) -> None:
    model_server.play({"Director": [Reply("I look.", calls=(Call("list_dir", {"path": "."}),)), "so far"]})
    result = await yagent.shell("yagent -p x --quiet --max-steps 1 > /dev/full")
    assert (result.code, "could not be written" in result.told) == (3, True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
async def test_a_stream_that_a_full_disk_refuses_ends_the_run(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"Director": ["ok"]})
    result = await yagent.shell("yagent -p x --quiet --output stream-json > /dev/full")
    assert result.code == 1
    assert result.told.startswith("yagent: The answer could not be written: No space left on device.")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("line", ["yagent --help", "yagent --version", "yagent sessions list"])
async def test_help_and_lists_that_a_full_disk_refuses_are_an_error(yagent: CommandLine, model_server: ModelServer, line: str) -> None:
    model_server.play({"Director": ["ok"]})
    await yagent.run("-p", "x")
    for buffering in ("", "PYTHONUNBUFFERED=1 "):
        result = await yagent.shell(f"{buffering}{line} > /dev/full")
        assert result.code == 1
        assert "No space left on device" in result.told
        assert result.told.count("\n") == 1


async def test_an_answer_without_a_standard_output_is_not_delivered(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"Director": ["ok"]})
    result = await yagent.shell("yagent -p x >&-")
    assert result.code == 141
    assert "standard output is closed" in result.told
    assert (await yagent.shell("yagent --help >&-")).told == ""


async def test_G05_a_closed_standard_error_is_nobodys_loss(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"Director": ["ok"]})
    assert (await yagent.shell("yagent -p x 2>&-")).answer == "ok\n"


async def test_signals_are_heeded_while_a_reader_stalls(yagent: CommandLine, model_server: ModelServer) -> None:
    """Nobody reads and nobody leaves: a second signal still ends the process at once."""
    model_server.play({"Director": [Reply(text=BIG, piece=8192)]})
    reading, writing = os.pipe()
    process = await yagent.start("-p", "big", "--quiet", stdout=writing)
    os.close(writing)
    try:
        await until(lambda: model_server.exchanges and model_server.exchanges[0].ended)
        await until(lambda: int.from_bytes(fcntl.ioctl(reading, termios.FIONREAD, bytes(4)), sys.byteorder) >= NEARLY_FULL)
        for _ in range(2):
            await send(process, signal.SIGTERM)
        assert (await ended(process)).code == 143
    finally:
        os.close(reading)


async def test_the_last_line_of_the_stream_is_the_result_and_the_first_says_what_began(
    yagent: CommandLine, model_server: ModelServer
) -> None:
    model_server.play({"Director": ["ok"]})
    result = await yagent.run("-p", "x", "--output", "stream-json")
    lines = result.lines
    assert lines[0]["type"] == "session_started"
    assert (lines[-1]["type"], lines[-1]["answer"], lines[-1]["exit_code"]) == ("result", "ok", 0)
    assert [line["seq"] for line in lines[:-1]] == list(range(lines[0]["seq"], lines[0]["seq"] + len(lines) - 1))
    assert json.loads(json.dumps(lines[-1])) == lines[-1]
