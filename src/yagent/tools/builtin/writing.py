"""Changing files. Each change is one atomic step; answers show what changed."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, TypeVar

from yagent.records import dataclass
from yagent.tools.builtin.changes_shown import seen_or_asked, with_sign
from yagent.tools.builtin.places import label, locate, may_look, remarks
from yagent.tools.parameters import Describe
from yagent.tools.spec import AnySpec, CallContext, Effect, Execute, Output, Precheck, Preview, Spec
from yagent.workspace import editing, files
from yagent.workspace.actions import EditPath
from yagent.workspace.files import WriteResult
from yagent.workspace.guard import GuardError
from yagent.workspace.named_path import printable

P = TypeVar("P")

_PRIORITY: Final = 30
_PATH: Final = Describe("Path, relative to the workspace.")


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Parameters of `create_file`."""

    path: Annotated[str, _PATH]
    content: Annotated[str, Describe("The whole content.")]
    overwrite: Annotated[bool, Describe("Replace an existing file that you have read whole.")] = False


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

    @property
    def meant(self) -> tuple[editing.Edit, ...]:
        """The edits as the workspace takes them."""
        return tuple(editing.Edit(each.search, each.replace, each.all) for each in self.edits)


def writing() -> tuple[AnySpec, ...]:
    """The four tools that change files."""
    return (_search_replace_in_file(), _create_file(), _rename_file(), _delete_file())


def _create_file() -> Spec[CreateFile]:
    async def execute(parameters: CreateFile, call: CallContext) -> Output:
        place, name = _new_place(parameters.path, call)
        ledger = call.scope.ledger
        written = await files.create(place, parameters.content, name=name, overwrite=parameters.overwrite, ledger=ledger)
        return _written("Created" if written.created else "Replaced", written, call)

    async def precheck(parameters: CreateFile, call: CallContext) -> None:
        if may_look(call, parameters.path):
            place, name = _new_place(parameters.path, call)
            await files.planned_creation(place, parameters.content, name=name, overwrite=parameters.overwrite, ledger=call.scope.ledger)

    async def preview(parameters: CreateFile, call: CallContext) -> str:
        async def plan() -> str:
            place, name = _place(parameters.path, call)
            overwrite, ledger = parameters.overwrite, call.scope.ledger
            change = await files.planned_creation(place, parameters.content, name=name, overwrite=overwrite, ledger=ledger)
            return _headed(change.text, printable(name)) or "An empty file."

        return await seen_or_asked(plan, lambda: with_sign("+", parameters.content), call, parameters.path)

    def actions(parameters: CreateFile) -> tuple[EditPath, ...]:
        return (EditPath(parameters.path, "replace" if parameters.overwrite else "create"),)

    return _changing("create_file", CreateFile, execute, actions, precheck=precheck, preview=preview)


def _search_replace_in_file() -> Spec[SearchReplace]:
    async def execute(parameters: SearchReplace, call: CallContext) -> Output:
        place, name = _place(parameters.path, call)
        written = await editing.edit(place, parameters.meant, name=name, ledger=call.scope.ledger)
        return _written("Changed", written, call)

    async def precheck(parameters: SearchReplace, call: CallContext) -> None:
        if may_look(call, parameters.path):
            place, name = _place(parameters.path, call)
            await editing.planned_edit(place, parameters.meant, name=name, ledger=call.scope.ledger)

    async def preview(parameters: SearchReplace, call: CallContext) -> str:
        async def plan() -> str:
            place, name = _place(parameters.path, call)
            change = await editing.planned_edit(place, parameters.meant, name=name, ledger=call.scope.ledger)
            return _headed(change.text, printable(name))

        def asked() -> str:
            return "\n".join(f"{with_sign('-', each.search)}\n{with_sign('+', each.replace)}" for each in parameters.edits)

        return await seen_or_asked(plan, asked, call, parameters.path)

    def actions(parameters: SearchReplace) -> tuple[EditPath, ...]:
        return (EditPath(parameters.path, "edit"),)

    return _changing("search_replace_in_file", SearchReplace, execute, actions, precheck=precheck, preview=preview)


def _delete_file() -> Spec[DeleteFile]:
    async def execute(parameters: DeleteFile, call: CallContext) -> Output:
        place, name = _place(parameters.path, call, follow_last=False)
        await files.delete(place, name=name, ledger=call.scope.ledger)
        return Output(f"Deleted {printable(name)}.", summary="deleted", paths=(name,), changed=(name,))

    async def precheck(parameters: DeleteFile, call: CallContext) -> None:
        if may_look(call, parameters.path):
            place, name = _place(parameters.path, call, follow_last=False)
            await files.planned_deletion(place, name=name)

    async def preview(parameters: DeleteFile, call: CallContext) -> str:
        async def plan() -> str:
            place, name = _place(parameters.path, call, follow_last=False)
            return f"Deletes {printable(name)}: {await files.planned_deletion(place, name=name)}."

        return await seen_or_asked(plan, lambda: f"Deletes {printable(parameters.path)}.", call, parameters.path)

    def actions(parameters: DeleteFile) -> tuple[EditPath, ...]:
        return (EditPath(parameters.path, "delete"),)

    return _changing("delete_file", DeleteFile, execute, actions, precheck=precheck, preview=preview)


def _rename_file() -> Spec[RenameFile]:
    async def execute(parameters: RenameFile, call: CallContext) -> Output:
        (source, target), names = _both(parameters, call)
        await files.rename(source, target, names=names, ledger=call.scope.ledger)
        return Output(
            f"Renamed {printable(names[0])} to {printable(names[1])}.", summary="renamed", paths=names, changed=names, made=names[1:]
        )

    async def precheck(parameters: RenameFile, call: CallContext) -> None:
        if may_look(call, parameters.source, parameters.target):
            (source, target), names = _both(parameters, call)
            await files.check_rename(source, target, names=names)

    async def preview(parameters: RenameFile, call: CallContext) -> str:
        _, names = _both(parameters, call)
        return f"Renames {printable(names[0])}\nto      {printable(names[1])}"

    def actions(parameters: RenameFile) -> tuple[EditPath, ...]:
        return (EditPath(parameters.source, "rename"), EditPath(parameters.target, "create"))

    return _changing("rename_file", RenameFile, execute, actions, precheck=precheck, preview=preview)


def _changing(
    name: str,
    parameters: type[P],
    execute: Execute[P],
    actions: Callable[[P], tuple[EditPath, ...]],
    *,
    precheck: Precheck[P],
    preview: Preview[P],
) -> Spec[P]:
    """What the four tools have in common."""
    return Spec(
        name,
        Effect.FS_WRITE,
        parameters,
        execute,
        actions=actions,
        precheck=precheck,
        preview=preview,
        mutates=True,
        priority=_PRIORITY,
    )


def _place(path: str, call: CallContext, *, follow_last: bool = True) -> tuple[Path, str]:
    """Where a path leads, and what it is called in answers."""
    place = locate(path, call, follow_last=follow_last).resolved
    return place, label(place, call.scope)


def _new_place(path: str, call: CallContext, *, follow_last: bool = True, is_directory: bool = False) -> tuple[Path, str]:
    """The place of what may not be there yet. Raises GuardError where its name lost characters on the way here, or is not a file's."""
    place, name = _place(path, call, follow_last=follow_last)
    if path.endswith(("/", "/.")) and not is_directory:
        raise GuardError(f"{printable(path)} names a directory: nothing was done; give the name of the file as well")
    if any("\ufffd" in part.name and not os.path.lexists(part) for part in (place, *place.parents)):
        raise GuardError(f"{name}: holds U+FFFD, which stands for a character that was lost on the way; nothing was done, write it whole")
    return place, name


def _both(parameters: RenameFile, call: CallContext) -> tuple[tuple[Path, Path], tuple[str, str]]:
    """The places of a renaming, and what they are called in answers."""
    source, source_name = _place(parameters.source, call, follow_last=False)
    target, target_name = _new_place(parameters.target, call, follow_last=False, is_directory=source.is_dir())
    return (source, target), (source_name, target_name)


def _written(verb: str, written: WriteResult, call: CallContext) -> Output:
    """What a write came to. A new file is not shown again: the model has just written it."""
    name = label(written.path, call.scope)
    change = f"+{written.added} -{written.removed}"
    diff = _headed(written.diff, printable(name))
    shown = [] if written.created or not diff else [diff]
    text = "\n".join([f"{verb} {printable(name)} ({change} lines).", *remarks(written.notes), *shown])
    return Output(text, summary=change, diff=diff, paths=(name,), changed=(name,), made=(name,) if written.created else ())


def _headed(diff: str, name: str) -> str:
    """The diff under the name by which the file is known here, its directory included."""
    old, new, *rest = diff.split("\n", 2) if diff.startswith("--- ") else ("", "")
    if not rest:
        return diff
    return "\n".join([old if old == "--- /dev/null" else f"--- a/{name}", new if new == "+++ /dev/null" else f"+++ b/{name}", *rest])
