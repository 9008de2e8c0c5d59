"""Headless cases about where a prompt comes from: G-02, G-09 and C14."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from tests.support.command_line import LIMIT, CommandLine, ended
from tests.support.model_server import Agent, ModelServer, Reply, RequestView, hand_over

pytestmark = [pytest.mark.real_time, pytest.mark.slow]


def request_in(task: str) -> str:
    """The user's words in a first message."""
    return task.split("<request>\n")[-1].removesuffix("\n</request>")


def words(server: ModelServer) -> str:
    """The user's words as the model got them."""
    assert len(server.views) == 1
    return request_in(server.views[0].task)


@pytest.fixture
def echo(model_server: ModelServer) -> ModelServer:
    model_server.play({"Director": ["ok"]})
    return model_server


async def test_G02a_an_open_pipe_that_nobody_writes_to_delays_nothing(yagent: CommandLine, echo: ModelServer) -> None:
    reading, writing = os.pipe()
    try:
        result = await yagent.run("-p", "hi", stdin=reading)
    finally:
        os.close(reading)
        os.close(writing)
    assert (result.code, result.answer, words(echo)) == (0, "ok\n", "hi")


async def test_G02a_an_open_socket_that_nobody_writes_to_delays_nothing(yagent: CommandLine, echo: ModelServer) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        result = await yagent.run("-p", "hi", stdin=theirs.fileno())
    assert (result.code, words(echo)) == (0, "hi")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
async def test_G02b_closed_descriptors_are_no_traceback_and_no_file_takes_their_place(
    yagent: CommandLine, echo: ModelServer, closed: str
) -> None:
    result = await yagent.shell(f"yagent -p hi {closed}")
    delivered = ">&-" not in closed.replace("2>&-", "")
    assert (result.code, words(echo)) == (0 if delivered else 141, "hi")
    assert "Traceback" not in result.told
    assert result.answer == ("ok\n" if delivered else "")
    assert [records[-1]["payload"]["data"]["stop_reason"] for records in yagent.records()] == ["plain_text"]


async def test_G02c_the_null_device_is_no_context(yagent: CommandLine, echo: ModelServer) -> None:
    assert ((await yagent.run("-p", "hi")).code, words(echo)) == (0, "hi")


async def test_G02d_what_is_piped_in_beside_a_prompt_is_its_context(yagent: CommandLine, echo: ModelServer) -> None:
    result = await yagent.run("-p", "explain", given=b"ctx \xe2\x9c\x93\n")
    assert (result.code, words(echo)) == (0, "explain\n\n<standard_input>\nctx ✓\n\n</standard_input>")


@pytest.mark.parametrize("arguments", [(), ("-p", "-"), ("-p", ""), ("-p", " \n")])
async def test_G02e_no_prompt_at_all_is_wrong_usage(yagent: CommandLine, model_server: ModelServer, arguments: tuple[str, ...]) -> None:
    for given in (b"", None):
        result = await yagent.run(*arguments, given=given)
        assert (result.code, result.out) == (2, b"")
        assert result.told.startswith("yagent: ")
    assert not model_server.exchanges


@pytest.mark.parametrize("arguments", [("-p", "hi"), ("-p", "-"), ()])
async def test_G02f_a_directory_or_binary_data_as_standard_input_is_a_clear_error(
    yagent: CommandLine, model_server: ModelServer, arguments: tuple[str, ...]
) -> None:
    directory = os.open(yagent.home, os.O_RDONLY)
    try:
        refused = await yagent.run(*arguments, stdin=directory)
    finally:
        os.close(directory)
    assert refused.code in (1, 2)  # the interpreter itself refuses a directory
    assert "directory" in refused.told
    for data, word in ((b"\xff\xfe\x00x", "UTF-8"), (b"a\0b", "zero byte")):
        refused = await yagent.run(*arguments, given=data)
        assert (refused.code, word in refused.told) == (2, True)
    assert not model_server.exchanges


async def test_C14_the_first_request_goes_out_while_standard_input_stays_open(yagent: CommandLine, model_server: ModelServer) -> None:
    asked = asyncio.Event()

    def answer(view: RequestView) -> Reply:
        asked.set()
        return Reply(text="ok")

    model_server.script = answer
    process = await yagent.start("-p", "say ok", stdin=asyncio.subprocess.PIPE)
    async with asyncio.timeout(LIMIT):
        await asked.wait()
        assert process.stdin is not None
        assert not process.stdin.is_closing()
        assert await process.wait() == 0
    await ended(process)


DASHES = [
    (("-p", "- fix the list"), "- fix the list"),
    (("-p", "---\ntitle: x\n---"), "---\ntitle: x\n---"),
    (("-p", "--", "--help"), "--help"),
    (("-p", "--help"), "--help"),
    (("-p", "--config=/nonexistent/evil.toml"), "--config=/nonexistent/evil.toml"),
    (("-p", "@file"), "@file"),
    (("-p", "--yolo"), "--yolo"),
    (("-p", "-y"), "-y"),
    (("-p", "--version"), "--version"),
    (("--prompt", "-V"), "-V"),
    (("--prompt=--quiet",), "--quiet"),
    (("--prompt=",), None),
    (("-p", ""), None),
    (("-p",), None),
    (("--nonsense", "-p", "x"), None),
    (("-p", "x", "-f", "notes.txt"), None),
]


@pytest.mark.parametrize(("arguments", "expected"), DASHES)
async def test_G09_the_word_after_the_option_is_the_prompt_whatever_it_looks_like(
    yagent: CommandLine, model_server: ModelServer, arguments: tuple[str, ...], expected: str | None
) -> None:
    model_server.play({"Director": ["ok"]})
    result = await yagent.run(*arguments)
    assert result.code == (2 if expected is None else 0), result.told
    assert [request_in(view.task) for view in model_server.views] == ([] if expected is None else [expected])


async def test_G09_a_prompt_never_changes_how_the_run_is_set_up(yagent: CommandLine, model_server: ModelServer) -> None:

    async def coding(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command="touch x"), status="error")

    async def director(agent: Agent) -> str:
        return await agent.call("delegate_coding", task="touch x")

    model_server.play({"Director": director, "Coding": coding})
    result = await yagent.run("-p", "--yolo")
    assert result.code == 4
    assert not (yagent.workspace / "x").exists()


@pytest.mark.parametrize("way", ["pipe", "file", "context"])
async def test_a_prompt_of_a_megabyte_arrives_whole(yagent: CommandLine, echo: ModelServer, tmp_path: Path, way: str) -> None:
    text = "".join(f"line {number} ✓\n" for number in range(80_000))
    assert len(text.encode()) > 1_000_000
    (tmp_path / "task.md").write_text(text)
    if way == "pipe":
        result = await yagent.run("-p", "-", given=text.encode())
    elif way == "file":
        result = await yagent.run("-f", str(tmp_path / "task.md"))
    else:
        result = await yagent.run("-p", "read this", given=text.encode())
    assert result.code == 0
    assert text in words(echo)


async def test_an_argument_that_is_not_utf8_is_wrong_usage(yagent: CommandLine, model_server: ModelServer) -> None:
    result = await yagent.shell(r"yagent -p $'caf\xe9'")
    assert (result.code, result.out) == (2, b"")
    assert "The prompt is not UTF-8 text (byte 3)." in result.told
    assert not model_server.exchanges
