"""Processes whose parents have ended become our children (Linux), so that none gets away from its command, whatever it did to its session
and environment. Elsewhere the system takes them, and they cannot be found.

Our own children are kept account of: nobody else's end is waited for here, and none of ours is taken for an orphan.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from yagent.runtime.supervise import whole_program
from yagent.workspace.process_table import Family, Origin, children_of, family_of, group_of

Children = Callable[[int], Iterable[int]]
Look = Callable[[Origin, frozenset[int] | None, int | None], Family]
T = TypeVar("T")
_FIRST = 1  # the process to which all orphans of a system, or of a container, come
_PR_SET_CHILD_SUBREAPER = 36  # Source: prctl(2)


class _Account:
    """Who is who among our children. Written in the event loop's thread, read also in others."""

    def __init__(self) -> None:
        self.adopting = False
        self.own: set[int] = set()
        self.under_way = 0
        self.starts = 0
        self.commands: dict[str, Origin] = {}  # by their marks

    def seen(self, look: Callable[[frozenset[int]], T]) -> T | None:
        """What a look shows that is told which children are ours. None when one of ours was being started at any moment of it, so that its
        number may have been missing. The order of the reads matters: the event loop's thread may go on between any two of them."""
        starts = self.starts
        if self.under_way:
            return None
        own = frozenset(self.own)
        found = look(own)
        return None if self.under_way or starts != self.starts else found


_account = _Account()


@contextmanager
def starting() -> Iterator[set[int]]:
    """Around the start of a program of ours, whose number the block adds to what it is given."""
    _account.under_way += 1
    _account.starts += 1  # second: who has read the new number must see that the start is under way
    try:
        yield _account.own
    finally:
        _account.under_way -= 1


def reaped(pid: int) -> None:
    """A program of ours has ended, and the system knows that we know."""
    _account.own.discard(pid)


def adopt(us: int, children: Children = children_of) -> bool | None:
    """From now on orphans come to us, the process `us`. Not where they do anyway, where the process is not wholly ours, or has children
    from before its program began: then nobody could tell theirs from ours. None while that cannot be told, because one of ours is being
    started: ask again. Blocks."""
    strangers = _strangers(us, children) if sys.platform == "linux" and us != _FIRST and whole_program() else (us,)
    if strangers is None:
        return None
    _account.adopting = False
    if strangers:
        return False
    try:
        import ctypes

        _account.adopting = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except (ImportError, OSError, AttributeError):
        return False
    return _account.adopting


def adopted(children: Children = children_of) -> tuple[int, ...] | None:
    """The children that we did not start, ended ones included; None when that cannot be told: one of ours is being started. Blocks."""
    return _strangers(os.getpid(), children) if _account.adopting and whole_program() else ()


def _strangers(us: int, children: Children) -> tuple[int, ...] | None:
    return _account.seen(lambda own: tuple(pid for pid in children(us) if pid not in own))


def reap() -> None:
    """Let orphans go that have ended. Blocks, but waits for nothing."""
    for pid in adopted() or () if _any_ended() else ():
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue


def _any_ended() -> bool:
    """Whether there may be something to reap."""
    try:
        return _account.adopting and os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def orphaned_groups(children: Children = children_of) -> frozenset[int] | None:
    """The process groups of orphans that run and are no command's, nor those we are in or were started from, after reaping; None when
    that cannot be told. Blocks."""
    reap()
    found = adopted(children)
    if found is None:
        return None
    known = {os.getpgrp(), os.getsid(0), group_of(os.getppid()), *(origin.group for origin in tuple(_account.commands.values()))}
    return frozenset(group for pid in found if (group := group_of(pid)) and group not in known)


def begun(origin: Origin) -> None:
    """A command runs."""
    _account.commands[origin.marker] = origin


def ending(origin: Origin) -> None:
    """A command is about to be ended: from now on orphans of unknown origin are not left for it."""
    _account.commands.pop(origin.marker, None)


def commands_run() -> bool:
    """Whether any command does."""
    return bool(_account.commands)


def known_family(origin: Origin, look: Look = family_of) -> Family:
    """`family_of` the origin, with the orphans that it brought. Those that may also be of another command that runs, because they
    are younger than both and say nothing of themselves, are left for whichever of the two ends last. Blocks."""

    def with_orphans(own: frozenset[int]) -> Family:
        others = [other.started for other in tuple(_account.commands.values()) if other.marker != origin.marker]
        return look(origin, own, min(others, default=None))

    if not _account.adopting or not whole_program():
        return look(origin, None, None)
    return _account.seen(with_orphans) or Family(look(origin, None, None).members, settled=False)
