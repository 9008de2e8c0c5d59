"""Processes that leave their command's session, environment and ancestry."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import gone, running, unique_sleep

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere orphans cannot be found")

PROGRAM = """
import asyncio, json, os, sys
from pathlib import Path
from yagent.runtime import supervise
from yagent.runtime.clock import SystemClock
from yagent.workspace import orphans
from yagent.workspace.background import BackgroundJobs
from yagent.workspace.shell import Shell

here, before, line = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

async def main():
    async with Shell(clock=SystemClock(), environment=dict(os.environ), temporary=here / "private") as shell, BackgroundJobs(shell) as jobs:
        if before:
            await jobs.start(before, here)
        result = await shell.run(line, here)
        orphans.reap()
        print(json.dumps([result.left_behind, len(orphans.adopted() or ()), result.exit_code]), flush=True)

supervise.run(main())
"""

WAYS = (
    "env -i setsid {nap} & sleep 0.2",
    "(env -i setsid sh -c '{nap} & {nap} &' &); sleep 0.2",
    "(env -i setsid sh -c 'setsid sh -c \"{nap} & {nap}\" & exit' &); sleep 0.2",
)


def outcome(tmp_path: Path, line: str, before: str = "") -> tuple[list[str], int]:
    """Names of what was still running at the end of a command, and how many children were left that are not of ours."""
    words = [sys.executable, "-c", PROGRAM, str(tmp_path), before, line]
    done = subprocess.run(words, check=True, timeout=60, stdout=subprocess.PIPE, text=True)
    names, strange, code = json.loads(done.stdout)
    assert code == 0
    return names, strange


@pytest.mark.parametrize("way", WAYS)
def test_what_hides_from_its_command_ends_with_it_and_is_named(tmp_path: Path, way: str) -> None:
    nap = unique_sleep()
    names, strange = outcome(tmp_path, way.format(nap=nap))
    assert any(name.startswith(nap) for name in names)
    assert strange == 0
    assert gone(nap, within=0)


@pytest.mark.parametrize("way", WAYS)
def test_what_hides_from_a_background_command_ends_with_the_task(tmp_path: Path, way: str) -> None:
    nap = unique_sleep()
    assert outcome(tmp_path, "sleep 0.5", way.format(nap=nap))[0] == []
    assert gone(nap, within=0)


def test_an_orphan_that_may_be_of_a_background_command_is_left_to_it(tmp_path: Path) -> None:
    nap, worker = unique_sleep(), unique_sleep()
    names, strange = outcome(tmp_path, f"env -i setsid {nap} & sleep 0.2", f"env -i setsid {worker} & sleep 30")
    assert not any(name.startswith(worker) for name in names)
    assert strange >= 1
    assert gone(nap, within=0)
    assert gone(worker, within=0)


def test_dead_orphans_are_let_go_while_a_command_runs(tmp_path: Path) -> None:
    dead = "ps -o stat= --ppid $PPID | grep -q Z"
    line = f"for i in $(seq 20); do (env -i setsid true &); done; for i in $(seq 200); do {dead} || exit 0; sleep 0.05; done; exit 1"
    names, strange = outcome(tmp_path, line)
    assert (names, strange) == ([], 0)


LAUNCHED = "running = await shell.launch(line, here, lambda data: print('ready', flush=True)); await running.child.exited(); return"
KILLED = PROGRAM.replace("result = await shell.run(line, here)", LAUNCHED)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["env -i setsid {nap} & sleep 0.2; echo; {nap}", "(env -i setsid sh -c '{nap} & {nap} &' &); sleep 3; echo; {nap}"]
)
def test_what_hides_ends_too_when_we_are_killed(tmp_path: Path, line: str) -> None:
    nap = unique_sleep()
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), "", line.format(nap=nap)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process, process.stdout:
        assert process.stdout.readline() == b"ready\n"
        assert running(nap)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    assert gone(nap)


def test_a_child_from_before_is_let_be_also_when_it_is_first_looked_for_while_a_program_starts(tmp_path: Path) -> None:
    nap = unique_sleep()
    within = "with orphans.starting():\n            await shell.run('true', here)\n        result = await shell.run(line, here)"
    program = PROGRAM.replace("result = await shell.run(line, here)", within)
    words = ["bash", "-c", f'{nap} & exec "$@"', "bash", sys.executable, "-c", program, str(tmp_path), "", "true"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert running(nap)
        os.killpg(process.pid, signal.SIGKILL)
    assert json.loads(said) == [[], 0, 0]
