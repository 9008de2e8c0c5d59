"""What a killed run leaves among the temporary files is removed by a later one, and nothing else is."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from yagent.runtime.left_behind import MOST_AT_ONCE, held, private_prefix, remove_half_written, remove_left_behind

RUN = """
import os, sys, tempfile
from pathlib import Path
from yagent.runtime.left_behind import held, private_prefix
with tempfile.TemporaryDirectory(prefix=private_prefix(), dir=sys.argv[1]) as name, held(Path(name)):
    Path(name, "kept").write_text("output")
    print(name, flush=True)
    sys.stdin.read()
"""


@contextmanager
def running(within: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process with a private directory, and that directory."""
    with subprocess.Popen(
        [sys.executable, "-c", RUN, str(within)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def dead_name() -> str:
    """A name as a process that is gone would have given it."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return private_prefix().replace(str(os.getpid()), str(process.pid)) + "abcd1234"


def dead(within: Path) -> Path:
    """A directory that was left behind."""
    directory = within / dead_name()
    directory.mkdir(mode=0o700)
    return directory


def test_the_directory_of_a_killed_run_is_removed_and_that_of_a_running_one_stays(tmp_path: Path) -> None:
    with running(tmp_path) as (process, directory):
        assert remove_left_behind(tmp_path) == []
        assert (directory / "kept").read_text() == "output"
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert directory.is_dir()
        assert remove_left_behind(tmp_path) == [directory]
        assert list(tmp_path.iterdir()) == []


def test_a_lock_keeps_a_directory_whose_process_is_not_seen_from_here(tmp_path: Path) -> None:
    directory = dead(tmp_path)
    with held(directory):
        assert remove_left_behind(tmp_path) == []
    assert remove_left_behind(tmp_path) == [directory]


def test_what_is_named_otherwise_shared_or_a_link_stays(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "work").write_text("mine")
    (tmp_path / "yagent-notes").mkdir()
    (tmp_path / "yagent-2024-releases").mkdir()
    (tmp_path / dead_name()).symlink_to(victim)
    (tmp_path / dead_name()).write_text("a file")
    (tmp_path / dead_name()).mkdir(mode=0o755)
    before = sorted(tmp_path.iterdir())
    assert remove_left_behind(tmp_path) == []
    assert sorted(tmp_path.iterdir()) == before
    assert (victim / "work").read_text() == "mine"


def test_links_in_it_are_not_followed_and_missing_rights_do_not_keep_it(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o500)
    directory = dead(tmp_path)
    (directory / "link").symlink_to(victim)
    (directory / "closed" / "in").mkdir(parents=True)
    (directory / "closed" / "in" / "file").write_text("x")
    (directory / "closed").chmod(0)
    assert remove_left_behind(tmp_path) == [directory]
    assert victim.stat().st_mode & 0o777 == 0o500


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_what_belongs_to_somebody_else_stays(tmp_path: Path) -> None:
    directory = dead(tmp_path)
    os.chown(directory, 12345, -1)
    assert remove_left_behind(tmp_path) == []
    assert directory.is_dir()


def test_one_call_removes_only_so_many_and_no_directory_is_no_trouble(tmp_path: Path) -> None:
    name = dead_name()
    for number in range(MOST_AT_ONCE + 3):
        (tmp_path / f"{name[:-4]}{number:04}").mkdir(mode=0o700)
    assert len(remove_left_behind(tmp_path)) == MOST_AT_ONCE
    assert len(remove_left_behind(tmp_path)) == 3
    assert remove_left_behind(tmp_path / "missing") == []


def test_the_name_says_whose_it_is(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=private_prefix(), dir=tmp_path) as name:
        assert Path(name).name.startswith(f"yagent-{os.getpid()}-")
        assert remove_left_behind(tmp_path) == []


NOBODY = 2**22 + 1  # no process has so high a number


def test_only_half_written_files_of_processes_that_are_gone_are_removed(tmp_path: Path) -> None:
    token = "0123456789abcdef"
    gone = tmp_path / f".yagent-{NOBODY}-{token}.tmp"
    gone.write_text("half")
    kept = [
        f".yagent-{os.getpid()}-{token}.tmp",  # still being written
        f".yagent-{NOBODY}-{token}.old",  # the old content of a file that was written in place
        f".yagent-{token}.tmp",  # of whom nobody knows
        f"x.yagent-{NOBODY}-{token}.tmp",
    ]
    for name in kept:
        (tmp_path / name).write_text("")
    target = tmp_path / "target"
    target.write_text("")
    link = tmp_path / f".yagent-{NOBODY}-{token[::-1]}.tmp"
    link.symlink_to(target)
    assert remove_half_written(tmp_path) == [gone]
    assert {path.name for path in tmp_path.iterdir()} == {*kept, "target", link.name}
    assert remove_half_written(tmp_path / "nowhere") == []
