"""Going on with a record: under a lock, on a line of its own, with numbers of its own; and the checkpoint that tells what is there."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.rollout.conversations import THREE_TURNS, checkpoint, said, write
from tests.rollout.test_writer import DONE, event, log, recording
from tests.support.virtual_time import VirtualClock
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.messages import user_message
from yagent.rollout.checkpoint import digest
from yagent.rollout.marks import Segment
from yagent.rollout.reader import Account, read
from yagent.rollout.records import Compacted
from yagent.rollout.replay import replay
from yagent.rollout.writer import Numbers, RolloutError, SessionInUse, SessionLog
from yagent.runtime.atomic import make_private_directory
from yagent.runtime.supervise import Domain


async def test_the_numbers_of_a_session_go_on_after_those_that_are_taken() -> None:
    sequence = Numbers(7)
    sequence.go_on_after(5)
    assert sequence.take() == 8
    sequence.go_on_after(20)
    assert sequence.take() == 21


@pytest.mark.parametrize("tail", [b"", b'{"ordinal":2,"timest', b"\0" * 4096, "{\u00e9".encode()[:-1], b"\n\n"])
async def test_nothing_is_glued_to_what_a_crash_left(tmp_path: Path, clock: VirtualClock, tail: bytes) -> None:
    async with Domain("session") as domain:
        files = log(tmp_path, clock, domain)
        first = files.open(AgentIdentity("director"))
        first.append(event(0))
        await first.close()
        with first.path.open("ab") as stream:
            stream.write(tail)
        writer = files.reopen(first.path)
        for number in (1, 2):
            writer.append(event(number))
        await writer.close()
    account = Account()
    entries = list(read(writer.path, account))
    assert [entry.record for entry in entries] == [event(0), event(1), event(2)]
    assert [entry.ordinal for entry in entries] == [1, 2, 3]
    assert tail in writer.path.read_bytes()  # nothing is cut off
    assert account.count == (1 if tail.strip() else 0)


async def test_a_session_that_is_open_is_refused_until_it_is_closed(tmp_path: Path, clock: VirtualClock) -> None:
    async with Domain("session") as domain:
        files = log(tmp_path, clock, domain)
        first = files.open(AgentIdentity("director"))
        first.append(event(0))
        await first.barrier()
        before = first.path.read_bytes()
        with pytest.raises(SessionInUse, match=r"Session s1 is open in another process\. Go on there") as refused:
            files.reopen(first.path)
        assert refused.value.exit_code == 2
        assert first.path.read_bytes() == before
        await first.close()
        second = files.reopen(first.path)
        with pytest.raises(SessionInUse):
            files.reopen(first.path)
        await second.close()


async def test_the_lock_of_a_killed_process_is_free(tmp_path: Path, clock: VirtualClock) -> None:
    path = tmp_path / "20260101-000000_s1.jsonl"
    path.write_bytes(b"")
    holding = "import fcntl, sys; f = open(sys.argv[1], 'ab'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", holding, str(path), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    async with Domain("session") as domain:
        files = log(tmp_path, clock, domain)
        try:
            with pytest.raises(SessionInUse):
                files.reopen(path)
        finally:
            holder.kill()
            await holder.wait()
        await files.reopen(path).close()


async def test_a_record_that_cannot_be_continued_says_where(tmp_path: Path, clock: VirtualClock) -> None:
    os.mkfifo(tmp_path / "pipe")
    async with Domain("session") as domain:
        files = log(tmp_path, clock, domain)
        for name, why in (("gone", "No such file or directory"), ("pipe", "not a regular file")):
            with pytest.raises(RolloutError, match=rf"cannot be continued: .*{why} \(.*{name}\)"):
                files.reopen(tmp_path / name)


async def test_nothing_is_appended_to_what_a_link_leads_to(tmp_path: Path, clock: VirtualClock) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"not a record, and without a line end")
    (tmp_path / "link").symlink_to(foreign)
    async with Domain("session") as domain:
        with pytest.raises(RolloutError, match=r"cannot be continued: it is a symbolic link, .* \(.*link\)"):
            log(tmp_path, clock, domain).reopen(tmp_path / "link")
    assert foreign.read_bytes() == b"not a record, and without a line end"


async def test_a_checkpoint_tells_what_a_reader_will_find(tmp_path: Path, clock: VirtualClock) -> None:
    async with recording(tmp_path, clock) as writer:
        for record in (*THREE_TURNS, Compacted(3, (user_message("short"),)), *[event(number) for number in range(500)]):
            writer.append(record)
        await writer.finalize_checkpoint(checkpoint(digest="whatever", messages=99))
        writer.append(DONE)
        await writer.close()
    found = replay([Segment(writer.path)])
    assert found.checkpoint == checkpoint(digest=digest(found.messages), messages=5)
    assert len(found.messages) == 5


async def test_a_checkpoint_covers_the_earlier_files_of_its_conversation(tmp_path: Path, clock: VirtualClock) -> None:
    earlier = write(tmp_path, *THREE_TURNS, name="t_s1_coding.jsonl")
    async with Domain("session") as domain:
        files = SessionLog(tmp_path, "s1", "t", Numbers(20), clock, domain, make_private_directory)
        begun = files.open(AgentIdentity("coding", "d1", 1), [Segment(earlier, 6)])
        told_later = files.open(AgentIdentity("coding", "d1", 1))
        told_later.go_on_from([Segment(earlier)])
        for writer in (begun, told_later):
            writer.append(said("go on"))
            await writer.finalize_checkpoint(checkpoint())
            await writer.close()
    for segments, count in (([Segment(earlier, 6), Segment(begun.path)], 4), ([Segment(earlier), Segment(told_later.path)], 8)):
        found = replay(segments)
        assert found.checkpoint is not None
        assert (found.checkpoint.messages, found.checkpoint.digest) == (count, digest(found.messages))


async def test_a_checkpoint_of_a_record_that_is_gone_is_refused(tmp_path: Path, clock: VirtualClock) -> None:
    async with recording(tmp_path, clock) as writer:
        writer.append(event(1))
        await writer.barrier()
        writer.path.unlink()
        with pytest.raises(RolloutError, match="cannot be read back: No such file"):
            await writer.finalize_checkpoint(checkpoint())
        await writer.close()
