"""Headless case G-01: who answers, and that nothing waits for an answer nobody can give."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import pytest

from tests.support.command_line import CommandLine, ended, until
from tests.support.model_server import Agent, Call, ModelServer, Reply, hand_over
from tests.support.terminal import Terminal

pytestmark = [pytest.mark.real_time, pytest.mark.slow]
HIDDEN = "touch \u202egnp.x\u202c"

UNANSWERABLE = {
    "shell": ("coding", Call("run_bash", {"command": "touch made"})),
    "a part of a pipe": ("coding", Call("run_bash", {"command": "cat notes.txt | tee made"})),
    "an outside path": ("coding", Call("create_file", {"path": "../made", "content": "x"})),
    "an edit": ("coding", Call("create_file", {"path": "made", "content": "x"})),
    "a read outside": ("repo", Call("read_file", {"path": "../made"})),
    "in the background": ("coding", Call("run_bash", {"command": "touch made", "is_background": True})),
}


def play_one(server: ModelServer, role: str, call: Call) -> None:
    """The Director delegates; the role makes one call and hands over what it was told."""

    async def working(agent: Agent) -> Reply:
        (result,) = await agent.calls(call)
        return hand_over(result.text)

    async def director(agent: Agent) -> str:
        return await agent.call(f"delegate_{role}", task="do it")

    server.play({"are the Director": director, f"are {role.capitalize()}": working})


@pytest.mark.parametrize("kind", UNANSWERABLE)
async def test_G01_an_ask_that_nobody_can_answer_is_denied_at_once(yagent: CommandLine, model_server: ModelServer, kind: str) -> None:
    play_one(model_server, *UNANSWERABLE[kind])
    result = await yagent.run("-p", "go", "--output", "json")
    document = result.document
    assert (result.code, document["exit_code"]) == (4, 4)
    assert [denied["answered_by"] for denied in document["denied"]] == ["nobody"]
    assert "nobody can give one" in document["answer"]
    assert "denied" in result.told
    assert not (yagent.workspace / "made").exists()
    assert not (yagent.workspace.parent / "made").exists()


async def test_G01_no_agent_is_offered_a_question_nobody_could_answer(yagent: CommandLine, model_server: ModelServer) -> None:
    play_one(model_server, "coding", Call("ask_user_for_help", {"kind": "confirm", "prompt": "May I?"}))
    result = await yagent.run("-p", "go")
    assert result.code == 0
    assert all("ask_user_for_help" not in view.tools for view in model_server.views)
    assert "nobody can answer" in model_server.views[0].task


TOUCH = ("coding", Call("run_bash", {"command": "touch made"}))


async def answering(terminal: Terminal, yagent: CommandLine, keys: str, *, ask: str = "Allow run_bash?", **more: Any) -> dict[str, Any]:
    """Run on a terminal with standard output as a pipe, type `keys` when asked; the result document."""
    process = await terminal.start(yagent, "-p", "go", "--output", "json", stdout=asyncio.subprocess.PIPE, **more)
    waiting = asyncio.ensure_future(ended(process))
    await terminal.see(ask)
    await terminal.see("say why: ")
    terminal.type(keys)
    result = await waiting
    document: dict[str, Any] = json.loads(result.out)
    assert document["exit_code"] == result.code
    return document


@pytest.mark.parametrize("keys", ["y\r", "yes\r", "Y\r", "nonsense\r\ry\r"])
async def test_a_person_at_the_terminal_can_say_yes_although_the_output_is_a_pipe(
    yagent: CommandLine, model_server: ModelServer, keys: str
) -> None:
    play_one(model_server, *TOUCH)
    async with Terminal() as terminal:
        before = terminal.settings()
        document = await answering(terminal, yagent, keys)
        assert terminal.settings() == before
    assert (document["exit_code"], document["denied"]) == (0, [])
    assert (yagent.workspace / "made").exists()
    assert terminal.seen.count(b"\x1b[?25l") <= terminal.seen.count(b"\x1b[?25h")


@pytest.mark.parametrize(
    ("keys", "heard"), [("n\r", "declined"), ("n because use git mv\r", "use git mv"), ("No, use git mv\r", "use git mv")]
)
async def test_a_refusal_reaches_the_model_with_its_reason_and_is_not_exit_code_4(
    yagent: CommandLine, model_server: ModelServer, keys: str, heard: str
) -> None:
    play_one(model_server, *TOUCH)
    async with Terminal() as terminal:
        document = await answering(terminal, yagent, keys)
    assert document["exit_code"] == 0
    assert [denied["answered_by"] for denied in document["denied"]] == ["user"]
    assert heard in str(document["answer"])
    assert not (yagent.workspace / "made").exists()


async def test_keys_typed_before_a_question_never_answer_it(yagent: CommandLine, model_server: ModelServer) -> None:
    reached = asyncio.Event()
    go_on = asyncio.Event()

    async def answer(view: object) -> Reply:
        if len(model_server.views) > 1:
            return Reply(text="done")
        reached.set()
        await go_on.wait()
        return Reply(calls=[Call("read_file", {"path": "/etc/../tmp"})])

    model_server.script = answer
    async with Terminal() as terminal:
        process = await terminal.start(yagent, "-p", "go", "--ask", "tool(read_file)", stdout=asyncio.subprocess.PIPE)
        waiting = asyncio.ensure_future(ended(process))
        await reached.wait()
        terminal.type("y\ry\ry\r")
        await terminal.see("y\r\ny\r\ny\r\n")  # the line has taken it
        go_on.set()
        await terminal.see("say why: ")
        terminal.type("n\r")
        assert (await waiting).code == 0
    assert "declined" in model_server.views[-1].results[0].text


async def test_an_answer_for_the_session_is_not_asked_again(yagent: CommandLine, model_server: ModelServer) -> None:
    async def coding(agent: Agent) -> Reply:
        said = [await agent.call("run_bash", command="touch made"), await agent.call("run_bash", command="touch made")]
        return hand_over("\n".join(said))

    async def director(agent: Agent) -> str:
        return await agent.call("delegate_coding", task="do it")

    model_server.play({"Director": director, "Coding": coding})
    async with Terminal() as terminal:
        document = await answering(terminal, yagent, "2\r")
    assert (document["exit_code"], terminal.seen.count(b"Allow run_bash?")) == (0, 1)


async def test_an_answer_for_the_project_holds_in_the_next_run_and_is_kept_narrow(yagent: CommandLine, model_server: ModelServer) -> None:
    play_one(model_server, *TOUCH)
    async with Terminal() as terminal:
        await answering(terminal, yagent, "3\r")
    stored = (yagent.data / "settings.json").read_text()
    assert "touch made" in stored
    assert (yagent.data / "settings.json").stat().st_mode & 0o777 == 0o600
    (yagent.workspace / "made").unlink()
    play_one(model_server, *TOUCH)
    assert (await yagent.run("-p", "go")).code == 0
    assert (yagent.workspace / "made").exists()


async def test_hidden_characters_of_a_command_are_shown_as_what_they_are(yagent: CommandLine, model_server: ModelServer) -> None:
    play_one(model_server, "coding", Call("run_bash", {"command": HIDDEN}))
    async with Terminal() as terminal:
        await answering(terminal, yagent, "n\r")
    assert rb"touch \u{202e}gnp.x\u{202c}" in terminal.seen
    assert "hidden or misleading" in terminal.seen.decode()
    assert "\u202e".encode() not in terminal.seen


@pytest.mark.parametrize(("ci", "code"), [("true", 4), ("1", 4)])
async def test_nobody_is_asked_in_continuous_integration(yagent: CommandLine, model_server: ModelServer, ci: str, code: int) -> None:
    play_one(model_server, *TOUCH)
    async with Terminal() as terminal:
        process = await terminal.start(yagent, "-p", "go", environment={"CI": ci}, stdout=asyncio.subprocess.PIPE)
        assert (await ended(process)).code == code
    assert b"Allow" not in terminal.seen


async def test_nobody_is_asked_while_somebody_else_has_the_foreground(yagent: CommandLine, model_server: ModelServer) -> None:
    play_one(model_server, *TOUCH)
    async with Terminal() as terminal:
        process = await terminal.start(
            yagent,
            "-p",
            "go",
            foreground=False,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert (await ended(process)).code == 4
    assert terminal.seen == b""


@pytest.mark.parametrize("way", ["the window is closed", "end of input"])
async def test_a_terminal_that_is_closed_during_a_question_stops_the_run_and_denies_nothing(
    yagent: CommandLine, model_server: ModelServer, way: str
) -> None:
    play_one(model_server, *TOUCH)
    async with Terminal() as terminal:
        process = await terminal.start(yagent, "-p", "go", "--output", "json", stdout=asyncio.subprocess.PIPE)
        waiting = asyncio.ensure_future(ended(process))
        await terminal.see("say why: ")
        if way == "end of input":
            terminal.type("\x04")
        else:
            terminal.hang_up()
        result = await waiting
    assert (result.code, result.document["stop_reason"], result.document["denied"]) == (143, "cancelled", [])
    assert not (yagent.workspace / "made").exists()
    assert [records[-1]["payload"]["data"]["stop_reason"] for records in yagent.records()] == ["cancelled", "cancelled"]
    assert "nobody" not in json.dumps(yagent.records())

    async def again(agent: Agent) -> Reply:
        (told,) = await agent.calls(TOUCH[1])
        return hand_over(told.text)

    model_server.play({"are the Director": ["done"], "are Coding": again})
    async with Terminal() as terminal:
        process = await terminal.start(yagent, "resume", result.document["session"], stdout=asyncio.subprocess.PIPE)
        waiting = asyncio.ensure_future(ended(process))
        await terminal.see("say why: ")
        terminal.type("y\n")
        assert (await waiting).code == 0
    assert (yagent.workspace / "made").exists()


async def test_an_interrupt_during_a_question_ends_the_run_and_leaves_the_terminal_sane(
    yagent: CommandLine, model_server: ModelServer
) -> None:
    play_one(model_server, *TOUCH)
    async with Terminal() as terminal:
        before = terminal.settings()
        process = await terminal.start(yagent, "-p", "go", stdout=asyncio.subprocess.PIPE)
        waiting = asyncio.ensure_future(ended(process))
        await terminal.see("say why: ")
        process.send_signal(signal.SIGINT)
        assert (await waiting).code == 130
        assert terminal.settings() == before
    assert terminal.seen.count(b"\x1b[?25l") <= terminal.seen.count(b"\x1b[?25h")


async def test_two_agents_ask_one_after_the_other(yagent: CommandLine, model_server: ModelServer) -> None:
    async def repo(agent: Agent) -> Reply:
        return hand_over(await agent.call("read_file", path="notes.txt"))

    async def director(agent: Agent) -> str:
        calls = [Call("delegate_repo", {"task": task}) for task in ("one", "two")]
        return "\n".join(result.text for result in await agent.calls(*calls))

    model_server.play({"are the Director": director, "are Repo": repo})
    async with Terminal() as terminal:
        process = await terminal.start(yagent, "-p", "go", "--ask", "tool(read_file)", stdout=asyncio.subprocess.PIPE)
        waiting = asyncio.ensure_future(ended(process))
        await terminal.see("Allow read_file?")
        await terminal.see("say why: ")
        terminal.type("y\r")
        await until(lambda: terminal.seen.count(b"say why: ") == 2)
        terminal.type("n\r")
        result = await waiting
    assert (result.out.count(b"first line"), result.out.count(b"declined")) == (1, 1)


async def test_a_terminal_keeps_what_a_pipe_would_have_and_the_answered_question(yagent: CommandLine, model_server: ModelServer) -> None:
    play_one(model_server, *TOUCH)
    async with Terminal() as terminal:
        await answering(terminal, yagent, "y\r")
        seen = terminal.seen
    _, _, after = seen.partition(b"say why: ")
    assert "✓ run_bash touch made (exit 0)".encode() in seen
    assert "coding#1 ✓ ok".encode() in seen
    drawn = after.partition(b"Director")[0]
    assert b"\x1b[1A" not in drawn, "a new drawing never goes over a question"
    assert b"session " in seen.rstrip().splitlines()[-1]


async def test_a_wrong_answer_is_told_what_is_valid(yagent: CommandLine, model_server: ModelServer) -> None:
    play_one(model_server, *TOUCH)
    async with Terminal() as terminal:
        await answering(terminal, yagent, "s\ry\r")
        assert b"s is no answer here. Type 1, 2, 3 or n: " in terminal.seen


async def test_the_change_that_is_shown_is_the_change_that_is_made(yagent: CommandLine, model_server: ModelServer) -> None:
    async def coding(agent: Agent) -> Reply:
        await agent.call("read_file", path="notes.txt")
        return hand_over(await agent.call("search_replace_in_file", path="notes.txt", edits=[{"search": "second", "replace": "2nd\u202e"}]))

    async def director(agent: Agent) -> str:
        return await agent.call("delegate_coding", task="do it")

    model_server.play({"are the Director": director, "are Coding": coding})
    notes = yagent.workspace / "notes.txt"
    async with Terminal() as terminal:
        process = await terminal.start(yagent, "-p", "go", stdout=asyncio.subprocess.PIPE)
        waiting = asyncio.ensure_future(ended(process))
        await terminal.see("say why: ")
        assert rb"+2nd\u{202e} line" in terminal.seen
        assert "hidden or misleading" in terminal.seen.decode()
        before = notes.read_bytes()
        notes.write_bytes(b"new\n" + before)
        terminal.type("1\r")
        result = await waiting
    assert b"has changed since you last read it" in result.out
    assert notes.read_bytes() == b"new\n" + before, "what was allowed was another change"
