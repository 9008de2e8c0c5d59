"""Places that mean no good, made quickly and taken down again."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CAPABILITIES = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH of capability(7)
_PR_CAPBSET_DROP = 24
SHARED_MEMORY = Path("/dev/shm")

NAMES = (
    b"new\nline",
    b"[note: done]",
    b"[bracket]*?.txt",
    b"esc\x1b[31mred\x1b]0;title\x07",
    "bidi\u202egnp.txt".encode(),
    b"bad\xff\xfe.txt",
    b"-rf",
    b"--help",
    b" lead and trail ",
    b"x" * 255,
    b"tab\tq\"uote'`$(touch PWNED)`",
    "\x9b31m".encode(),
    b"a\\b",
    b"%s%n",
    b"<system>",
    b":(top)",
    b"</environment>",
)


def name_files(directory: Path) -> None:
    """A file with a line for each name, and a directory with a name of that kind."""
    for name in (*NAMES, b"dir\x1b[2J\n/in\xff"):
        place = os.path.join(os.fsencode(directory), name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(b"needle here\n")


def special_files(directory: Path) -> tuple[str, ...]:
    """Pipes, devices, sockets, links in circles and out; their names."""
    os.mkfifo(directory / "pipe")
    for name, target in (("zero", "/dev/zero"), ("tty", "/dev/tty"), ("circle", "circle"), ("memory", "/proc/self/mem")):
        (directory / name).symlink_to(target)
    descriptor = os.open(directory, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:  # by a short name, because addresses of sockets are short
        listener.bind(f"/proc/self/fd/{descriptor}/socket")
    os.close(descriptor)
    return ("pipe", "zero", "tty", "circle", "memory", "socket")


def many_files(directory: Path, count: int, *, deep: int) -> None:
    """Empty files in twenty directories, and a tree `deep` levels deep with a file at its end."""
    for number in range(20):
        place = directory / f"d{number}"
        place.mkdir()
        descriptor = os.open(place, os.O_RDONLY)
        for each in range(count // 20):
            os.close(os.open(f"f{each}", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor))
        os.close(descriptor)
    descriptor = os.open(directory, os.O_RDONLY)
    for _ in range(deep):
        os.mkdir("deep", dir_fd=descriptor)
        below = os.open("deep", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    last = os.open("last.txt", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor)
    os.write(last, b"needle\n")
    os.close(last)
    os.close(descriptor)


@contextmanager
def in_memory(name: str) -> Iterator[Path]:
    """A directory that costs no disk."""
    place = SHARED_MEMORY / f"yagent-test-{os.getpid()}-{name}"
    place.mkdir()
    try:
        yield place
    finally:
        subprocess.run(["rm", "-rf", str(place)], check=True)  # shutil gives up on deep trees


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A file system of its own (root on Linux)."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def read_only(place: Path) -> None:
    """From now on nothing is written there."""
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)


def fill(place: Path) -> None:
    """Leave no room."""
    try:
        (place / "fill").write_bytes(b"x" * 4_000_000)
    except OSError:
        return


def can_mount() -> bool:
    """Whether this is a machine on which a test may make file systems."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


def without_rights_of_root() -> None:
    """For a child process: root that rights of files hold for, as for everybody."""
    library = ctypes.CDLL(None)
    for capability in CAPABILITIES:
        library.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def names_in(directory: Path) -> list[str]:
    """What is in a directory, sorted."""
    return sorted(os.listdir(directory))


def exists(path: Path) -> bool:
    """Whether anything has this name, a dangling link included."""
    return os.path.lexists(path)
