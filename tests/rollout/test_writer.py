"""Writing: in bursts, in order, exactly once, and never past a failure, whoever is cancelled meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.rollout.conversations import checkpoint
from tests.support.virtual_time import VirtualClock, VirtualTimeLoop, settle
from yagent.protocol.ids import AgentIdentity
from yagent.rollout.reader import Account, read, session_files
from yagent.rollout.records import EventMessage, SessionMeta
from yagent.rollout.writer import (
    FLUSH_RECORDS,
    FLUSH_SECONDS,
    NullRecorder,
    Numbers,
    RolloutError,
    RolloutWriter,
    SessionLog,
)
from yagent.runtime.atomic import make_private_directory
from yagent.runtime.supervise import Domain

DONE = EventMessage("task_complete", {"stop_reason": "agent_exit"})
META = SessionMeta("s1", "director", "/p", "1")


def event(number: int) -> EventMessage:
    return EventMessage("n", {"n": number})


def log(directory: Path, clock: VirtualClock, domain: Domain) -> SessionLog:
    return SessionLog(directory, "s1", "20260101-000000", Numbers(), clock, domain, make_private_directory)


def numbers(path: Path) -> list[int]:
    account = Account()
    found = [entry.record.data["n"] for entry in read(path, account) if isinstance(entry.record, EventMessage)]
    assert account.skipped == []
    return found


@asynccontextmanager
async def recording(tmp_path: Path, clock: VirtualClock) -> AsyncIterator[RolloutWriter]:
    """A writer to a real file."""
    async with Domain("session") as domain:
        yield log(tmp_path, clock, domain).open(AgentIdentity("director"))


@asynccontextmanager
async def watched(clock: VirtualClock) -> AsyncIterator[tuple[RolloutWriter, socket.socket]]:
    """A writer whose every `write(2)` arrives as one datagram; such a descriptor refuses `fsync`."""
    reading, writing = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    os.set_blocking(reading.fileno(), False)
    try:
        async with Domain("session") as domain:
            yield RolloutWriter(Path("watched"), os.dup(writing.fileno()), Numbers(), clock, domain), reading
    finally:
        reading.close()
        writing.close()


def arrived(reading: socket.socket) -> list[int]:
    """How many lines each write since the last look held."""
    found = []
    while True:
        try:
            found.append(reading.recv(1 << 20).count(b"\n"))
        except BlockingIOError:
            return found


async def until_readable(descriptor: int) -> None:
    """Wait in real time until there is something to read."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    await ready.wait()
    loop.remove_reader(descriptor)


async def until_written(reading: socket.socket) -> list[int]:
    await until_readable(reading.fileno())
    return arrived(reading)


async def test_a_burst_is_one_write_after_twenty_milliseconds(clock: VirtualClock) -> None:
    async with watched(clock) as (writer, reading):
        for number in range(FLUSH_RECORDS - 1):
            writer.append(event(number))
            await settle(1)
        await clock.advance(FLUSH_SECONDS * 0.9)
        assert arrived(reading) == []
        await clock.advance(FLUSH_SECONDS * 0.2)
        assert await until_written(reading) == [FLUSH_RECORDS - 1]
        await writer.close()


async def test_thirty_two_records_are_written_without_waiting(clock: VirtualClock) -> None:
    async with watched(clock) as (writer, reading):
        started = clock.now()
        for number in range(FLUSH_RECORDS):
            writer.append(event(number))
            await settle(1)  # they come one by one, not in one turn of the loop
        assert await until_written(reading) == [FLUSH_RECORDS]
        assert clock.now() - started < FLUSH_SECONDS
        await writer.close()


async def test_many_bursts_need_few_writes(clock: VirtualClock) -> None:
    async with watched(clock) as (writer, reading):
        for number in range(10 * FLUSH_RECORDS):
            writer.append(event(number))
        await writer.barrier()
        assert sum(found := arrived(reading)) == 10 * FLUSH_RECORDS
        assert len(found) <= 2
        await writer.close()


async def test_a_barrier_does_not_wait_for_the_timer(clock: VirtualClock) -> None:
    async with watched(clock) as (writer, reading):
        writer.append(event(1))
        started = clock.now()
        await writer.barrier()
        assert arrived(reading) == [1]
        assert clock.now() - started < FLUSH_SECONDS
        await writer.barrier()  # nothing new: nothing written
        assert arrived(reading) == []
        await writer.close()


@pytest.mark.parametrize(("record", "is_forced"), [(META, True), (DONE, True), (EventMessage("turn_aborted"), True), (event(1), False)])
async def test_the_first_and_the_terminal_record_are_forced_to_the_disk(clock: VirtualClock, record: Any, is_forced: bool) -> None:
    async with watched(clock) as (writer, _):
        writer.append(record)
        try:
            await writer.barrier()
            forced = False
        except RolloutError as refused:
            forced = "Invalid argument" in str(refused)  # what fsync says of a socket
        assert forced is is_forced


async def test_every_record_of_a_closed_file_is_on_the_disk(tmp_path: Path, clock: VirtualClock) -> None:
    async with recording(tmp_path, clock) as writer:
        for number in range(500):
            writer.append(event(number))
        await writer.close()
        assert numbers(writer.path) == list(range(500))


async def test_appending_after_the_end_is_refused_by_the_barrier(tmp_path: Path, clock: VirtualClock) -> None:
    async with recording(tmp_path, clock) as writer:
        writer.append(event(1))
        await writer.close()
        writer.append(event(2))
        with pytest.raises(RolloutError, match="is closed"):
            await writer.barrier()
        assert numbers(writer.path) == [1]


async def test_a_record_appended_while_the_session_ends_is_kept(tmp_path: Path, clock: VirtualClock) -> None:
    async with recording(tmp_path, clock) as writer:
        writer.append(event(1))
    writer.append(event(2))
    await writer.barrier()
    writer.append(event(3))
    await writer.close()
    assert numbers(writer.path) == [1, 2, 3]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
async def test_a_disk_that_is_full_is_reported_by_every_later_barrier(clock: VirtualClock) -> None:
    async with Domain("session") as domain:
        writer = RolloutWriter(Path("full"), os.open("/dev/full", os.O_WRONLY), Numbers(), clock, domain)
        writer.append(event(1))
        for _ in range(3):
            with pytest.raises(RolloutError, match=r"No space left on device.*free some space and resume"):
                await writer.barrier()
            writer.append(event(2))
        await writer.close()  # everybody knows


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
async def test_a_failure_that_no_barrier_has_told_of_is_told_when_the_file_is_closed(clock: VirtualClock) -> None:
    async with Domain("session") as domain:
        writer = RolloutWriter(Path("full"), os.open("/dev/full", os.O_WRONLY), Numbers(), clock, domain)
        writer.append(event(1))
        with pytest.raises(RolloutError, match="No space left on device"):
            await writer.close()


async def test_a_reader_that_left_is_a_failure_like_any_other(clock: VirtualClock) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    async with Domain("session") as domain:
        writer = RolloutWriter(Path("pipe"), writing, Numbers(), clock, domain)
        writer.append(event(1))
        await clock.sleep(1)  # the timer's own write fails; nobody waits for it
        with pytest.raises(RolloutError, match=r"Broken pipe \(pipe\).*check the disk"):
            await writer.barrier()
        await writer.close()


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_nothing_is_glued_to_a_torn_line_when_there_is_room_again(tmp_path: Path, clock: VirtualClock) -> None:
    async with recording(tmp_path, clock) as writer:
        writer.append(event(1))
        await writer.barrier()
        with files_no_longer_than(writer.path.stat().st_size + 40):
            writer.append(event(2))
            with pytest.raises(RolloutError, match="File too large"):
                await writer.barrier()
        writer.append(event(3))
        await writer.close()
    account = Account()
    assert [entry.ordinal for entry in read(writer.path, account)] == [1]
    assert account.skipped == ["line 2: 40 bytes skipped (torn at the end of the file)"]


def full_pipe() -> tuple[int, int]:
    """A pipe whose next write blocks until somebody reads."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    return reading, writing


async def test_a_cancelled_barrier_loses_nothing_and_lets_nothing_overtake(clock: VirtualClock) -> None:
    reading, writing = full_pipe()
    async with Domain("session") as domain:
        writer = RolloutWriter(Path("slow"), writing, Numbers(), clock, domain)
        for number in range(3):
            writer.append(event(number))
        first = domain.go("barrier", writer.barrier())
        await settle()
        first.cancel()  # its write blocks in a thread: the pipe is full
        for number in range(3, 6):
            writer.append(event(number))
        second = domain.go("barrier", writer.barrier())
        await settle()
        assert not second.done()
        data = b""
        while data.count(b"\n") < 6:
            await until_readable(reading)  # the loop stays free: it is what begins the second write
            data += os.read(reading, 1 << 16)
        await second
        assert (await first.outcome()).cancelled
        await writer.close()
    os.close(reading)
    assert [json.loads(line)["payload"]["data"]["n"] for line in data.lstrip(b"x").splitlines()] == [0, 1, 2, 3, 4, 5]


async def test_a_disk_that_does_not_answer_is_a_failure_and_its_descriptor_is_left_alone(clock: VirtualClock) -> None:
    reading, writing = os.pipe()
    async with Domain("session") as domain:
        writer = RolloutWriter(Path("hung"), writing, Numbers(), clock, domain)
        writer.append(EventMessage("n", {"n": "x" * (1 << 20)}))  # more than a pipe holds
        waiting = domain.go("barrier", writer.barrier())
        await settle()
        await clock.advance(31)
        with pytest.raises(RolloutError, match="no answer for 30 s"):
            await waiting
        await writer.close()
        os.fstat(writing)  # still open
        os.close(reading)  # lets the thread go
    os.close(writing)


OPERATIONS = st.lists(st.tuples(st.sampled_from(["append", "barrier", "cancelled", "wait", "tick"]), st.integers(0, 3)), max_size=30)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(OPERATIONS)
def test_whatever_is_cancelled_each_record_is_written_once_and_in_order(tmp_path: Path, operations: list[tuple[str, int]]) -> None:
    async def play() -> tuple[Path, int]:
        clock, count = VirtualClock(), 0
        async with Domain("session") as domain:
            directory = tmp_path / os.urandom(4).hex()
            writer = log(directory, clock, domain).open(AgentIdentity("director"))
            for operation, amount in operations:
                if operation == "append":
                    for _ in range(amount * 12):
                        writer.append(event(count))
                        count += 1
                elif operation == "barrier":
                    await writer.barrier()
                    assert numbers(writer.path) == list(range(count))
                elif operation == "cancelled":
                    handle = domain.go("barrier", writer.barrier())
                    await settle(amount)
                    handle.cancel()
                elif operation == "wait":
                    await clock.sleep(amount * 0.01)
                else:
                    await settle(amount)
            await writer.close()
        return writer.path, count

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        path, count = runner.run(play())
    assert numbers(path) == list(range(count))


async def test_file_names_tell_session_and_agent_and_are_never_reused(tmp_path: Path, clock: VirtualClock) -> None:
    async with Domain("session") as domain:
        files = log(tmp_path / "rollout", clock, domain)
        writers = [files.open(AgentIdentity("director"))]
        await clock.sleep(61)
        writers += [files.open(AgentIdentity("coding", f"call_{number}", 1)) for number in range(2)]
        for writer in writers:
            await writer.close()
    assert [writer.path.name for writer in writers] == [
        "20260101-000000_s1.jsonl",
        "20260101-000101_s1_coding.jsonl",
        "20260101-000101_s1_coding-2.jsonl",
    ]
    assert len(session_files(tmp_path / "rollout", "s1")["s1"]) == 3


async def test_the_files_of_a_session_share_one_order(tmp_path: Path, clock: VirtualClock) -> None:
    async with Domain("session") as domain:
        files = log(tmp_path, clock, domain)
        writers = [
            files.open(AgentIdentity("director")),
            files.open(AgentIdentity("repo", "c1", 1)),
            files.open(AgentIdentity("chat", "c2", 1)),
        ]
        for number in range(90):
            writers[number % 3].append(event(number))
        for writer in writers:
            await writer.close()
    for position, writer in enumerate(writers):
        assert [entry.ordinal for entry in read(writer.path)] == list(range(position + 1, 91, 3))


async def test_records_are_private_whatever_the_umask(tmp_path: Path, clock: VirtualClock) -> None:
    before = os.umask(0)
    try:
        async with Domain("session") as domain:
            writer = log(tmp_path / "data" / "rollout", clock, domain).open(AgentIdentity("director"))
            await writer.close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(writer.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(writer.path.parent.stat().st_mode) == 0o700


async def test_a_record_that_cannot_be_created_says_where_and_what_to_do(tmp_path: Path, clock: VirtualClock) -> None:
    (tmp_path / "file").write_text("in the way")
    async with Domain("session") as domain:
        with pytest.raises(RolloutError, match=r"cannot be created: .*/file\)\. Set YAGENT_HOME"):
            log(tmp_path / "file", clock, domain).open(AgentIdentity("director"))


async def test_a_recorder_that_keeps_nothing_writes_nothing(isolated_home: Path) -> None:
    recorder = NullRecorder()
    recorder.append(DONE)
    await recorder.barrier()
    await recorder.finalize_checkpoint(checkpoint())
    await recorder.close()
    assert os.listdir(isolated_home) == []
