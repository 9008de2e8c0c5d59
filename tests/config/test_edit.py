"""Edits change the lines they are about and no other, or nothing at all."""

import difflib
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.virtual_time import VirtualClock
from yagent.config.document import expressions, show_path, split_lines
from yagent.config.edit import AppendItem, Edit, RemoveKey, RemoveSection, SetKey, apply, write
from yagent.config.load import decode_raw
from yagent.config.problems import ConfigError, EditRefused
from yagent.config.provider_edits import delete_provider, provider_refs, write_provider
from yagent.runtime.atomic import locked

BY_HAND = """\
# my settings
task_timeout   =   "0"     # no limit

[agents.llm]   # who uses what
coding.use_provider = "work"   # strong
repo = { use_provider = "local", note = 1 }

# the providers come next
[global.llm.providers.work]
  model = "big"
  api_key = "k"   # secret

[permissions]
deny = [
  "shell(rm *)",   # never
  # and this
  "read(**/*.pem)",
]

[unknown.future]
key = 1
"""


def changed_lines(old: str, new: str) -> tuple[list[str], list[str]]:
    diff = list(difflib.ndiff(old.splitlines(keepends=True), new.splitlines(keepends=True)))
    return [line[2:] for line in diff if line.startswith("- ")], [line[2:] for line in diff if line.startswith("+ ")]


@pytest.mark.parametrize(
    ("edit", "removed", "added"),
    [
        (SetKey((), "task_timeout", "1h"), ['task_timeout   =   "0"     # no limit\n'], ['task_timeout   =   "1h"     # no limit\n']),
        (
            SetKey(("agents", "llm", "coding"), "use_provider", "b"),
            ['coding.use_provider = "work"   # strong\n'],
            ['coding.use_provider = "b"   # strong\n'],
        ),
        (
            SetKey(("agents", "llm", "repo"), "use_provider", "b"),
            ['repo = { use_provider = "local", note = 1 }\n'],
            ['repo = { use_provider = "b", note = 1 }\n'],
        ),
        (SetKey(("global", "llm", "providers", "work"), "model", "m"), ['  model = "big"\n'], ['  model = "m"\n']),
        (SetKey(("global", "llm", "providers", "work"), "max_tokens", 5), [], ["  max_tokens = 5\n"]),
        (SetKey(("agents", "llm"), "use_provider", "b"), [], ['use_provider = "b"\n']),
        (SetKey(("agents", "llm", "coding"), "x", 1), [], ["coding.x = 1\n"]),
        (SetKey((), "new", 1.5), [], ["new = 1.5\n"]),
        (SetKey(("agent",), "lang", "fr"), [], ["\n", "[agent]\n", 'lang = "fr"\n']),
        (SetKey(("a b", 'c"d'), "e.f", "g"), [], ["\n", '["a b"."c\\"d"]\n', '"e.f" = "g"\n']),
        (AppendItem(("permissions",), "deny", "edit(x)"), [], ['  "edit(x)",\n']),
        (AppendItem(("permissions",), "deny", "shell(rm *)"), [], []),
        (AppendItem(("permissions",), "allow", "edit(x)"), [], ['allow = ["edit(x)"]\n']),
        (RemoveKey(("global", "llm", "providers", "work"), "api_key"), ['  api_key = "k"   # secret\n'], []),
        (RemoveKey(("agents", "llm", "coding"), "use_provider"), ['coding.use_provider = "work"   # strong\n'], []),
        (RemoveKey(("nowhere",), "x"), [], []),
        (RemoveSection(("unknown",)), ["[unknown.future]\n", "key = 1\n"], []),
        (RemoveSection(("agents", "llm", "repo")), ['repo = { use_provider = "local", note = 1 }\n'], []),
        (RemoveSection(("agents", "llm", "coding")), ['coding.use_provider = "work"   # strong\n'], []),
        (
            RemoveSection(("global",)),
            ["[global.llm.providers.work]\n", '  model = "big"\n', '  api_key = "k"   # secret\n'],
            [],
        ),
        (RemoveSection(("nowhere",)), [], []),
    ],
    ids=str,
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_an_edit_touches_only_its_own_lines(edit: Edit, removed: list[str], added: list[str], newline: str) -> None:
    old = BY_HAND.replace("\n", newline)
    gone, new = changed_lines(old, apply(old, [edit]))
    assert gone == [line.replace("\n", newline) for line in removed]
    assert new == [line.replace("\n", newline) for line in added]


def test_a_new_key_does_not_come_under_the_comment_of_the_next_table() -> None:
    text = apply("[a]\nx = 1\n\n# about b\n[b]\ny = 2\n", [SetKey(("a",), "z", 3)])
    assert text == "[a]\nx = 1\nz = 3\n\n# about b\n[b]\ny = 2\n"


def test_tables_that_others_split_are_edited_where_they_are() -> None:
    text = "[a]\nx = 1\n[b]\ny = 1\n[a.c]\nz = 1\n"
    assert apply(text, [SetKey(("a", "c"), "z", 2), SetKey(("a",), "w", 3)]) == "[a]\nx = 1\nw = 3\n[b]\ny = 1\n[a.c]\nz = 2\n"


def test_a_file_without_a_last_line_end_gets_its_new_table_on_a_line_of_its_own() -> None:
    assert apply("[a]\nx = 1", [SetKey(("b",), "y", 2)]) == "[a]\nx = 1\n\n[b]\ny = 2\n"
    assert apply("", [SetKey(("b",), "y", 2)]) == "[b]\ny = 2\n"
    assert apply("# only\n", [SetKey((), "y", 2)]) == "# only\ny = 2\n"


def test_a_multi_line_text_is_replaced_whole() -> None:
    assert apply('[a]\nx = """\n[b]\ny = 1\n"""  # c\nz = 1\n', [SetKey(("a",), "x", "n")]) == '[a]\nx = "n"  # c\nz = 1\n'


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("[[a]]\nx = 1\n", SetKey(("a",), "x", 2)),
        ("[a]\nb = 1\n", SetKey(("a", "b"), "x", 2)),
        ("[a.b]\nx = 1\n", SetKey(("a",), "b", 2)),
        ("[a]\nb = 1\n", AppendItem(("a",), "b", "x")),
        ("", SetKey(("a",), "b", "\ud800")),
    ],
)
def test_what_cannot_be_done_to_the_point_is_refused(text: str, edit: Edit) -> None:
    with pytest.raises(EditRefused):
        apply(text, [edit])


NAMES = st.text(min_size=1, max_size=6, alphabet=st.sampled_from("ab.-_ \"'\\]#=é[\t"))
TEXTS = st.text(max_size=12, alphabet=st.one_of(st.sampled_from("\"'\\#\n\r\t]=[ \x00\x7f"), st.characters(exclude_categories=["Cs"])))
SCALARS = st.one_of(TEXTS, st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False))
VALUES = st.one_of(SCALARS, st.lists(TEXTS, max_size=3))
COMMENTS = st.sampled_from(["", "  # note", "\t# x = 1 ]", " # \"quote'"])


WRITTEN = ["1", '"t"', "'#'", "true", "1.5", "1979-05-27", '["a", "b"]', '[\n  "a", # one\n  "b",\n]', '"""\nx = 1\n"""']


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Texts as people write them: tables, dotted keys, comments, blank lines, several forms of value."""
    lines: list[str] = []
    for name in ["", *draw(st.lists(NAMES, unique=True, max_size=3))]:
        if name:
            lines.append(f"[{show_path((name,))}]{draw(COMMENTS)}")
        for key in draw(st.lists(NAMES, unique=True, max_size=3)):
            form = draw(st.sampled_from(["plain", "dotted", "inline", "multi"]))
            value = draw(st.sampled_from(WRITTEN))
            written = show_path((f"{form}{key}",))
            lines.append(
                {
                    "plain": f"{written} = {value}{draw(COMMENTS)}",
                    "dotted": f"{written}.k . j = {value}{draw(COMMENTS)}",
                    "inline": f"{written} = {{ k = 1, l = 'x' }}{draw(COMMENTS)}",
                    "multi": f"  {written}   =   [\n  1,\n  # two\n  2 ]{draw(COMMENTS)}",
                }[form]
            )
        lines.append(draw(st.sampled_from(["", "# a comment", "\n# above\n"])))
    return draw(st.sampled_from(["\n", "\r\n"])).join("\n".join(lines).split("\n"))


def paths_in(document: dict[str, Any], before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    return [
        path
        for name, value in document.items()
        for path in ([(*before, name), *paths_in(value, (*before, name))] if isinstance(value, dict) else [(*before, name)])
    ]


@given(st.data())
def test_whatever_is_written_is_read_back_and_nothing_else_changes(data: st.DataObject) -> None:
    text = data.draw(documents())
    old = tomllib.loads(text)
    known = [path for path in paths_in(old) if not isinstance(value_at(old, path), dict)]
    new_path = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
    path = data.draw(st.one_of(st.sampled_from(known), new_path) if known else new_path)
    value = data.draw(VALUES)
    try:
        result = apply(text, [SetKey(path[:-1], path[-1], value)])
    except EditRefused:
        assert is_blocked(old, path)
        return
    assert tomllib.loads(result) == with_value(tomllib.loads(text), path, value)
    if result == text:  # it had this value already
        return
    entry = next((each for each in expressions(split_lines(text)) if not each.is_header and each.path == path[: len(each.path)]), None)
    lines = split_lines(text)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\r\n" if lines[0].endswith("\r\n") else "\n"
    if entry is None:
        assert changed_lines("".join(lines), result)[0] == []
    else:
        assert result.startswith("".join(lines[: entry.start]))
        assert result.endswith("".join(lines[entry.end :]))
    undone = apply(result, [RemoveKey(path[:-1], path[-1])])
    assert path not in paths_in(tomllib.loads(undone))


def value_at(document: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        document = document[name]
    return document


def with_value(document: dict[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    node = document
    for name in path[:-1]:
        node = node.setdefault(name, {})
    node[path[-1]] = value
    return document


def is_blocked(document: dict[str, Any], path: tuple[str, ...]) -> bool:
    """Whether `path` is a table, or goes through something that is none."""
    node: Any = document
    for name in path:
        if not isinstance(node, dict):
            return True
        if name not in node:
            return False
        node = node[name]
    return isinstance(node, dict)


# --- the file


def config_file(tmp_path: Path, data: str | bytes = BY_HAND) -> Path:
    path = tmp_path / "config.toml"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


async def test_a_missing_file_starts_as_the_template_and_is_private(tmp_path: Path, clock: VirtualClock) -> None:
    old = os.umask(0)
    try:
        path = tmp_path / "home" / "config" / "config.toml"
        assert await write(path, [SetKey(("agent",), "lang", "French")], clock=clock)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert decode_raw(path) == {"agent": {"lang": "French"}}
    assert "# max_retries = 5" in path.read_text()


async def test_a_symlink_stays_one_and_a_mark_and_mode_are_kept(tmp_path: Path, clock: VirtualClock) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_bytes(b"\xef\xbb\xbf[agent]\r\nlang = 'x'\r\n")
    target.chmod(0o640)
    link = tmp_path / "config.toml"
    link.symlink_to(target)
    await write(link, [SetKey(("agent",), "lang", "French")], clock=clock)
    assert link.is_symlink()
    assert target.read_bytes() == b'\xef\xbb\xbf[agent]\r\nlang = "French"\r\n'
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


async def test_nothing_to_change_writes_nothing(tmp_path: Path, clock: VirtualClock) -> None:
    path = config_file(tmp_path)
    before = path.stat()
    assert not await write(path, [SetKey((), "task_timeout", "0"), RemoveKey(("x",), "y")], clock=clock)
    assert path.stat().st_ino == before.st_ino


@pytest.mark.parametrize("data", [b"[agent]\nlang = 'x\n", b"a = 1\na = 2\n", "a = 'x'".encode("utf-16"), b"\xff"])
async def test_a_file_that_cannot_be_understood_is_never_overwritten(tmp_path: Path, clock: VirtualClock, data: bytes) -> None:
    path = config_file(tmp_path, data)
    with pytest.raises(ConfigError):
        await write(path, [SetKey(("agent",), "lang", "French")], clock=clock)
    assert path.read_bytes() == data


async def test_of_several_edits_all_are_made_or_none(tmp_path: Path, clock: VirtualClock) -> None:
    path = config_file(tmp_path)
    with pytest.raises(EditRefused):
        await write(path, [SetKey((), "task_timeout", "1h"), SetKey(("permissions", "deny"), "x", 1)], clock=clock)
    assert path.read_text() == BY_HAND


async def test_a_file_that_another_process_is_editing_is_waited_for(tmp_path: Path, clock: VirtualClock) -> None:
    path = config_file(tmp_path)
    async with locked(path, clock=clock):
        with pytest.raises(Exception, match="locked by another process"):
            await write(path, [SetKey((), "task_timeout", "1h")], clock=clock)
    assert await write(path, [SetKey((), "task_timeout", "1h")], clock=clock)


async def test_a_place_that_cannot_be_written_is_three_lines(tmp_path: Path, clock: VirtualClock) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as caught:
        await write(tmp_path / "file" / "config.toml", [SetKey((), "task_timeout", "1h")], clock=clock)
    assert "cannot be written" in caught.value.what


# --- providers


def test_a_key_replaces_a_keys_variable_and_the_reverse() -> None:
    text = apply("", write_provider("p", {"api_base_url": "http://p", "api_key": "k"}))
    assert tomllib.loads(text)["global"]["llm"]["providers"]["p"] == {"api_base_url": "http://p", "api_key": "k"}
    text = apply(text, write_provider("p", {"api_key_env": "P_KEY"}))
    assert tomllib.loads(text)["global"]["llm"]["providers"]["p"] == {"api_base_url": "http://p", "api_key_env": "P_KEY"}
    text = apply(text, write_provider("p", {"api_key": "k2", "api_base_url": None}))
    assert tomllib.loads(text)["global"]["llm"]["providers"]["p"] == {"api_key": "k2"}


@pytest.mark.parametrize(("name", "entries"), [("p", {"aws_region": "x"}), (" ", {"model": "m"})])
def test_what_is_no_provider_is_refused(name: str, entries: dict[str, str]) -> None:
    with pytest.raises(EditRefused):
        write_provider(name, entries)


def test_a_provider_in_use_is_not_removed_and_every_use_is_listed() -> None:
    text = (
        "[global.llm]\nuse_provider = 'p'\n[agents.llm]\nuse_provider = 'p'\nrepo.use_provider = 'p'\n"
        "[tools.llm.design]\nuse_provider = 'p'\n"
        "[global.llm.providers.p]\nmodel = 'm'\n[global.llm.providers.q]\nfallback_providers = ['r', { provider = 'p', weight = 1 }]\n"
    )
    document = tomllib.loads(text)
    refs = provider_refs(document, "p")
    assert set(refs) == {
        "global.llm.use_provider",
        "agents.llm.use_provider",
        "agents.llm.repo.use_provider",
        "tools.llm.design.use_provider",
        "global.llm.providers.q.fallback_providers",
    }
    with pytest.raises(EditRefused) as caught:
        delete_provider(document, "p")
    assert all(ref in caught.value.where for ref in refs)
    assert "providers.q" not in apply(text, delete_provider(document, "q"))
