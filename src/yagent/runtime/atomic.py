"""The only place that renames: files that change whole or not at all, private directories, locks between processes.

All but `locked` block; call them through `supervise.in_thread`. Errors of the system stay `OSError`.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from yagent.errors import YagentError
from yagent.runtime.clock import Clock

logger = logging.getLogger(__name__)

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
TEMPORARY_PREFIX = ".yagent-"
CANNOT_REPLACE = {errno.EBUSY, errno.EACCES, errno.EPERM, errno.EROFS, errno.EXDEV}
CANNOT_SYNC_DIRECTORY = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.ENOSYS}
CANNOT_CHANGE_MODE = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}  # file systems without modes
CANNOT_LINK = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
CANNOT_LOCK = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
LOCK_POLL_SECONDS = 0.05


class NotRegularFileError(YagentError):
    """What is to be read or written is a directory, a device, a pipe or a socket."""


class DamagedFileError(YagentError):
    """A file that could only be written in place is half written; the text names where its old content is kept."""


class LockTimeoutError(YagentError):
    """Another process kept a lock for too long."""


class Operations:
    """The system calls of this module, in one object, so that tests can make any of them fail."""

    open = staticmethod(os.open)
    write = staticmethod(os.write)
    fsync = staticmethod(os.fsync)
    fchmod = staticmethod(os.fchmod)
    fchown = staticmethod(os.fchown)
    ftruncate = staticmethod(os.ftruncate)
    close = staticmethod(os.close)
    replace = staticmethod(os.replace)
    link = staticmethod(os.link)
    unlink = staticmethod(os.unlink)


SYSTEM = Operations()


def write_bytes(path: Path, data: bytes, *, mode: int | None = 0o600, durable: bool = True, operations: Operations = SYSTEM) -> None:
    """Make `data` the content of `path`: after a crash or an error it holds either the old bytes or the new.

    A symlink stays a link and its target is written. An existing file keeps its mode and, where possible, owner, group and
    extended attributes; a new one gets exactly `mode`, whatever the umask, or with None what the umask leaves of 0666.
    `durable` waits for the disk. Where the file cannot be replaced (a bind mount, a directory without write permission) it is
    written in place, with a backup kept meanwhile.

    Raises:
        NotRegularFileError: `path` is something other than a file.
        DamagedFileError: writing in place failed halfway and the old content could not be put back.
        OSError: as the system says it; the old content is intact, no temporary file is left.
    """
    target = _final_target(path)
    existing = _existing(target)
    final_mode = mode if existing is None else stat.S_IMODE(existing.st_mode)
    try:
        temporary = _write_temporary(target, (data,), (final_mode, existing), durable=durable, operations=operations)
        try:
            operations.replace(temporary, target)
        except BaseException:
            _remove(temporary, operations)
            raise
    except OSError as error:
        if existing is None or error.errno not in CANNOT_REPLACE:
            error.filename = str(path)  # not the temporary name, which means nothing to anybody
            raise
        _write_in_place(target, data, operations)
        return
    if durable:
        _sync_directory(target.parent, operations)


def write_pieces(
    path: Path, pieces: Iterable[bytes], *, overwrite: bool = False, mode: int = 0o600, operations: Operations = SYSTEM
) -> None:
    """Make `pieces`, taken one by one, the content of `path`, which changes only when the last of them is on the disk.

    An existing file keeps its mode and owner; a new one gets exactly `mode`. What the pieces raise passes through, and nothing changed.

    Raises:
        FileExistsError: the file exists and `overwrite` is False; nothing changed.
        NotRegularFileError: `path` is something other than a file.
    """
    target = _final_target(path)
    existing = _existing(target)
    if existing is not None and not overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    form = (mode if existing is None else stat.S_IMODE(existing.st_mode), existing)
    temporary = _write_temporary(target, pieces, form, durable=True, operations=operations)
    try:
        rename(temporary, target, overwrite=overwrite, operations=operations)
    except BaseException:
        _remove(temporary, operations)
        raise


def rename(source: Path, target: Path, *, overwrite: bool = False, operations: Operations = SYSTEM) -> None:
    """Give a file or directory another name on the same file system; a symlink moves itself, not what it points to.

    Raises:
        FileExistsError: the target exists and `overwrite` is False; nothing changed.
    """
    if overwrite or _is_same_entry(source, target):
        operations.replace(source, target)
    elif source.is_dir() and not source.is_symlink():
        _rename_unless_exists(source, target, operations)
    else:
        try:
            # A link refuses an existing name in one step, which a rename cannot.
            operations.link(source, target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in CANNOT_LINK:
                raise
            _rename_unless_exists(source, target, operations)
        else:
            operations.unlink(source)
    for directory in {source.parent, target.parent}:
        _sync_directory(directory, operations)


def make_private_directory(path: Path) -> None:
    """Make a directory, and its missing parents, that only the user can enter (0700).

    An existing one is narrowed to that when it is the user's own and not a shared place like /tmp.
    """
    missing = []
    current = path
    while not current.exists():
        missing.append(current)
        current = current.parent
    for directory in reversed(missing):
        directory.mkdir(mode=0o700, exist_ok=True)
        directory.chmod(0o700)  # the umask may have taken our own rights
    status = path.stat()
    if status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX and stat.S_IMODE(status.st_mode) != 0o700:
        path.chmod(0o700)


@asynccontextmanager
async def locked(path: Path, *, clock: Clock, timeout: float = 10.0) -> AsyncIterator[None]:
    """Hold the lock of `path` (the file `<path>.lock` beside it) against other processes and tasks, for read-merge-write.

    The system frees it when its holder dies, so it never goes stale. Where the file system has no locks, a line in the
    log says so and the block runs without.

    Raises:
        LockTimeoutError: somebody else held it for `timeout` seconds.
    """
    lock_file = path.with_name(path.name + ".lock")
    descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
    try:
        try:
            async with clock.timeout(timeout):
                while not try_lock(descriptor, lock_file):
                    await clock.sleep(LOCK_POLL_SECONDS)
        except TimeoutError:
            raise LockTimeoutError(
                f"{path} has been locked by another process for {timeout:g} seconds ({lock_file}); end that process or try again"
            ) from None
        yield
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, path: Path) -> bool:
    """Lock an open file until it is closed or its process ends; False when somebody else has it. Where the file system has no locks, a
    line in the log says so and the file counts as locked for us."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in CANNOT_LOCK:
            raise
        logger.warning("%s cannot be locked on this file system (%s); going on without", path, error)
    return True


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock of a file, as far as can be told."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(descriptor)
    return False


def _final_target(path: Path) -> Path:
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return target


def _existing(target: Path) -> os.stat_result | None:
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFileError(f"{target} is not a regular file, so it is not written to; choose another path")
    return status


def _write_temporary(
    target: Path,
    pieces: Iterable[bytes],
    form: tuple[int | None, os.stat_result | None],
    *,
    durable: bool,
    operations: Operations,
    suffix: str = ".tmp",
) -> Path:
    """A finished temporary file beside the target, with its final mode and owner; on any error none is left."""
    mode, existing = form
    temporary = target.parent / f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(8).hex()}{suffix}"  # whose it is: see `left_behind`
    descriptor = operations.open(temporary, NEW_FILE, 0o666 if mode is None else mode)
    try:
        try:
            if existing is not None:
                _keep_owner(descriptor, existing, operations)
            if mode is not None:
                _set_mode(descriptor, mode, operations)
            for piece in pieces:
                _write_all(descriptor, piece, operations)
            if existing is not None:
                _keep_extended_attributes(target, descriptor)
            if durable:
                operations.fsync(descriptor)
        finally:
            operations.close(descriptor)
    except BaseException:
        _remove(temporary, operations)
        raise
    return temporary


def _write_in_place(target: Path, data: bytes, operations: Operations) -> None:
    """Overwrite a file that cannot be replaced; its old bytes are on disk elsewhere until the new ones are."""
    old = target.read_bytes()
    descriptor = operations.open(target, os.O_WRONLY | os.O_CLOEXEC)
    try:
        backup = _back_up(target, old, operations)
        try:
            _overwrite(descriptor, data, operations)
        except BaseException as error:
            try:
                _overwrite(descriptor, old, operations)
            except OSError:
                raise DamagedFileError(f"{target} is half written ({error}); its old content is in {backup}: copy it back") from error
            _remove(backup, operations)
            raise
        _remove(backup, operations)
    finally:
        operations.close(descriptor)


def _back_up(target: Path, old: bytes, operations: Operations) -> Path:
    """Not named as a temporary file: after a crash it may be all that is left of the old content, so nobody clears it away."""
    write = partial(_write_temporary, pieces=(old,), form=(0o600, None), durable=True, operations=operations, suffix=".old")
    try:
        return write(target)
    except OSError:
        return write(Path(tempfile.gettempdir()) / target.name)


def _overwrite(descriptor: int, data: bytes, operations: Operations) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    _write_all(descriptor, data, operations)
    operations.ftruncate(descriptor, len(data))
    operations.fsync(descriptor)


def _write_all(descriptor: int, data: bytes, operations: Operations) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[operations.write(descriptor, rest) :]


def _keep_owner(descriptor: int, existing: os.stat_result, operations: Operations) -> None:
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (existing.st_uid, existing.st_gid):
        with suppress(OSError):  # only root may give files away
            operations.fchown(descriptor, existing.st_uid, existing.st_gid)


def _set_mode(descriptor: int, mode: int, operations: Operations) -> None:
    try:
        operations.fchmod(descriptor, mode)  # the umask took bits away
    except OSError as error:
        if error.errno not in CANNOT_CHANGE_MODE:
            raise


def _keep_extended_attributes(source: Path, descriptor: int) -> None:
    if sys.platform != "linux":
        return
    with suppress(OSError):  # access control lists and labels are kept where the file system has them
        for name in os.listxattr(source):
            with suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(source, name))


def _remove(path: Path, operations: Operations) -> None:
    try:
        operations.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        logger.warning("the temporary file %s could not be removed: %s", path, error)


def _sync_directory(directory: Path, operations: Operations) -> None:
    try:
        descriptor = operations.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            operations.fsync(descriptor)
        finally:
            operations.close(descriptor)
    except OSError as error:
        if error.errno not in CANNOT_SYNC_DIRECTORY:
            raise


def _rename_unless_exists(source: Path, target: Path, operations: Operations) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    operations.replace(source, target)


def _is_same_entry(source: Path, target: Path) -> bool:
    """Whether both names are one directory entry: a change of case where case does not count."""
    if source.parent != target.parent or source.name.casefold() != target.name.casefold() or not os.path.lexists(target):
        return False
    return os.path.samestat(source.lstat(), target.lstat()) and target.name not in os.listdir(target.parent)
