"""`-r`, `-C` and `yagent resume`: which session goes on, with what, and what a run that was stopped says of it."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine, Ended, ended, until
from tests.support.model_server import Call, Chaos, ModelServer, Reply, call, hand_over
from tests.support.model_server.scripts import Roles
from tests.support.terminal import Terminal
from yagent.apps.cli.run import WorkOptions, again
from yagent.protocol.stop import USAGE

pytestmark = [pytest.mark.real_time, pytest.mark.slow]
HANGING = Reply(text="never", chaos=[Chaos("hang_before_headers")])
SLEEPING: Roles = {
    "are the Director": [call("delegate_coding", task="sleep")],
    "are Coding": [Reply(calls=[Call("run_bash", {"command": "touch started; sleep 60", "timeout": 90})])],
}


def session_of(yagent: CommandLine) -> str:
    return str(yagent.records()[-1][0]["payload"]["session"])


def way_on(run: Ended) -> list[str]:
    """What a run says of how to go on."""
    return re.findall(r"^yagent: Go on with: (.*)$", run.told, flags=re.MULTILINE)


def answers(server: ModelServer, text: str) -> None:
    """From now on the model has only this to say; it takes no request for the repetition of one that it has hung on."""
    server.memory.conversations.clear()
    server.script = lambda view: Reply(text=text)


async def stopped(yagent: CommandLine, server: ModelServer, *options: str, send: tuple[int, ...] = (signal.SIGINT,)) -> Ended:
    """A run whose second model call never ends is sent signals."""
    server.play({"are the Director": [call("read_file", path="notes.txt"), HANGING]})
    process = await yagent.start("-p", "the first task", *options)
    await until(lambda: len(server.exchanges) == 2)
    for number in send:
        os.kill(process.pid, number)
    return await ended(process)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
async def test_a_run_that_was_stopped_names_the_command_that_goes_on_and_it_does(
    yagent: CommandLine, model_server: ModelServer, number: int, code: int
) -> None:
    run = await stopped(yagent, model_server, send=(number,))
    session = session_of(yagent)
    assert (run.code, way_on(run)) == (code, [f"yagent resume {session}"])
    assert run.told.rstrip().endswith(session), "it is the last line"
    before = model_server.views[-1].body["messages"]
    answers(model_server, "the answer")
    again = await yagent.run("resume", session)
    assert (again.code, again.answer, way_on(again)) == (0, "the answer\n", [])
    assert model_server.views[-1].body["messages"] == before, "nothing was said"
    assert f"yagent: Going on with session {session}: the first task" in again.told


@pytest.mark.parametrize("signals", [1, 2])
async def test_quiet_says_nothing_of_it(yagent: CommandLine, model_server: ModelServer, signals: int) -> None:
    run = await stopped(yagent, model_server, "--quiet", send=(signal.SIGINT,) * signals)
    assert run.code == 130
    assert way_on(run) == []


async def test_a_run_that_is_ended_at_once_names_it_too(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play(SLEEPING)
    process = await yagent.start("-p", "x", "-Y")
    await until((yagent.workspace / "started").exists)
    os.kill(process.pid, signal.SIGINT)
    os.kill(process.pid, signal.SIGTERM)
    run = await ended(process)
    assert way_on(run) == [f"yagent resume {session_of(yagent)} -Y"]
    answers(model_server, "the answer")
    assert (await yagent.run(*shlex.split(way_on(run)[0])[1:])).answer == "the answer\n"


async def test_a_run_goes_on_with_the_rights_and_limits_it_had(yagent: CommandLine, model_server: ModelServer) -> None:
    given = ["--max-steps", "7", "--allow", "shell(touch *)", "--deny", "shell(rm *)", "--pass-env", "LANG", "-d", "devops"]
    run = await stopped(yagent, model_server, *given)
    (line,) = way_on(run)
    assert line == f"yagent resume {session_of(yagent)} {shlex.join(given)}"
    model_server.memory.conversations.clear()
    model_server.play(
        {
            "are the Director": [call("delegate_coding", task="touch it"), "done"],
            "are Coding": [call("run_bash", command="touch made"), hand_over("made")],
        }
    )
    resumed = await yagent.run(*shlex.split(line)[1:])
    assert (resumed.code, resumed.answer) == (0, "done\n"), resumed.told
    assert (yagent.workspace / "made").exists()


def test_every_option_that_decides_what_may_be_done_is_said_again_as_it_is_parsed() -> None:
    assert again(WorkOptions()) == ""
    assert again(WorkOptions(yolo=True, full_yolo=True, quiet=True, output="json")) == "-Y"
    options = WorkOptions(
        yolo=True,
        model="-odd",
        provider="a b",
        config=Path("-c.toml"),
        max_steps=3,
        max_cost=0.5,
        timeout="20m",
        allow=["shell(git log *)", "--x"],
        ask=["edit(**)"],
        deny=["shell(rm 'a')"],
        pass_env=["A", "B"],
        disable_agents=["repo,devops"],
    )
    assert shlex.split(again(options)) == [
        *("-y", "-m-odd", "--provider", "a b", "-c-c.toml", "--max-steps", "3", "--max-cost", "0.5", "--timeout", "20m"),
        *("--allow", "shell(git log *)", "--allow=--x", "--ask", "edit(**)", "--deny", "shell(rm 'a')"),
        *("--pass-env", "A", "--pass-env", "B", "-d", "repo,devops"),
    ]


async def test_a_run_at_its_limit_names_the_form_with_new_words(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"are the Director": [call("read_file", path="notes.txt"), HANGING, HANGING]})
    run = await yagent.run("-p", "x", "--timeout", "2s")
    assert (run.code, way_on(run)) == (3, [f'yagent -r {session_of(yagent)} --timeout 2s -p "…"'])
    refused = await yagent.run("resume", session_of(yagent))
    assert (refused.code, refused.answer) == (USAGE, "")
    assert f'yagent -r {session_of(yagent)} -p "…"' in refused.told
    answers(model_server, "the answer")
    assert (await yagent.run("-r", session_of(yagent), "-p", "go on")).answer == "the answer\n"


NO_RECORD: dict[str, Callable[[CommandLine], dict[str, str | None]]] = {
    "no home": lambda line: {"YAGENT_HOME": "/proc/nowhere"},
    "switched off": lambda line: {"YAGENT_RESUME": "0"},
}


@pytest.mark.parametrize("case", NO_RECORD)
async def test_where_nothing_can_go_on_nothing_is_promised(yagent: CommandLine, model_server: ModelServer, case: str) -> None:
    environment = NO_RECORD[case](yagent)
    model_server.play({"are the Director": [call("read_file", path="notes.txt"), HANGING]})
    process = await yagent.start("-p", "x", environment=environment)
    await until(lambda: len(model_server.exchanges) == 2)
    process.send_signal(signal.SIGINT)
    run = await ended(process)
    assert (run.code, way_on(run)) == (130, [])
    assert not [record for records in yagent.records() for record in records if record["type"] == "agent_checkpoint"]
    refused = await yagent.run("-C", environment=environment)
    assert (refused.code, refused.answer) == (USAGE, "")
    assert "YAGENT_" in refused.told


async def test_an_answered_session_takes_new_words_and_does_not_go_on_by_itself(yagent: CommandLine, model_server: ModelServer) -> None:
    answers(model_server, "the answer")
    run = await yagent.run("-p", "the first task")
    assert (run.code, way_on(run)) == (0, [])
    session = session_of(yagent)
    asked = len(model_server.exchanges)
    for arguments in (["resume", session], ["-r", session], ["-C"]):
        refused = await yagent.run(*arguments)
        assert (refused.code, refused.answer) == (USAGE, "")
        assert f'yagent -r {session} -p "…"' in refused.told
        assert f"has its answer, which is on the record: yagent sessions show {session}." in refused.told
        assert "Going on" not in refused.told
    assert len(model_server.exchanges) == asked
    answers(model_server, "the second answer")
    assert (await yagent.run("-C", "-p", "more")).answer == "the second answer\n"
    assert len(yagent.records()) == 1, "the same record goes on"


@pytest.mark.parametrize("way", ["pipe", "option", "file"])
async def test_new_words_come_from_wherever_a_prompt_may_come(yagent: CommandLine, model_server: ModelServer, way: str) -> None:
    await stopped(yagent, model_server)
    answers(model_server, "the answer")
    (yagent.workspace / "words.md").write_text("new words")
    arguments = {"pipe": (), "option": ("-p", "new words"), "file": ("-f", "words.md")}[way]
    run = await yagent.run("-r", session_of(yagent), *arguments, given=b"new words" if way == "pipe" else None)
    assert run.answer == "the answer\n"
    assert "new words" in str(model_server.views[-1].body["messages"][-1])


@pytest.mark.parametrize("given", ["nobody writes", "closed at once", "blank"])
async def test_an_open_pipe_without_words_is_no_prompt_and_delays_nothing(
    yagent: CommandLine, model_server: ModelServer, given: str
) -> None:
    await stopped(yagent, model_server)
    answers(model_server, "the answer")
    reading, writing = os.pipe()
    if given == "blank":
        os.write(writing, b" \n")
    if given != "nobody writes":
        os.close(writing)
    try:
        process = await yagent.start("-r", session_of(yagent), stdin=reading)
        assert (await ended(process)).answer == "the answer\n"
    finally:
        os.close(reading)
        if given == "nobody writes":
            os.close(writing)


async def test_resume_reads_no_standard_input(yagent: CommandLine, model_server: ModelServer) -> None:
    await stopped(yagent, model_server)
    before = len(model_server.views[-1].body["messages"])
    answers(model_server, "the answer")
    run = await yagent.run("resume", session_of(yagent)[:5], "--output", "json", given=b"the list of a loop\n")
    assert (run.code, run.document["answer"], run.document["session"]) == (0, "the answer", session_of(yagent))
    assert len(model_server.views[-1].body["messages"]) == before


async def test_resume_without_an_id_and_without_a_terminal_is_a_list(yagent: CommandLine, model_server: ModelServer) -> None:
    nothing = await yagent.run("resume", environment={"YAGENT_BASE_URL": None})
    assert (nothing.code, nothing.answer) == (0, "")
    assert "no session is recorded" in nothing.told
    await stopped(yagent, model_server)
    listed = await yagent.run("resume", environment={"YAGENT_BASE_URL": None})
    session = session_of(yagent)
    assert listed.code == 0
    assert re.fullmatch(rf"1  {session}  .*  stopped  can go on: resume ID  the first task\n", listed.answer)
    assert listed.told == f"yagent: The newest that can go on: yagent resume {session}\n"


@pytest.mark.parametrize("output", ["json", "stream-json"])
async def test_where_a_document_is_expected_and_nobody_can_be_asked_no_list_is_written(
    yagent: CommandLine, model_server: ModelServer, output: str
) -> None:
    await stopped(yagent, model_server)
    session = session_of(yagent)
    run = await yagent.run("resume", "--output", output)
    assert (run.code, run.answer) == (USAGE, "")
    assert run.told.endswith(f"The newest that can go on: yagent resume {session}\n")


async def test_of_a_list_the_newest_that_can_go_on_is_named(yagent: CommandLine, model_server: ModelServer) -> None:
    await stopped(yagent, model_server)
    can = session_of(yagent)
    answers(model_server, "the answer")
    assert (await yagent.run("-p", "another task")).code == 0
    listed = await yagent.run("resume")
    assert (listed.code, listed.told) == (0, f"yagent: The newest that can go on: yagent resume {can}\n")
    assert (await yagent.run("resume", can)).code == 0
    told = (await yagent.run("resume")).told
    assert re.fullmatch(r'yagent: None can go on as it stands\. With new words: yagent -r \w+ -p "…"\n', told)


CHOICES = {"its number": "1\n", "its id": "{session}\n", "after a mistake": "7\n1\n", "nothing": "\n"}


@pytest.mark.parametrize("choice", CHOICES)
async def test_on_a_terminal_resume_asks_which_one(yagent: CommandLine, model_server: ModelServer, choice: str) -> None:
    await stopped(yagent, model_server)
    answers(model_server, "the answer")
    async with Terminal() as terminal:
        process = await terminal.start(yagent, "resume", environment={"CI": None})
        for number, line in enumerate(CHOICES[choice].format(session=session_of(yagent)).splitlines(keepends=True)):
            await terminal.see("empty for none): " if not number else "is not in the list")
            terminal.type(line)
        assert (await ended(process)).code == 0
    assert (b"the answer" in terminal.seen) is (choice != "nothing")
    assert b"can go on" in terminal.seen


async def test_continue_with_nothing_recorded_says_how_to_begin(yagent: CommandLine) -> None:
    run = await yagent.run("-C")
    assert (run.code, run.answer) == (USAGE, "")
    assert "No session is recorded for this directory." in run.told


async def test_a_fork_goes_on_from_its_step_and_the_old_session_too(yagent: CommandLine, model_server: ModelServer) -> None:
    steps: list[Reply | str] = [call("read_file", path="notes.txt"), call("search_by_regex", pattern="second"), "the first answer"]
    model_server.play({"are the Director": steps})
    assert (await yagent.run("-p", "the first task")).code == 0
    old = session_of(yagent)
    after_one = model_server.views[1].body["messages"]
    made = await yagent.run("sessions", "fork", old, "--at", "1")
    answers(model_server, "another answer")
    assert (await yagent.run("resume", made.answer.strip())).answer == "another answer\n"
    assert model_server.views[-1].body["messages"] == after_one
    answers(model_server, "more of the old")
    assert (await yagent.run("-r", old, "-p", "more")).answer == "more of the old\n"
    assert "another answer" not in str(model_server.views[-1].body)
    answers(model_server, "more of the new")
    assert (await yagent.run("-r", made.answer.strip(), "-p", "more")).answer == "more of the new\n"
    sent = str(model_server.views[-1].body)
    assert "another answer" in sent
    assert "the first answer" not in sent


async def test_a_task_that_was_stopped_before_it_began_begins_when_it_goes_on(yagent: CommandLine, model_server: ModelServer) -> None:
    tools = yagent.home / "tools"
    tools.mkdir()
    git = tools / "git"
    git.write_text(f'#!/bin/sh\ntouch "{yagent.home}/asked"\nsleep 20\n')
    git.chmod(0o755)
    process = await yagent.start("-p", "the first task", environment={"PATH": f"{tools}:{os.environ['PATH']}"})
    await until((yagent.home / "asked").exists)
    os.kill(process.pid, signal.SIGINT)
    session = way_on(await ended(process))[0].removeprefix("yagent resume ")
    answers(model_server, "the answer")
    assert (await yagent.run("resume", session)).answer == "the answer\n"
    (view,) = model_server.views
    assert "<request>\nthe first task\n</request>" in view.task
