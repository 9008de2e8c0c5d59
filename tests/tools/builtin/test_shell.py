"""run_bash and its background: what the model reads, and that limits hold."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.virtual_time import VirtualClock
from tests.tools.scopes import YES, Desk, call
from yagent.agents.loop.repetition import END, Repetition


@pytest.fixture
async def running(coding: Desk) -> AsyncIterator[Desk]:
    """An agent whose commands are all approved: what may run is decided elsewhere."""
    coding.person.usually = YES
    async with coding.scope.shell, coding.scope.jobs:
        yield coding


async def test_output_comes_first_and_how_it_ended_last(running: Desk, workspace: Path) -> None:
    output = await running.make("run_bash", command="echo out; echo err >&2; exit 3")
    lines = output.text.splitlines()
    assert lines[:2] == ["out", "err"]
    assert lines[2].startswith("[exit code 3; ")
    assert lines[2].endswith(f" s in {workspace}]")
    assert output.summary == "exit 3"
    assert not output.is_error


async def test_c08_each_call_starts_in_the_workspace_and_says_so(running: Desk, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    assert "exit code 1" in (await running.make("run_bash", command="cd sub && false")).text
    assert (await running.make("run_bash", command="pwd")).text.splitlines()[0] == str(workspace)


async def test_silence_is_said(running: Desk) -> None:
    assert (await running.make("run_bash", command="true")).text.startswith("(no output)\n[exit code 0")


async def test_a_command_over_its_limit_keeps_what_it_printed(running: Desk, workspace: Path, clock: VirtualClock) -> None:
    made = asyncio.ensure_future(running.make("run_bash", command="echo before; touch said; sleep 98765", timeout=600))
    while not (workspace / "said").exists():
        await clock.sleep(0.02)
    await clock.advance(600)
    output = await made
    assert output.is_error
    said, _, ended = output.text.partition("\n")
    assert said == "before"
    assert ended.startswith("[stopped at its limit of 600 s, with all it had started; give timeout (up to 3600) if it needs longer; ")
    assert "\n" not in ended


@pytest.mark.parametrize(("left", "limit"), [(7.0, "2"), (2.0, "1")])
async def test_a_limit_never_passes_what_is_left_of_the_run(running: Desk, left: float, limit: str) -> None:
    running.scope = replace(running.scope, remaining=lambda: left)
    output = await running.make("run_bash", command="sleep 98765", timeout=3600)
    assert f"stopped at its limit of {limit} s" in output.text
    assert f"no longer limit could be given, about {left:.0f} s are left in this run: hand over what you have" in output.text
    assert "give timeout" not in output.text


@pytest.mark.parametrize(("left", "wanted"), [(130.0, 180), (20.0, 180), (10.5, 60)])
async def test_a_command_that_ends_well_within_a_cut_limit_is_told_nothing_of_it(running: Desk, left: float, wanted: int) -> None:
    running.scope = replace(running.scope, remaining=lambda: left)
    text = (await running.make("run_bash", command="true", timeout=wanted)).text
    assert "limit" not in text
    assert "left" not in text


@pytest.mark.parametrize("wanted", [1, 3, 180])
async def test_when_little_time_is_left_the_result_says_how_much(running: Desk, wanted: int) -> None:
    running.scope = replace(running.scope, remaining=lambda: 7.9)
    output = await running.make("run_bash", command="true", timeout=wanted)
    assert "about 8 s are left in this run: hand over what you have" in output.text
    assert "limit" not in output.text


async def test_more_than_an_hour_is_refused_with_the_bound(running: Desk) -> None:
    assert "integer >= 1 <= 3600" in (await running.make("run_bash", command="true", timeout=3601)).text


async def test_c09_a_background_command_reads_nothing_reports_its_end_and_can_be_listed(running: Desk) -> None:
    started = await running.make("run_bash", command="cat; echo after", is_background=True)
    assert started.text == "after\n[bg1: exited with code 0: cat; echo after]"
    assert started.summary == "bg1 exited with code 0"
    running.surface.load(["read_background", "stop_background"])
    assert (await running.make("read_background", id="bg1")).text == "(no new output)\n[bg1: exited with code 0: cat; echo after]"
    assert (await running.make("read_background")).text == "bg1: exited with code 0: cat; echo after"


async def test_a_background_command_is_not_shown_like_one_that_has_run(running: Desk) -> None:
    started = await running.make("run_bash", command="sleep 98765", is_background=True)
    assert started.text == (
        "(no output yet)\n[bg1 started and is running; see read_background and stop_background; it is ended when the whole task ends]"
    )
    assert started.summary == "bg1 started"
    assert not started.is_error


async def test_the_exit_code_of_a_pipe_is_called_so(running: Desk) -> None:
    output = await running.make("run_bash", command="make nothing | cat")
    assert (
        "[exit code 0 of the pipe's last command only, which proves nothing of the others (run the check without the pipe); " in output.text
    )
    assert "of the pipe's" not in (await running.make("run_bash", command="make nothing || false")).text


async def test_an_exit_code_that_hides_a_check_is_called_so_and_proves_nothing(running: Desk) -> None:
    output = await running.make("run_bash", command="make nothing; git diff --stat || true")
    assert "[exit code 0 of the last command only, which proves nothing of the others (join them with &&, or run the check" in output.text
    assert output.ran.endswith("→ exit 0 of its last command")


async def test_a_background_command_is_stopped_on_request(running: Desk) -> None:
    await running.make("run_bash", command="echo up; sleep 98765", is_background=True)
    running.surface.load(["read_background", "stop_background"])
    assert (await running.make("stop_background", id="bg1")).text.endswith("[bg1: stopped: echo up; sleep 98765]")
    assert (await running.make("stop_background", id="bg9")).is_error


async def test_a_cold_background_tool_teaches_first(running: Desk) -> None:
    assert '"id"' in (await running.make("stop_background", id="bg1")).text


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "seq 1 20000"},
        {"command": "head -c 40000 /dev/zero | tr '\\0' x"},
        {"command": "seq -w 1 200000 | head -c 60000 | paste -sd, | fold -w 200"},
        {"command": "echo no such port; exit 1", "is_background": True},
    ],
)
async def test_the_same_command_with_the_same_output_is_a_circle_whatever_numbers_it_gets(running: Desk, arguments: dict[str, Any]) -> None:
    """Twelve of them, so that the running numbers get longer on the way."""
    repetition, counts = Repetition(), list[int]()
    for _ in range(END):
        output = await running.make("run_bash", **arguments)
        counts.append(repetition.observe([call("run_bash", **arguments)], [output]))
    assert counts == list(range(1, END + 1))


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize(
    ("command", "words"), [("echo \0", "NUL"), ("rm " + "x" * 200_000, "longer than"), ("rm " + "é" * 60_000, "longer than")]
)
async def test_nobody_is_asked_about_a_line_that_no_shell_can_be_given(running: Desk, command: str, words: str, background: bool) -> None:
    output = await running.make("run_bash", command=command, is_background=background)
    assert output.is_error
    assert words in output.text
    assert running.person.asked == []
