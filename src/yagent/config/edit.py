"""Edits of the config file as values. A text is never written out anew: only the lines of the edited entry change (B-94).

`document` finds the lines, `tomlkit` writes the value in them, `tomllib` proves that the result says exactly what was asked for.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from yagent.config.document import Expression, expressions, show_path, split_lines
from yagent.config.load import parse, read_text
from yagent.config.problems import ConfigError, EditRefused
from yagent.records import dataclass
from yagent.runtime.atomic import locked, make_private_directory, write_bytes
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import in_thread

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
TEMPLATE: Final = Path(__file__).with_name("template.toml")

Name = tuple[str, ...]
Scalar = str | bool | int | float


@dataclass(frozen=True, slots=True)
class SetKey:
    """Give `key` of the table `section` (() is the top level) this value; missing entries and tables are made."""

    section: Name
    key: str
    value: Scalar | Sequence[Scalar]


@dataclass(frozen=True, slots=True)
class AppendItem:
    """Add one item to the end of a list, which is made when it is missing; nothing happens when the item is in it."""

    section: Name
    key: str
    item: Scalar


@dataclass(frozen=True, slots=True)
class RemoveKey:
    """Take out one entry; nothing happens when it is missing."""

    section: Name
    key: str


@dataclass(frozen=True, slots=True)
class RemoveSection:
    """Take out a table with all that is in it; nothing happens when it is missing."""

    section: Name


Edit = SetKey | AppendItem | RemoveKey | RemoveSection


def apply(text: str, edits: Sequence[Edit]) -> str:
    """`text` with the edits made, in order.

    Raises:
        EditRefused: the text is written in a way in which an edit cannot be made without changing more than asked.
    """
    for edit in edits:
        text = _verified(text, edit)
    return text


async def write(path: Path, edits: Sequence[Edit], *, clock: Clock) -> bool:
    """Make the edits in the file, under its lock and all at once; whether anything changed.

    A missing file starts as the packaged template, with mode 0600. A symlink stays one.

    Raises:
        ConfigError: the file cannot be read, is not TOML (it is left as it is), or cannot be written.
        EditRefused: as for `apply`; the file is left as it is.
    """
    try:
        if not path.parent.exists():
            await in_thread(make_private_directory, path.parent)
        async with locked(path, clock=clock):
            return await in_thread(_rewrite, path, edits)
    except OSError as error:
        raise ConfigError(
            f"The configuration file cannot be written: {error.strerror or error}.",
            where=f"File: {path}",
            fix="Make the file and its directory writable, or set YAGENT_HOME to a directory that is.",
        ) from error


def _rewrite(path: Path, edits: Sequence[Edit]) -> bool:
    if path.exists():
        old = read_text(path)  # says what is in the way of reading it
        data = path.read_bytes()
    else:
        data = b""
        old = TEMPLATE.read_text(encoding="utf-8")
    parse(old, path)
    new = apply(old, edits)
    if new == old and data:
        return False
    mark = BYTE_ORDER_MARK if data.startswith(BYTE_ORDER_MARK) else b""
    write_bytes(path, mark + new.encode("utf-8"))
    return True


def _verified(text: str, edit: Edit) -> str:
    import tomllib

    wanted = tomllib.loads(text)
    _change(wanted, edit)
    if _canonical(wanted) == _canonical(tomllib.loads(text)):
        return text
    lines = split_lines(text)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += _newline(lines)
    try:
        changed = "".join(_changed(lines, edit, wanted))
        changed.encode("utf-8")
        result = tomllib.loads(changed)
    except (tomllib.TOMLDecodeError, UnicodeEncodeError):
        _refuse(edit)
    if _canonical(result) != _canonical(wanted):
        _refuse(edit)
    return changed


def _change(document: dict[str, Any], edit: Edit) -> None:
    """Make the edit in the plain document: what the edited text must parse to."""
    parent = document
    parts = edit.section[:-1] if isinstance(edit, RemoveSection) else edit.section
    for name in parts:
        parent = parent.setdefault(name, {})
        if not isinstance(parent, dict):
            _refuse(edit)
    match edit:
        case SetKey(_, key, value):
            if isinstance(parent.get(key), dict):
                _refuse(edit)
            parent[key] = value if isinstance(value, Scalar) else list(value)
        case AppendItem(_, key, item):
            items = parent.setdefault(key, [])
            if not isinstance(items, list):
                _refuse(edit)
            if item not in items:
                items.append(item)
        case RemoveKey(_, key):
            parent.pop(key, None)
        case RemoveSection(section):
            parent.pop(section[-1], None)


def _changed(lines: list[str], edit: Edit, wanted: dict[str, Any]) -> list[str]:
    found = list(expressions(lines))
    if isinstance(edit, RemoveKey):
        return _without_key(lines, found, (*edit.section, edit.key))
    if isinstance(edit, RemoveSection):
        return _without_section(lines, found, edit.section)
    path = (*edit.section, edit.key)
    value = wanted
    for name in path:
        value = value[name]
    holder = _holder(found, path)
    if holder is not None:
        return _rewritten(lines, holder, lambda fragment: _assign(fragment, path[len(holder.table) :], value))
    return _inserted(lines, found, edit.section, _assignment(edit.key, value))


def _holder(found: Sequence[Expression], path: Name) -> Expression | None:
    """The assignment that sets `path`, or the inline table around it."""
    return next((each for each in found if not each.is_header and each.path == path[: len(each.path)]), None)


def _rewritten(lines: list[str], holder: Expression, change: Callable[[Any], None]) -> list[str]:
    """The lines with one expression changed by tomlkit, which keeps its blanks and comment and sees nothing else of the file."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    fragment = tomlkit.parse("".join(lines[holder.start : holder.end]))
    try:
        change(fragment)
    except (TOMLKitError, TypeError, KeyError) as error:
        raise EditRefused(
            f"{show_path(holder.path)} is written in a way that cannot be edited here: {error}.",
            where=f"Line {holder.start + 1} of the configuration file",
            fix="Change that line by hand.",
        ) from error
    return [*lines[: holder.start], tomlkit.dumps(fragment), *lines[holder.end :]]


def _assign(fragment: Any, path: Name, value: Any) -> None:
    import tomlkit

    node = fragment
    for name in path[:-1]:
        if name not in node:
            node[name] = tomlkit.inline_table()
        node = node[name]
    old = node.get(path[-1])
    if isinstance(old, list) and isinstance(value, list) and value[: len(old)] == old:
        for item in value[len(old) :]:
            old.append(item)
    else:
        node[path[-1]] = value


def _delete(fragment: Any, path: Name) -> None:
    node = fragment
    for name in path[:-1]:
        node = node[name]
    del node[path[-1]]


def _assignment(key: str, value: Any) -> str:
    import tomlkit

    return f"{show_path((key,))} = {tomlkit.item(value).as_string()}"


def _inserted(lines: list[str], found: Sequence[Expression], section: Name, assignment: str) -> list[str]:
    """The lines with a new assignment at the end of its table, dotted like its siblings, or in a new table at the end of the file."""
    newline = _newline(lines)
    own = [each for each in found if each.table == section and not each.is_array]
    if own and section:
        return _after(lines, own[-1], assignment + newline)
    dotted = [each for each in found if not each.is_header and each.path[: len(section)] == section and len(each.table) < len(section)]
    if dotted:
        prefix = show_path(section[len(dotted[-1].table) :])
        return _after(lines, dotted[-1], f"{prefix}.{assignment}{newline}")
    if section:
        gap = [newline] if lines and lines[-1].strip() else []
        return [*lines, *gap, f"[{show_path(section)}]{newline}", assignment + newline]
    if own:
        return _after(lines, own[-1], assignment + newline)
    first = next((each.start for each in found), len(lines))
    while first > 0 and first < len(lines) and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return [*lines[:first], assignment + newline, *([newline] if first < len(lines) else []), *lines[first:]]


def _after(lines: list[str], sibling: Expression, line: str) -> list[str]:
    first = lines[sibling.start]
    indent = "" if sibling.is_header else first[: len(first) - len(first.lstrip(" \t"))]
    return [*lines[: sibling.end], indent + line, *lines[sibling.end :]]


def _without_key(lines: list[str], found: Sequence[Expression], path: Name) -> list[str]:
    holder = _holder(found, path)
    if holder is None:
        return _without_section(lines, found, path)
    if holder.path == path:
        return [*lines[: holder.start], *lines[holder.end :]]
    return _rewritten(lines, holder, lambda fragment: _delete(fragment, path[len(holder.table) :]))


def _without_section(lines: list[str], found: Sequence[Expression], section: Name) -> list[str]:
    """The lines without the table: from its header to its last entry. Comments after that belong to what follows and stay."""
    holder = _holder(found, section)
    if holder is not None:
        return _without_key(lines, found, section)
    gone: set[int] = set()
    opened: int | None = None
    for each in found:
        inside = each.path[: len(section)] == section
        if each.is_header:
            opened = each.start if inside else None
        if inside:
            gone.update(range(each.start if opened is None else opened, each.end))
    return [line for number, line in enumerate(lines) if number not in gone]


def _newline(lines: Sequence[str]) -> str:
    return "\r\n" if lines and lines[0].endswith("\r\n") else "\n"


def _canonical(value: Any) -> Any:
    """A form in which 1, 1.0 and true differ, every nan is the same, and an empty table is as good as none."""
    if isinstance(value, dict):
        inner = {name: _canonical(each) for name, each in value.items()}
        return {name: each for name, each in inner.items() if each != {}}
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    return type(value).__name__, repr(value)


def _refuse(edit: Edit) -> NoReturn:
    path = edit.section if isinstance(edit, RemoveSection) else (*edit.section, edit.key)
    raise EditRefused(
        f"{show_path(path)} cannot be changed without changing something else in the configuration file.",
        where=f"Entry: {show_path(path)}",
        fix="Change it by hand in an editor; the file is as it was.",
    )
