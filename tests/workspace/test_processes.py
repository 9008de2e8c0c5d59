"""The end of child processes."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tests.support.processes import gone, unique_sleep
from tests.support.virtual_time import VirtualClock
from yagent.workspace.process_table import Origin
from yagent.workspace.processes import Program, start
from yagent.workspace.shell import Running


class HurriedClock(VirtualClock):
    """A clock for which every time limit is over at once: no process can end that fast."""

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        return asyncio.timeout(0)


async def test_a_process_that_does_not_end_when_killed_holds_nobody_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    nap = unique_sleep()
    child = await start(Program(("/bin/sh", "-c", f"{nap}; true"), tmp_path, {"PATH": "/usr/bin:/bin"}), output=lambda _: None)
    await child.end(HurriedClock())
    assert f"process {child.pid} was killed and has not ended" in caplog.text
    assert gone(nap)


async def test_whoever_got_the_number_of_a_command_that_has_ended_is_left_alone(tmp_path: Path, clock: VirtualClock) -> None:
    """A background command may have ended long before its task: numbers of processes are used again."""
    child = await start(Program(("/bin/sh", "-c", "exit 0"), tmp_path, {"PATH": "/usr/bin:/bin"}), output=lambda _: None)
    await child.exited()
    stranger = await asyncio.create_subprocess_exec("sleep", "60", start_new_session=True)
    child.pid = stranger.pid
    assert await Running(child, Origin(stranger.pid, "YAGENT_RUN=of nobody"), lambda: None).end(clock) == ()
    assert stranger.returncode is None
    stranger.terminate()
    assert await stranger.wait() == -signal.SIGTERM
