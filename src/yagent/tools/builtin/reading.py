"""Looking at files. Nothing here changes anything; every answer says where it stops and how to go on."""

import json
from typing import Annotated, Final

from yagent.records import dataclass
from yagent.tools.builtin.places import WORKSPACE, label, locate, remarks
from yagent.tools.parameters import Describe
from yagent.tools.spec import AnySpec, CallContext, Effect, Output, Spec
from yagent.workspace import files, tree
from yagent.workspace.actions import ReadPath
from yagent.workspace.files import FileSlice
from yagent.workspace.reading import ascii_name, size_text
from yagent.workspace.tree import DirectoryEntry

ANSWER_BYTES: Final = 28_000  # of numbered lines, so that the answer stays whole below the general bound
_PRIORITY: Final = 20


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Parameters of `read_file`."""

    path: Annotated[str, Describe("Path, relative to the workspace.")]
    start_line: Annotated[int | None, Describe("First line, from 1.", minimum=1)] = None
    max_lines: Annotated[int | None, Describe("How many lines.", minimum=1)] = None
    end_line: Annotated[int | None, Describe("Last line.", minimum=1)] = None

    @property
    def count(self) -> int | None:
        """How many lines are wanted, None for as many as there may be."""
        if self.end_line is None:
            return self.max_lines
        within = max(1, self.end_line - (self.start_line or 1) + 1)
        return within if self.max_lines is None else min(within, self.max_lines)


@dataclass(frozen=True, slots=True)
class ListDirectory:
    """Parameters of `list_dir`."""

    path: Annotated[str, Describe("Directory.")] = WORKSPACE


@dataclass(frozen=True, slots=True)
class PrintTree:
    """Parameters of `print_dir_tree`."""

    path: Annotated[str, Describe("Directory.")] = WORKSPACE
    depth: Annotated[int, Describe("Levels to show.", minimum=1, maximum=20)] = 3


def reading() -> tuple[AnySpec, ...]:
    """The tools that look at files and directories."""
    return (_read_file(), _list_dir(), _print_dir_tree())


def _read_file() -> Spec[ReadFile]:

    async def execute(parameters: ReadFile, call: CallContext) -> Output:
        place = locate(parameters.path, call).resolved
        read = await files.read_text(place, start_line=parameters.start_line, max_lines=parameters.count, ledger=call.scope.ledger)
        return _shown(read, label(place, call.scope))

    def actions(parameters: ReadFile) -> tuple[ReadPath, ...]:
        return (ReadPath(parameters.path),)

    return Spec("read_file", Effect.FS_READ, ReadFile, execute, actions=actions, priority=_PRIORITY)


def _list_dir() -> Spec[ListDirectory]:
    async def execute(parameters: ListDirectory, call: CallContext) -> Output:
        place = locate(parameters.path, call).resolved
        listing = await tree.list_dir(place)
        lines = [_entry(entry) for entry in listing.entries] or [f"[{label(place, call.scope)} is empty]"]
        return Output("\n".join([*lines, *remarks(listing.notes)]), summary=f"{len(listing.entries)} entries")

    def actions(parameters: ListDirectory) -> tuple[ReadPath, ...]:
        return (ReadPath(parameters.path),)

    return Spec("list_dir", Effect.FS_READ, ListDirectory, execute, actions=actions)


def _print_dir_tree() -> Spec[PrintTree]:
    async def execute(parameters: PrintTree, call: CallContext) -> Output:
        place = locate(parameters.path, call).resolved
        view = await tree.print_dir_tree(place, depth=parameters.depth)
        text = view.text or f"[{label(place, call.scope)} is empty]"
        return Output("\n".join([text, *remarks(view.notes)]), summary=f"{len(view.text.splitlines())} entries")

    def actions(parameters: PrintTree) -> tuple[ReadPath, ...]:
        return (ReadPath(parameters.path, recursive=True),)

    return Spec("print_dir_tree", Effect.FS_READ, PrintTree, execute, actions=actions)


def _entry(entry: DirectoryEntry) -> str:
    """One line of a listing."""
    name = ascii_name(entry.name)
    if entry.kind == "directory":
        return f"{name}/"
    if entry.size is not None:
        return f"{name} ({size_text(entry.size)})"
    return f"{name} -> {ascii_name(entry.target)}" if entry.target is not None else f"{name} ({entry.kind})"


def _shown(read: FileSlice, name: str) -> Output:
    """Numbered lines as far as they fit, then in brackets what is worth knowing: where it stops, and remarks."""
    if not read.lines:
        return Output(f"[{name} is empty]", summary="empty", paths=(name,))
    numbered = _fitting([f"{number}\t{line}" for number, line in enumerate(read.lines, read.first_line)])
    last = read.first_line + len(numbered) - 1
    total = read.last_line if read.truncated is None else read.total_lines
    said = [*read.warnings]
    if last != total:
        of = "" if total is None else f" of {total}"
        following = json.dumps({"path": name, "start_line": last + 1}, ensure_ascii=False)
        cut = f" (cut at {ANSWER_BYTES // 1000} kB)" if len(numbered) < len(read.lines) else ""
        said.append(f"lines {read.first_line} to {last}{of} shown{cut}; to read on: read_file {following}")
    elif read.first_line > 1:
        said.append(f"end of file at line {last}")
    if read.newline in ("crlf", "cr", "mixed"):
        said.append(f"line endings: {read.newline}; edits keep them, write plain newlines")
    return Output("\n".join([*numbered, *remarks(said)]), summary=f"{len(numbered)} lines", paths=(name,))


def _fitting(lines: list[str]) -> list[str]:
    """As many lines from the start as fit, at least one."""
    room = ANSWER_BYTES
    for count, line in enumerate(lines):
        room -= len(line.encode(errors="replace")) + 1
        if room < 0 and count:
            return lines[:count]
    return lines
