"""Command lines: their results, their limits, and that nothing is left of them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.command_line import until
from tests.support.held_clock import HeldClock
from tests.support.processes import gone, running, unique_sleep
from yagent.runtime.clock import SystemClock
from yagent.workspace.process_table import Origin, family_of
from yagent.workspace.shell import Shell, ShellError, ShellSettings

pytestmark = pytest.mark.real_time

CLOCK = SystemClock()


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    async with Shell(clock=CLOCK, environment=dict(os.environ), temporary=tmp_path / "private") as made:
        yield made


async def test_output_streams_are_kept_in_order(shell: Shell, tmp_path: Path) -> None:
    result = await shell.run("echo out; echo err >&2; echo out2; exit 2", tmp_path)
    assert (result.output, result.exit_code, result.signal) == ("out\nerr\nout2\n", 2, None)
    assert (result.directory, result.timed_out, result.left_behind, result.omitted, result.log) == (tmp_path, False, (), 0, None)


async def test_a_character_that_comes_in_pieces_is_whole(shell: Shell, tmp_path: Path) -> None:
    result = await shell.run("printf 'h\\303'; sleep 0.05; printf '\\251!\\n'", tmp_path)
    assert result.output == "hé!\n"


async def test_commands_have_neither_input_nor_terminal(shell: Shell, tmp_path: Path) -> None:
    result = await shell.run("cat; tty; (: </dev/tty) 2>/dev/null || echo no terminal", tmp_path)
    assert result.output == "not a tty\nno terminal\n"


async def test_each_task_has_its_own_temporary_directory(shell: Shell, tmp_path: Path) -> None:
    assert (await shell.run("mktemp", tmp_path)).output.startswith(str(tmp_path / "private"))


async def test_secrets_are_kept_back_and_named_once(tmp_path: Path) -> None:
    async with Shell(clock=CLOCK, environment={**os.environ, "X_TOKEN": "canary"}, temporary=tmp_path / "private") as shell:
        first = await shell.run("env", tmp_path)
        second = await shell.run("env", tmp_path)
    assert "canary" not in first.output
    assert any("X_TOKEN" in note for note in first.notes)
    assert second.notes == ()


async def test_a_time_limit_ends_the_command_and_keeps_what_it_said(tmp_path: Path) -> None:
    nap, clock = unique_sleep(), HeldClock()
    async with Shell(clock=clock, environment=dict(os.environ), temporary=tmp_path / "private") as shell:
        task = asyncio.ensure_future(shell.run(f"echo begun; touch said; {nap}", tmp_path, timeout=0.3))
        await until((tmp_path / "said").exists)
        clock.let_go()
        result = await task
        assert (result.output, result.timed_out, result.exit_code) == ("begun\n", True, None)
        assert not running(nap)


async def test_a_cancelled_command_leaves_nothing(shell: Shell, tmp_path: Path) -> None:
    nap = unique_sleep()
    task = asyncio.ensure_future(shell.run(f"setsid {nap} & {nap}", tmp_path))
    while len(running(nap)) < 2:
        await CLOCK.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not running(nap)


@pytest.mark.slow
async def test_a_command_cancelled_at_any_moment_leaves_nothing(shell: Shell, tmp_path: Path) -> None:
    nap = unique_sleep()
    for step in range(30):
        task = asyncio.ensure_future(shell.run(f"setsid {nap} >/dev/null & setsid {nap} & {nap}", tmp_path))
        await CLOCK.sleep(step / 1000)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not running(nap)


async def test_commands_that_start_together_share_one_preparation(tmp_path: Path) -> None:
    async with Shell(clock=CLOCK, environment={**os.environ, "X_TOKEN": "canary"}, temporary=tmp_path / "private") as shell:
        results = await asyncio.gather(*(shell.run("true", tmp_path) for _ in range(4)))
    assert sum(len(result.notes) for result in results) == 1


async def test_what_comes_late_from_helpers_is_still_heard(tmp_path: Path) -> None:
    async with Shell(clock=HeldClock(), environment=dict(os.environ), temporary=tmp_path / "private") as shell:
        result = await shell.run("echo x > >(sleep 0.1; cat)", tmp_path)
    assert result.output == "x\n"


async def test_a_missing_directory_is_an_error(shell: Shell, tmp_path: Path) -> None:
    with pytest.raises(ShellError, match="no such directory"):
        await shell.run("true", tmp_path / "nothing")


@pytest.mark.parametrize(("command", "words"), [("echo \0", "NUL"), ("echo " + "x" * 200_000, "longer than")])
async def test_impossible_commands_are_errors(shell: Shell, tmp_path: Path, command: str, words: str) -> None:
    with pytest.raises(ShellError, match=words):
        await shell.run(command, tmp_path)


async def test_without_bash_nothing_is_run_by_another_shell(tmp_path: Path) -> None:
    async with Shell(clock=CLOCK, environment={"PATH": str(tmp_path)}, temporary=tmp_path / "private") as shell:
        with pytest.raises(ShellError, match="install bash"):
            await shell.run("echo $0", tmp_path)


async def test_nothing_of_the_users_shell_changes_what_a_line_means(tmp_path: Path) -> None:
    start = tmp_path / "start.sh"
    start.write_text("echo started\n")
    hostile = {"BASH_ENV": str(start), "BASH_FUNC_ls%%": "() { echo function; }", "PS4": "$(echo hidden >&2)", "BASH_COMPAT": "31"}
    async with Shell(clock=CLOCK, environment={**os.environ, **hostile}, temporary=tmp_path / "private") as shell:
        result = await shell.run("set -x; ls /dev/null; cat <(echo x)", tmp_path)
        again = await shell.run("true", tmp_path)
    assert not any(word in result.output for word in ("started", "function", "hidden"))
    assert any("BASH_COMPAT, BASH_ENV, ls" in note for note in result.notes)
    assert again.notes == ()


async def test_long_output_is_on_disk(tmp_path: Path) -> None:
    settings = ShellSettings(kept_output=1000)
    async with Shell(clock=CLOCK, environment=dict(os.environ), temporary=tmp_path / "private", settings=settings) as shell:
        result = await shell.run("seq 1 10000", tmp_path)
    assert result.log is not None
    assert result.log.read_text() == "".join(f"{number}\n" for number in range(1, 10001))
    assert result.output.startswith("1\n2\n")
    assert result.output.endswith("9999\n10000\n")
    assert len(result.output) < 1300


async def test_parallel_commands_do_not_mix(shell: Shell, tmp_path: Path) -> None:
    results = await asyncio.gather(*(shell.run(f"echo {number}; sleep 0.05; echo {number}", tmp_path) for number in range(5)))
    assert [result.output for result in results] == [f"{number}\n{number}\n" for number in range(5)]


SCRIPT = """
import asyncio, os, sys
from pathlib import Path
from yagent.runtime.clock import SystemClock
from yagent.workspace.shell import Shell

async def main():
    async with Shell(clock=SystemClock(), environment=dict(os.environ), temporary=Path(sys.argv[1]) / "private") as shell:
        command = sys.argv[3].format(nap=sys.argv[2])
        running = await shell.launch(command, Path(sys.argv[1]), lambda data: print("ready", flush=True))
        await running.child.exited()

asyncio.run(main())
"""


@pytest.mark.slow
def test_commands_end_when_we_are_killed(tmp_path: Path) -> None:
    nap = unique_sleep()
    command = "echo ready; setsid {nap} & {nap}"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path), nap, command], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process, process.stdout:
        assert process.stdout.readline() == b"ready\n"
        assert running(nap)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert gone(nap)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a command's mark cannot be seen")
def test_a_command_ends_when_we_are_killed_in_the_moment_it_starts(tmp_path: Path) -> None:
    nap = unique_sleep()
    words = [sys.executable, "-c", SCRIPT, str(tmp_path), nap, "kill -9 $PPID; {nap}"]
    assert subprocess.run(words, check=False, timeout=30).returncode == -signal.SIGKILL
    assert gone(nap)


def test_the_family_of_a_process_is_found_by_group_mark_and_descent(tmp_path: Path) -> None:
    nap = unique_sleep()
    leader = subprocess.Popen(
        ["/bin/sh", "-c", f"setsid {nap} & {nap} & wait"], start_new_session=True, env={**os.environ, "MARKED": "origin-test"}
    )
    try:
        commands: list[str] = []
        for _ in range(200):
            commands = [process.command for process in family_of(Origin(leader.pid, "MARKED=origin-test")).members]
            if commands.count(nap) == 2:
                break
            subprocess.run(["sleep", "0.02"], check=True)
        assert commands.count(nap) == 2
    finally:
        for process in family_of(Origin(leader.pid, "MARKED=origin-test")).members:
            os.kill(process.pid, signal.SIGKILL)
        leader.wait()
