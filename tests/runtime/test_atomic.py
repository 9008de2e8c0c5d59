"""Files change whole or not at all, whatever fails on the way."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.virtual_time import VirtualClock
from yagent.runtime.atomic import (
    DamagedFileError,
    LockTimeoutError,
    NotRegularFileError,
    Operations,
    locked,
    make_private_directory,
    rename,
    write_bytes,
    write_pieces,
)

CALLS = ("open", "write", "fsync", "fchmod", "fchown", "ftruncate", "close", "replace", "link", "unlink")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EBUSY, errno.EACCES, errno.EPERM, errno.EROFS, errno.EDQUOT, errno.EXDEV, errno.EINTR)


class Failing(Operations):
    """Real system calls, of which the chosen ones fail. `plan` maps (call, how many of that call came before) to an errno."""

    def __init__(self, plan: dict[tuple[str, int], int], *, short_writes: bool = False) -> None:
        counts = dict.fromkeys(CALLS, 0)

        def wrap(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                number = counts[name]
                counts[name] += 1
                if name == "write" and short_writes:
                    args = (args[0], args[1][: max(1, len(args[1]) // 2)])
                if code := plan.get((name, number), plan.get((name, -1))):
                    if name in {"close", "unlink"}:
                        real(*args, **kwargs)  # they fail, but the descriptor or name is gone all the same
                    raise OSError(code, os.strerror(code))
                return real(*args, **kwargs)

            return call

        for name in CALLS:
            setattr(self, name, wrap(name, getattr(Operations, name)))


@contextmanager
def umask(value: int) -> Iterator[None]:
    old = os.umask(value)
    try:
        yield
    finally:
        os.umask(old)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def leftovers(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.name.startswith(".yagent-")]


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777])
def test_a_new_file_gets_its_mode_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        write_bytes(tmp_path / "secret", b"key")
        write_bytes(tmp_path / "script", b"#!", mode=0o755)
    assert mode_of(tmp_path / "secret") == 0o600
    assert mode_of(tmp_path / "script") == 0o755


def test_without_a_mode_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    with umask(0o027):
        write_bytes(tmp_path / "source.py", b"", mode=None)
    assert mode_of(tmp_path / "source.py") == 0o640


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_bytes(b"old")
    path.chmod(0o751)
    write_bytes(path, b"new")
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o751)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_is_kept_by_root(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(b"old")
    os.chown(path, 12345, 12346)
    path.chmod(0o4755)
    write_bytes(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid, mode_of(path)) == (12345, 12346, 0o4755)


@pytest.mark.skipif(sys.platform != "linux", reason="extended attributes are a Linux call")
def test_extended_attributes_are_kept_where_there_are_any(tmp_path: Path) -> None:
    if sys.platform == "linux":
        path = tmp_path / "labelled"
        path.write_bytes(b"old")
        try:
            os.setxattr(path, "user.note", b"mine")
        except OSError:
            pytest.skip("this file system has no extended attributes")
        write_bytes(path, b"new")
        assert os.getxattr(path, "user.note") == b"mine"


def test_a_symlink_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    target = tmp_path / "dotfiles" / "config.toml"
    target.write_bytes(b"old")
    (tmp_path / "hop").symlink_to(target)
    link = tmp_path / "config.toml"
    link.symlink_to("hop")
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert leftovers(tmp_path) == leftovers(target.parent) == []


def test_a_dangling_link_creates_its_target_and_a_loop_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write_bytes(tmp_path / "link", b"x")
    assert (tmp_path / "target").read_bytes() == b"x"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write_bytes(tmp_path / "loop", b"x")
    assert (tmp_path / "loop").is_symlink()


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(NotRegularFileError, match="not a regular file"):
            write_bytes(path, b"x")


def test_the_longest_name_a_file_system_takes_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_bytes(path, b"x")
    assert path.read_bytes() == b"x"


def test_short_writes_are_continued(tmp_path: Path) -> None:
    data = bytes(range(256)) * 10
    write_bytes(tmp_path / "file", data, operations=Failing({}, short_writes=True))
    assert (tmp_path / "file").read_bytes() == data


@pytest.mark.parametrize("call", ["open", "write", "fsync", "close"])
def test_on_a_full_disk_the_old_file_is_intact_and_nothing_is_left(tmp_path: Path, call: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match=r"No space.*config\.toml"):
        write_bytes(path, b"new", operations=Failing({(call, 0): errno.ENOSPC}))
    assert path.read_bytes() == b"old"
    assert leftovers(tmp_path) == []


def test_a_bind_mounted_file_is_written_in_place(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"a much longer old content")
    inode = path.stat().st_ino
    write_bytes(path, b"new", operations=Failing({("replace", 0): errno.EBUSY}))
    assert (path.read_bytes(), path.stat().st_ino) == (b"new", inode)
    assert leftovers(tmp_path) == []


def test_a_failed_write_in_place_puts_the_old_content_back(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"old content")
    plan = {("replace", 0): errno.EBUSY, ("write", 2): errno.ENOSPC}  # after the temporary file and the backup
    with pytest.raises(OSError, match="No space"):
        write_bytes(path, b"new", operations=Failing(plan))
    assert path.read_bytes() == b"old content"
    assert leftovers(tmp_path) == []


def test_a_file_that_cannot_be_put_back_has_its_backup_named(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"old content")
    plan = {("replace", 0): errno.EBUSY, ("ftruncate", -1): errno.EIO}
    with pytest.raises(DamagedFileError, match="old content is in") as caught:
        write_bytes(path, b"new", operations=Failing(plan))
    [backup] = leftovers(tmp_path)
    assert backup in str(caught.value)
    assert (tmp_path / backup).read_bytes() == b"old content"


def test_an_unwritable_directory_backs_up_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"old")
    # the temporary file and the first backup are refused, the file itself and the second backup are not
    write_bytes(path, b"new", operations=Failing({("open", 0): errno.EACCES, ("open", 2): errno.EACCES}))
    assert path.read_bytes() == b"new"


@given(
    old=st.none() | st.binary(max_size=50),
    new=st.binary(max_size=50),
    plan=st.dictionaries(st.tuples(st.sampled_from(CALLS), st.integers(-1, 3)), st.sampled_from(ERRORS), max_size=3),
    short_writes=st.booleans(),
    durable=st.booleans(),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_fails_the_file_is_old_or_new_or_the_error_names_its_backup(
    tmp_path: Path, old: bytes | None, new: bytes, plan: dict[tuple[str, int], int], *, short_writes: bool, durable: bool
) -> None:
    path = tmp_path / "file"
    if old is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(old)
    refused = None
    try:
        write_bytes(path, new, durable=durable, operations=Failing(plan, short_writes=short_writes))
    except DamagedFileError as error:
        [backup] = [word.rstrip(":") for word in str(error).split() if ".yagent-" in word]
        assert Path(backup).read_bytes() == old
        Path(backup).unlink()
        return
    except OSError as error:
        refused = error
    content = path.read_bytes() if path.exists() else None
    assert content == new if refused is None else content in (old, new)
    assert leftovers(tmp_path) == []


def test_rename_never_overwrites_unless_told(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"a")
    target.write_bytes(b"b")
    with pytest.raises(FileExistsError):
        rename(source, target)
    assert (source.read_bytes(), target.read_bytes()) == (b"a", b"b")
    rename(source, target, overwrite=True)
    assert target.read_bytes() == b"a"
    assert not source.exists()


@pytest.mark.parametrize("plan", [{}, {("link", 0): errno.EPERM}], ids=["links", "no links"])
def test_rename_moves_files_links_and_directories(tmp_path: Path, plan: dict[tuple[str, int], int]) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory" / "inner").write_bytes(b"y")
    for name in ("file", "link", "directory"):
        rename(tmp_path / name, tmp_path / f"new-{name}", operations=Failing(plan))
    assert (tmp_path / "new-file").read_bytes() == b"x"
    assert os.readlink(tmp_path / "new-link") == "nowhere"
    assert (tmp_path / "new-directory" / "inner").read_bytes() == b"y"
    assert sorted(os.listdir(tmp_path)) == ["new-directory", "new-file", "new-link"]


def test_rename_refuses_a_dangling_link_as_target_and_a_missing_source(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        rename(tmp_path / "a", tmp_path / "b")
    with pytest.raises(FileNotFoundError):
        rename(tmp_path / "missing", tmp_path / "c")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_private_directories_are_private_with_all_parents_they_made(tmp_path: Path, mask: int) -> None:
    (tmp_path / "mine").mkdir()
    before = mode_of(tmp_path / "mine")
    with umask(mask):
        make_private_directory(tmp_path / "mine" / "a" / "b")
    assert mode_of(tmp_path / "mine" / "a" / "b") == mode_of(tmp_path / "mine" / "a") == 0o700
    assert mode_of(tmp_path / "mine") == before


def test_an_existing_directory_is_narrowed_unless_it_is_shared(tmp_path: Path) -> None:
    (tmp_path / "wide").mkdir()
    (tmp_path / "wide").chmod(0o755)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    make_private_directory(tmp_path / "wide")
    make_private_directory(tmp_path / "shared")
    assert mode_of(tmp_path / "wide") == 0o700
    assert mode_of(tmp_path / "shared") == 0o1777


def test_a_file_where_a_directory_should_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        make_private_directory(tmp_path / "file" / "inner")


async def test_a_lock_excludes_others_until_it_is_left(tmp_path: Path, clock: VirtualClock) -> None:
    path = tmp_path / "settings.json"
    async with locked(path, clock=clock):
        with pytest.raises(LockTimeoutError, match=r"settings\.json"):
            async with locked(path, clock=clock, timeout=3):
                pytest.fail("two holders")
    async with locked(path, clock=clock, timeout=0):
        pass
    assert mode_of(tmp_path / "settings.json.lock") == 0o600


HOLD_LOCK = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print("held", flush=True)
input()
"""


async def test_a_lock_dies_with_its_holder(tmp_path: Path, clock: VirtualClock) -> None:
    path = tmp_path / "settings.json"
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLD_LOCK, f"{path}.lock", stdin=pipe, stdout=pipe)
    assert child.stdout is not None
    assert await child.stdout.readline() == b"held\n"
    with pytest.raises(LockTimeoutError):
        async with locked(path, clock=clock, timeout=0.1):
            pytest.fail("the child holds it")
    child.kill()
    await child.wait()
    async with locked(path, clock=clock, timeout=0):
        pass


def test_pieces_become_one_file_that_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"

    def pieces() -> Iterator[bytes]:
        for number in range(3):
            assert not path.exists()
            yield b"%d\n" % number

    write_pieces(path, pieces())
    assert path.read_bytes() == b"0\n1\n2\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_pieces_take_the_place_of_a_file_only_when_asked_and_keep_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with pytest.raises(FileExistsError):
        write_pieces(path, [b"new"])
    assert path.read_bytes() == b"old"
    write_pieces(path, [b"new"], overwrite=True)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)


def test_a_file_that_came_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "out"

    def pieces() -> Iterator[bytes]:
        yield b"ours"
        path.write_bytes(b"theirs")

    with pytest.raises(FileExistsError):
        write_pieces(path, pieces())
    assert path.read_bytes() == b"theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_pieces_that_fail_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_pieces(path, pieces(), overwrite=True)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("call", ["open", "write", "fsync", "close", "link", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_pieces_that_cannot_be_written_leave_the_old_file_and_nothing_else(tmp_path: Path, call: str, code: int) -> None:
    (path := tmp_path / "out").write_bytes(b"old")
    with suppress(OSError):
        write_pieces(path, [b"a", b"b"], overwrite=True, operations=Failing({(call, 0): code}))
    assert path.read_bytes() in (b"old", b"ab")
    assert list(tmp_path.iterdir()) == [path]
