"""The end of child processes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.processes import gone, unique_sleep
from tests.support.virtual_time import VirtualClock
from yagent.workspace.processes import Program, start


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
