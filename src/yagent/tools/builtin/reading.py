"""Looking at files. Nothing here changes anything; every answer says where it stops and how to go on."""

import json
from typing import Annotated, Final

from yagent.records import dataclass
from yagent.tools.builtin.places import WORKSPACE, counted, label, locate, remarks
from yagent.tools.parameters import Describe
from yagent.tools.spec import AnySpec, CallContext, Effect, Output, Spec
from yagent.workspace import files, tree
from yagent.workspace.actions import ReadPath
from yagent.workspace.files import FileSlice, Wanted
from yagent.workspace.named_path import printable
from yagent.workspace.reading import size_text
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
    def wanted(self) -> Wanted:
        """The lines that are meant: the smaller of two ways to say how many wins."""
        if self.end_line is None:
            return Wanted(self.start_line, self.max_lines, ANSWER_BYTES)
        within = max(1, self.end_line - (self.start_line or 1) + 1)
        return Wanted(self.start_line, within if self.max_lines is None else min(within, self.max_lines), ANSWER_BYTES)

    @property
    def conflict(self) -> str:
        """Which of two limits was not followed, "" when at most one was given."""
        if self.end_line is None or self.max_lines is None or self.wanted.first + self.max_lines - 1 == self.end_line:
            return ""
        followed = "max_lines" if self.wanted.lines == self.max_lines else "end_line"
        return f"max_lines and end_line do not agree; the smaller was taken: {followed}"


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
        name = label(place, call.scope)
        read = await files.read_text(place, parameters.wanted, name=name, ledger=call.scope.ledger)
        return _shown(read, name, parameters.conflict)

    def actions(parameters: ReadFile) -> tuple[ReadPath, ...]:
        return (ReadPath(parameters.path),)

    return Spec("read_file", Effect.FS_READ, ReadFile, execute, actions=actions, priority=_PRIORITY)


def _list_dir() -> Spec[ListDirectory]:
    async def execute(parameters: ListDirectory, call: CallContext) -> Output:
        place = locate(parameters.path, call).resolved
        listing = await tree.list_dir(place, name=label(place, call.scope))
        lines = [_entry(entry) for entry in listing.entries] or [f"[{printable(label(place, call.scope))} is empty]"]
        return Output("\n".join([*lines, *remarks(listing.notes)]), summary=counted(len(listing.entries), "entry", "entries"))

    def actions(parameters: ListDirectory) -> tuple[ReadPath, ...]:
        return (ReadPath(parameters.path),)

    return Spec("list_dir", Effect.FS_READ, ListDirectory, execute, actions=actions)


def _print_dir_tree() -> Spec[PrintTree]:
    async def execute(parameters: PrintTree, call: CallContext) -> Output:
        place = locate(parameters.path, call).resolved
        view = await tree.print_dir_tree(place, name=label(place, call.scope), depth=parameters.depth)
        text = view.text or f"[{printable(label(place, call.scope))} is empty]"
        return Output("\n".join([text, *remarks(view.notes)]), summary=counted(len(view.text.splitlines()), "entry", "entries"))

    def actions(parameters: PrintTree) -> tuple[ReadPath, ...]:
        return (ReadPath(parameters.path, recursive=True),)

    return Spec("print_dir_tree", Effect.FS_READ, PrintTree, execute, actions=actions)


def _entry(entry: DirectoryEntry) -> str:
    """One line of a listing."""
    name = printable(entry.name)
    if entry.kind == "directory":
        return f"{name}/"
    if entry.size is not None:
        return f"{name} ({size_text(entry.size)})"
    return f"{name} -> {printable(entry.target)}" if entry.target is not None else f"{name} ({entry.kind})"


def _shown(read: FileSlice, name: str, conflict: str) -> Output:
    """Numbered lines as far as they fit, then in brackets what is worth knowing: where it stops, and remarks."""
    if not read.lines:
        return Output(f"[{printable(name)} is empty]", summary="empty", paths=(name,))
    numbered = [f"{number}\t{line}" for number, line in enumerate(read.lines, read.first_line)]
    said = [*read.warnings, *([conflict] if conflict else [])]
    if read.truncated is not None:
        of = "" if read.total_lines is None else f" of {read.total_lines}"
        following = json.dumps({"path": name, "start_line": read.last_line + 1}, ensure_ascii=False)
        cut = f" (cut at {ANSWER_BYTES // 1000} kB)" if read.cut else ""
        said.append(f"lines {read.first_line} to {read.last_line}{of} shown{cut}; to read on: read_file {following}")
    elif read.first_line > 1:
        said.append(f"end of file at line {read.last_line}")
    if read.newline in ("crlf", "cr", "mixed"):
        said.append(f"line endings: {read.newline}; edits keep them, write plain newlines")
    return Output("\n".join([*numbered, *remarks(said)]), summary=counted(len(numbered), "line", "lines"), paths=(name,))
