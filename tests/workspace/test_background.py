"""Background commands."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.command_line import LIMIT
from tests.support.held_clock import HeldClock
from tests.support.processes import running, unique_sleep
from yagent.workspace.background import BackgroundJobs
from yagent.workspace.shell import Shell, ShellError, ShellSettings

pytestmark = pytest.mark.real_time


@pytest.fixture
def held() -> HeldClock:
    return HeldClock()


@pytest.fixture
async def jobs(held: HeldClock, tmp_path: Path) -> AsyncIterator[BackgroundJobs]:
    """For these no time passes: a read waits for the end of its command. A test that reads before it lets the clock go."""
    settings = ShellSettings(kept_output=1000)
    async with (
        Shell(clock=held, environment=dict(os.environ), temporary=tmp_path / "private", settings=settings) as shell,
        BackgroundJobs(shell, limit=2) as made,
    ):
        yield made
        held.let_go()


async def test_a_job_is_read_piece_by_piece(held: HeldClock, jobs: BackgroundJobs, tmp_path: Path) -> None:
    held.let_go()
    job = await jobs.start("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two", tmp_path)
    first = await jobs.read(job.id, wait=LIMIT)
    assert (first.text, first.job.state) == ("one\n", "running")
    (tmp_path / "go").touch()
    second = await jobs.read(job.id, wait=LIMIT)
    while second.job.state == "running":
        second = await jobs.read(job.id, wait=LIMIT)
    assert second.job.state == "exited"
    assert second.job.exit_code == 0
    assert job.log.read_text() == "one\ntwo\n"


async def test_its_input_is_at_its_end(jobs: BackgroundJobs, tmp_path: Path) -> None:
    job = await jobs.start("cat; echo after; exit 3", tmp_path)
    read = await jobs.read(job.id, wait=5)
    assert (read.text, read.job.state, read.job.exit_code) == ("after\n", "exited", 3)


async def test_a_read_without_waiting_returns_at_once(jobs: BackgroundJobs, tmp_path: Path) -> None:
    job = await jobs.start(unique_sleep(), tmp_path)
    read = await jobs.read(job.id)
    assert (read.text, read.job.state) == ("", "running")


async def test_what_was_not_read_in_time_is_counted(jobs: BackgroundJobs, tmp_path: Path) -> None:
    job = await jobs.start("seq 1 5000", tmp_path)
    read = await jobs.read(job.id, wait=5)
    assert read.job.state == "exited"
    assert read.text.endswith("4999\n5000\n")
    assert read.omitted == len("".join(f"{number}\n" for number in range(1, 5001))) - len(read.text)


async def test_stopping_ends_the_whole_tree(held: HeldClock, jobs: BackgroundJobs, tmp_path: Path) -> None:
    nap = unique_sleep()
    held.let_go()
    job = await jobs.start(f"echo up; setsid {nap} & {nap}", tmp_path)
    await jobs.read(job.id, wait=5)
    stopped = await jobs.stop(job.id)
    assert stopped.job.state == "stopped"
    assert not running(nap)
    assert (await jobs.stop(job.id)).job.state == "stopped"


async def test_the_end_of_the_task_ends_and_names_them(jobs: BackgroundJobs, tmp_path: Path) -> None:
    nap = unique_sleep()
    await jobs.start(nap, tmp_path)
    done = await jobs.start("true", tmp_path)
    await jobs.read(done.id, wait=5)
    assert await jobs.end_all() == (f"bg1: {nap}",)
    assert not running(nap)
    assert [job.state for job in jobs.list()] == ["stopped", "exited"]


async def test_there_is_a_limit(jobs: BackgroundJobs, tmp_path: Path) -> None:
    for _ in range(2):
        await jobs.start(unique_sleep(), tmp_path)
    with pytest.raises(ShellError, match="2 background commands run already"):
        await jobs.start("true", tmp_path)


async def test_an_unknown_job_is_an_error_that_names_the_known(jobs: BackgroundJobs, tmp_path: Path) -> None:
    job = await jobs.start("true", tmp_path)
    with pytest.raises(ShellError, match=f"known: {job.id}"):
        await jobs.read("bg9")
