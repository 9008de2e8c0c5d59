"""Security case I-20: nothing from outside steers the terminal: not an answer, not a file name, not what a tool printed."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.support.command_line import CommandLine, ended
from tests.support.model_server import Agent, Call, ModelServer, Reply, hand_over
from tests.support.terminal import Terminal

pytestmark = [pytest.mark.real_time, pytest.mark.slow]
PAYLOADS = (
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil\x07text\x1b]8;;\x07",
    "\x1b[2J",
    "\x1b[10A",
    "\x1b[6n",
    "\x1bc",
    "\x1bPpayload\x1b\\",
    "\u009b2J",
    "\u009d0;title\u009c",
    "over\rwritten",
    "\x1b[31",
    "\x08\x08",
    "\u202etxt.exe",
)
EVIL = "".join(PAYLOADS) + "\x1b"
# what the live tree itself may send: cursor hidden and shown, up by lines, erase a line, colours
OURS = re.compile(rb"\x1b\[(?:\?25[lh]|\d*A|2?K|[\d;]*m)")


async def coding(agent: Agent) -> Reply:
    """Puts the payloads everywhere an agent can: a thought, arguments, a file name, output, a failure, its conclusion."""
    await agent.calls(Call("run_bash", {"command": "cat esc.txt; ls"}), text=f"<thought>\ngoal: {EVIL}\nstep: {EVIL}\n</thought>")
    await agent.call("read_file", path=f"missing{EVIL}")
    await agent.call("list_dir", path=".")
    return hand_over(f"done {EVIL}")


async def director(agent: Agent) -> str:
    """The same in its task and its answer."""
    await agent.call("delegate_coding", task=f"look at {EVIL}")
    return f"the answer {EVIL} ends"


def play(yagent: CommandLine, server: ModelServer) -> None:
    (yagent.workspace / "esc.txt").write_text(EVIL)
    (yagent.workspace / "name\x1b[2J\x1b]0;t\x07.txt").write_text("x")
    server.play({"are the Director": director, "are Coding": coding})


def foreign(seen: bytes) -> bytes:
    """What of the bytes of a terminal is a control of somebody else's."""
    rest = OURS.sub(b"", seen).replace(b"\r\n", b"").replace(b"\r", b"", seen.count(b"\x1b[2K") + seen.count(b"\x1b[?25h"))
    text = rest.decode("utf-8", "replace")
    return "".join(character for character in text if character in "\x07\x08\x1b\r\u009b\u009d\u202e").encode()


def test_the_measure_itself_sees_every_payload() -> None:
    assert all(foreign(payload.encode()) for payload in PAYLOADS if payload not in ("\x1b[2J", "\x1b[10A"))
    assert foreign(b"\x1b[2J") == b"\x1b"


@pytest.mark.parametrize("terminal_type", ["xterm-256color", "dumb"])
async def test_I20_on_a_terminal_everything_foreign_is_made_visible(
    yagent: CommandLine, model_server: ModelServer, terminal_type: str
) -> None:
    play(yagent, model_server)
    async with Terminal(columns=200) as terminal:
        process = await terminal.start(yagent, "-p", "go", "-y", environment={"TERM": terminal_type})
        result = await ended(process)
        await terminal.see_the_rest()
    assert result.code == 0
    assert foreign(terminal.seen) == b""
    assert rb"the answer \x1b]52;c;" in terminal.seen
    assert terminal.seen.count(b"\x1b[?25l") == terminal.seen.count(b"\x1b[?25h")


async def test_I20_progress_on_a_pipe_holds_no_controls_and_the_answer_is_whole(yagent: CommandLine, model_server: ModelServer) -> None:
    play(yagent, model_server)
    result = await yagent.run("-p", "go", "-y")
    assert result.code == 0
    assert foreign(result.err) == b""
    assert result.answer == f"the answer {EVIL} ends\n"


async def test_I20_an_ask_shows_controls_as_what_they_are(yagent: CommandLine, model_server: ModelServer) -> None:
    async def asking(agent: Agent) -> Reply:
        return hand_over(await agent.call("create_file", path=f"x{EVIL}", content="x"))

    model_server.play({"are the Director": director, "are Coding": asking})
    async with Terminal(columns=200) as terminal:
        process = await terminal.start(yagent, "-p", "go", stdout=asyncio.subprocess.PIPE)
        waiting = asyncio.ensure_future(ended(process))
        await terminal.see("say why: ")
        terminal.type("n\r")
        await waiting
    assert foreign(terminal.seen) == b""


async def test_I20_errors_and_records_shown_later_are_visible_too(yagent: CommandLine, model_server: ModelServer) -> None:
    play(yagent, model_server)
    await yagent.run("-p", "go", "-y")
    async with Terminal(columns=200) as terminal:
        (session,) = [record[0]["payload"]["session"] for record in yagent.records() if not record[0]["payload"].get("delegation_id")]
        for arguments in (("sessions", "list"), ("sessions", "show", session, "--full"), ("-p", "x", "-d", EVIL), ("-f", f"no{EVIL}")):
            await ended(await terminal.start(yagent, *arguments))
        await terminal.see_the_rest()
    assert foreign(terminal.seen) == b""


@pytest.mark.parametrize("columns", [20, 200])
async def test_a_live_tree_names_every_agent_and_is_gone_when_the_answer_comes(
    yagent: CommandLine, model_server: ModelServer, columns: int
) -> None:
    async def working(agent: Agent) -> Reply:
        await agent.call("run_bash", command="sleep 0.5")
        return hand_over("done")

    model_server.play({"are the Director": director, "are Coding": working})
    async with Terminal(columns=columns) as terminal:
        process = await terminal.start(yagent, "-p", "go", "-Y", stdout=asyncio.subprocess.PIPE)
        result = await ended(process)
        await terminal.see_the_rest()
    assert result.answer.startswith("the answer")
    assert b"Director" in terminal.seen
    assert b"coding" in terminal.seen.lower()
    tree, _, after = terminal.seen.rpartition(b"\x1b[2K")
    assert tree.rstrip().endswith(b"\x1b[1A"), "the last drawing is wiped out line by line"
    assert after.startswith(b"session "), "and only the summary comes after it"
