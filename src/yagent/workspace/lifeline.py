"""What ends our commands when we are killed ourselves: a small shell that notices our end of a pipe closing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

from yagent.runtime.clock import Clock
from yagent.runtime.supervise import outside
from yagent.workspace.processes import Child, ProcessError, Program, start

NAME = "yagent-lifeline"  # what a list of processes calls it
_SHELL = "/bin/sh"
# Our pipe for its output is closed by the time it has work to do, so it must not write there.
# Reads "+ group" and "- group" lines, and "?" before a command starts; when they end, ends the groups still listed, and on Linux
# whatever descends from them, even with a session of its own, or carries the run's mark: a command may have begun whose group nobody
# could tell any more.
_SCRIPT = r"""
trap '' HUP INT TERM QUIT
exec >/dev/null 2>&1
groups= expected=
while read -r what group; do
  case $what in
    \?) expected=yes ;;
    +) groups="$groups $group" ;;
    -) rest=
       for one in $groups; do [ "$one" = "$group" ] || rest="$rest $one"; done
       groups=$rest ;;
  esac
done
[ -n "$groups$expected" ] || exit 0
table() {
  for file in /proc/[0-9]*/stat; do
    read -r line <"$file" || continue
    set -- ${line##*) }
    echo "${line%% *} $2 $3"
  done
}
below=" "
descend() {
  all=$(table) more=yes
  while [ -n "$more" ]; do
    more=
    while read -r one parent group; do
      [ -n "$group" ] || continue
      case $below in *" $one "*) continue ;; esac
      case "$groups $below" in *" $group "*|*" $parent "*) below="$below$one "; more=yes ;; esac
    done <<END
$all
END
  done
}
end() {
  descend
  for one in $groups; do kill "-$1" "-$one"; done
  for one in $below; do kill "-$1" "$one"; done
  for file in $(grep -laF "$mark" /proc/[0-9]*/environ); do
    number=${file#/proc/}
    kill "-$1" "${number%/environ}"
  done
}
end TERM
sleep 1
end KILL
"""


class Lifeline:
    """Knows the process groups that must not outlive this program, even when it is killed without warning.

    Without a shell on this system there is none, and `expect` and `add` do nothing.
    """

    def __init__(self, mark: str, directory: Path, clock: Clock) -> None:
        self._mark = mark
        self._directory = directory
        self._clock = clock
        self._watcher: Child | None = None
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            with outside("the end of the lifeline"):
                await watcher.end(self._clock)

    async def expect(self) -> None:
        """A command is about to start. It is ended if we die from now on, be it before `add` could say what its group is."""
        async with self._starting:
            if self._watcher is None:
                script = f"mark={self._mark}{_SCRIPT}"
                program = Program((_SHELL, "-c", script, NAME), self._directory, {"PATH": "/usr/bin:/bin"})
                try:
                    self._watcher = await start(program, output=lambda _: None, with_input=True)
                except ProcessError:
                    return
        self._watcher.write(b"?\n")

    def add(self, group: int) -> None:
        """End this group if we die."""
        if self._watcher is not None:
            self._watcher.write(f"+ {group}\n".encode())

    def remove(self, group: int) -> None:
        """This group has ended."""
        if self._watcher is not None:
            self._watcher.write(f"- {group}\n".encode())
