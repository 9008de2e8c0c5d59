"""Which processes exist, and which of them come from a given start. Everything here blocks."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_NAME_WIDTH = 120
_PS_TIMEOUT = 5


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A running process (zombies are left out)."""

    pid: int
    parent: int
    group: int
    command: str

    @property
    def name(self) -> str:
        """For people: its command line, shortened, and its number."""
        shown = self.command if len(self.command) <= _NAME_WIDTH else self.command[:_NAME_WIDTH] + "…"
        return f"{shown} (pid {self.pid})"


def tree_of(group: int, marker: str) -> list[ProcessInfo]:
    """All processes of the process group `group` or with `marker` in their environment (where /proc shows it), and their descendants."""
    processes = list(_from_proc() if (_PROC / "self" / "stat").exists() else _from_ps())
    own = os.getpid()
    found = {process.pid for process in processes if process.group == group or process.pid == group or _is_marked(process.pid, marker)}
    while True:
        more = {process.pid for process in processes if process.parent in found} - found
        if not more:
            break
        found |= more
    return [process for process in processes if process.pid in found and process.pid != own]


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        status = _stat(pid)
    except FileNotFoundError:
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


def _from_proc() -> Iterator[ProcessInfo]:
    for name in os.listdir(_PROC):
        if not name.isdigit():
            continue
        try:
            status = _stat(int(name))
            if status is not None:
                command = (_PROC / name / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
                yield ProcessInfo(int(name), status[1], status[2], command or status[0])
        except (OSError, ValueError):
            continue


def _stat(pid: int) -> tuple[str, int, int] | None:
    """Name, parent and group; None for a zombie."""
    text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    # The name is in parentheses and may itself hold parentheses and spaces.
    opening, closing = text.index("("), text.rindex(")")
    state, parent, group = text[closing + 2 :].split(" ", 3)[:3]
    return None if state in "ZX" else (text[opening + 1 : closing], int(parent), int(group))


def _is_marked(pid: int, marker: str) -> bool:
    try:
        return marker.encode() in (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False


def _from_ps() -> Iterable[ProcessInfo]:
    try:
        listing = subprocess.run(
            ["ps", "-axo", "pid=,ppid=,pgid=,stat=,command="],
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
