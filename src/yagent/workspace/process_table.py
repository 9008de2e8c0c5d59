"""Which processes exist, and which of them come from a given start. Everything here blocks."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from yagent.records import dataclass

_PROC = Path("/proc")
_NAME_WIDTH = 120
_PS_TIMEOUT = 5
_KERNEL_THREAD = 0x00200000
NO_GROUP = -1  # of an origin whose group is gone; no process has it


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A running process (zombies and the kernel's own threads are left out)."""

    pid: int
    parent: int
    group: int
    command: str
    started: int = 0

    @property
    def name(self) -> str:
        """For people: its command line, shortened, and its number."""
        shown = self.command if len(self.command) <= _NAME_WIDTH else self.command[:_NAME_WIDTH] + "…"
        return f"{shown} (pid {self.pid})"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a family of processes begins: its process group, the mark in their environment, and when the first of them was started.

    `started` is in the system's clock ticks since boot, 0 when unknown; nothing older belongs to the family.
    """

    group: int
    marker: str
    started: int = 0


def origin_of(pid: int, marker: str) -> Origin:
    """The origin that a process just started, the leader of its group, is for its descendants."""
    try:
        status = _stat(pid)
    except (OSError, ValueError):
        status = None
    return Origin(pid, marker, 0 if status is None else status.started)


@dataclass(frozen=True, slots=True)
class Family:
    """What descends from an origin. `settled` is False when some process is just replacing its program, so that its mark cannot be read."""

    members: tuple[ProcessInfo, ...]
    settled: bool


def family_of(origin: Origin, own: frozenset[int] | None = None, before: int | None = None) -> Family:
    """All processes of the origin's group or with its mark in their environment (where /proc shows it), and their descendants.

    Where orphans come to us, `own` are the children that we started: the others count too, when they started `before` then (any time when
    None) and do not carry the mark of another command.
    """
    linux = (_PROC / "self" / "stat").exists()
    processes = list(_from_proc(origin.started) if linux else _from_ps())
    us = os.getpid()
    marks = {process.pid: _mark_in(process.pid, origin.marker) if linux else False for process in processes}
    orphans = {process.pid: process for process in processes if own is not None and process.parent == us and process.pid not in own}
    shared = origin.marker[: origin.marker.rfind("-", 0, -1) + 1]  # what the marks of all commands of one shell begin with
    found = {process.pid for process in processes if process.group == origin.group or marks[process.pid]}
    found |= {pid for pid, each in orphans.items() if (before is None or each.started < before) and not _mark_in(pid, shared)}
    while True:
        more = {process.pid for process in processes if process.parent in found} - found
        if not more:
            break
        found |= more
    members = tuple(process for process in processes if process.pid in found and process.pid != us)
    return Family(members, settled=all(mark is not None or pid in found or pid in orphans for pid, mark in marks.items()))


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        status = _stat(pid)
    except (FileNotFoundError, ProcessLookupError):
        if _PROC.joinpath("self").exists():
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
    return status is not None


def group_of(pid: int) -> int | None:
    """The process group of one that runs (Linux)."""
    try:
        status = _stat(pid)
    except (OSError, ValueError):
        return None
    return None if status is None else status.group


def children_of(pid: int) -> tuple[int, ...]:
    """The children of a process, zombies included (Linux)."""
    try:
        lists = [(each / "children").read_text() for each in (_PROC / str(pid) / "task").iterdir()]
    except OSError:  # not every kernel keeps these lists
        return tuple(int(name) for name in os.listdir(_PROC) if name.isdigit() and _parent_of(name) == pid)
    return tuple(int(child) for text in lists for child in text.split())


def _parent_of(name: str) -> int | None:
    try:
        return int((_PROC / name / "stat").read_bytes().rpartition(b")")[2].split(None, 2)[1])
    except (OSError, ValueError, IndexError):
        return None


def _from_proc(since: int) -> Iterator[ProcessInfo]:
    for name in os.listdir(_PROC):
        if not name.isdigit():
            continue
        try:
            status = _stat(int(name))
            if status is not None and status.started >= since:
                command = (_PROC / name / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
                yield ProcessInfo(int(name), status.parent, status.group, command or status.name, status.started)
        except (OSError, ValueError):
            continue


@dataclass(frozen=True, slots=True)
class _Status:
    name: str
    parent: int
    group: int
    started: int


def _stat(pid: int) -> _Status | None:
    """What /proc says of a process; None for a zombie or a thread of the kernel."""
    with open(f"{_PROC}/{pid}/stat", "rb") as file:
        text = file.read().decode("utf-8", "replace")
    # The name is in parentheses and may itself hold parentheses and spaces.
    opening, closing = text.index("("), text.rindex(")")
    fields = text[closing + 2 :].split(" ", 20)
    return (
        None
        if fields[0] in "ZX" or int(fields[6]) & _KERNEL_THREAD
        else _Status(text[opening + 1 : closing], int(fields[1]), int(fields[2]), int(fields[19]))
    )


def _mark_in(pid: int, marker: str) -> bool | None:
    """Whether a process carries the mark; None when it has no environment, as for a moment while it replaces its program."""
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return marker.encode() in environment if environment else None


def _from_ps() -> Iterable[ProcessInfo]:
    try:
        listing = subprocess.run(
            ["ps", "-axwwo", "pid=,ppid=,pgid=,stat=,command="],
            capture_output=True,
            timeout=_PS_TIMEOUT,
            check=False,
            stdin=subprocess.DEVNULL,
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return
    for line in listing.splitlines():
        parts = line.split(None, 4)
        if len(parts) == 5 and not parts[3].startswith("Z"):
            yield ProcessInfo(int(parts[0]), int(parts[1]), int(parts[2]), parts[4])
