"""Changing files. Each change is one atomic step; answers show what changed."""

from typing import Annotated, Final

from yagent.records import dataclass
from yagent.tools.builtin.places import label, locate, remarks
from yagent.tools.parameters import Describe
from yagent.tools.spec import AnySpec, CallContext, Effect, Output, Spec
from yagent.workspace import editing, files
from yagent.workspace.actions import EditPath
from yagent.workspace.files import WriteResult

_PRIORITY: Final = 30
_PATH: Final = Describe("Path, relative to the workspace.")


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Parameters of `create_file`."""

    path: Annotated[str, _PATH]
    content: Annotated[str, Describe("The whole content.")]
    overwrite: Annotated[bool, Describe("Replace an existing file that you have read.")] = False


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Parameters of `delete_file`."""

    path: Annotated[str, _PATH]


@dataclass(frozen=True, slots=True)
class RenameFile:
    """Parameters of `rename_file`."""

    source: Annotated[str, Describe("Present path.")]
    target: Annotated[str, Describe("New path, name included.")]


@dataclass(frozen=True, slots=True)
class EditParameter:
    """One edit of `search_replace_in_file`."""

    search: Annotated[str, Describe("Exact text to find, without line numbers; may span lines.")]
    replace: Annotated[str, Describe("Text to put in its place.")]
    all: Annotated[bool, Describe("Replace every occurrence.")] = False


@dataclass(frozen=True, slots=True)
class SearchReplace:
    """Parameters of `search_replace_in_file`."""

    path: Annotated[str, _PATH]
    edits: Annotated[tuple[EditParameter, ...], Describe("Edits, applied in order.", minimum=1)]


def writing() -> tuple[AnySpec, ...]:
    """The four tools that change files."""
    return (_search_replace_in_file(), _create_file(), _rename_file(), _delete_file())


def _create_file() -> Spec[CreateFile]:
    async def execute(parameters: CreateFile, call: CallContext) -> Output:
        place = locate(parameters.path, call).resolved
        written = await files.create(place, parameters.content, overwrite=parameters.overwrite, ledger=call.scope.ledger)
        return _written("Created" if written.created else "Replaced", written, call)

    def actions(parameters: CreateFile) -> tuple[EditPath, ...]:
        return (EditPath(parameters.path, "edit" if parameters.overwrite else "create"),)

    return Spec("create_file", Effect.FS_WRITE, CreateFile, execute, actions=actions, mutates=True, priority=_PRIORITY)


def _search_replace_in_file() -> Spec[SearchReplace]:
    async def execute(parameters: SearchReplace, call: CallContext) -> Output:
        edits = [editing.Edit(each.search, each.replace, each.all) for each in parameters.edits]
        written = await editing.edit(locate(parameters.path, call).resolved, edits, ledger=call.scope.ledger)
        return _written("Changed", written, call)

    def actions(parameters: SearchReplace) -> tuple[EditPath, ...]:
        return (EditPath(parameters.path, "edit"),)

    return Spec("search_replace_in_file", Effect.FS_WRITE, SearchReplace, execute, actions=actions, mutates=True, priority=_PRIORITY)


def _delete_file() -> Spec[DeleteFile]:
    async def execute(parameters: DeleteFile, call: CallContext) -> Output:
        place = locate(parameters.path, call, follow_last=False).resolved
        await files.delete(place, ledger=call.scope.ledger)
        name = label(place, call.scope)
        return Output(f"Deleted {name}.", summary="deleted", paths=(name,), changed=(name,))

    def actions(parameters: DeleteFile) -> tuple[EditPath, ...]:
        return (EditPath(parameters.path, "delete"),)

    return Spec("delete_file", Effect.FS_WRITE, DeleteFile, execute, actions=actions, mutates=True, priority=_PRIORITY)


def _rename_file() -> Spec[RenameFile]:
    async def execute(parameters: RenameFile, call: CallContext) -> Output:
        source = locate(parameters.source, call, follow_last=False).resolved
        target = locate(parameters.target, call, follow_last=False).resolved
        await files.rename(source, target, ledger=call.scope.ledger)
        names = (label(source, call.scope), label(target, call.scope))
        return Output(f"Renamed {names[0]} to {names[1]}.", summary="renamed", paths=names, changed=names)

    def actions(parameters: RenameFile) -> tuple[EditPath, ...]:
        return (EditPath(parameters.source, "rename"), EditPath(parameters.target, "create"))

    return Spec("rename_file", Effect.FS_WRITE, RenameFile, execute, actions=actions, mutates=True, priority=_PRIORITY)


def _written(verb: str, written: WriteResult, call: CallContext) -> Output:
    """What a write came to. A new file is not shown again: the model has just written it."""
    name = label(written.path, call.scope)
    change = f"+{written.added} -{written.removed}"
    diff = _headed(written.diff, name)
    shown = [] if written.created or not diff else [diff]
    text = "\n".join([f"{verb} {name} ({change} lines).", *remarks(written.notes), *shown])
    return Output(text, summary=change, diff=diff, paths=(name,), changed=(name,))


def _headed(diff: str, name: str) -> str:
    """The diff under the name by which the file is known here, its directory included."""
    old, new, *rest = diff.split("\n", 2) if diff.startswith("--- ") else ("", "")
    if not rest:
        return diff
    return "\n".join([old if old == "--- /dev/null" else f"--- a/{name}", new if new == "+++ /dev/null" else f"+++ b/{name}", *rest])
