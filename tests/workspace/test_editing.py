"""Edits: exactly the asked-for bytes, or nothing and a reason."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from yagent.workspace.editing import Edit, EditError, edit, edited
from yagent.workspace.encoding import Document, EncodingError
from yagent.workspace.files import FileChangedError, FileError, FileLedger, FileTooLargeError, NotTextError, read_text


def apply(raw: bytes | str, *edits: Edit) -> tuple[bytes, list[str]]:
    document = Document.of(raw.encode() if isinstance(raw, str) else raw)
    assert document is not None
    changed, notes = edited(document, edits, "f")
    return changed.raw, notes


def refused(raw: bytes | str, *edits: Edit) -> str:
    with pytest.raises((EditError, EncodingError)) as caught:
        apply(raw, *edits)
    return str(caught.value)


def test_one_occurrence_is_replaced() -> None:
    assert apply("a b c", Edit("b", "x")) == (b"a x c", [])


def test_no_occurrence_is_an_error_that_shows_the_nearest_text() -> None:
    text = refused("def f():\n    total = 1\n    return total\n", Edit("def f():\n    total = 2\n    return total\n", "x"))
    assert "not found" in text
    assert "lines 1 to 3" in text
    assert "-     total = 2" in text
    assert "+     total = 1" in text


def test_several_occurrences_are_an_error_that_says_how_many_and_where() -> None:
    text = refused("x = 1\ny = 2\nx = 1\n", Edit("x = 1", "z"))
    assert "occurs 2 times" in text
    assert "lines 1, 3" in text


def test_overlapping_occurrences_are_several() -> None:
    assert "occurs 2 times" in refused("aaa", Edit("aa", "b"))


def test_all_replaces_each() -> None:
    assert apply("a a\r\na", Edit("a", "b", all=True))[0] == b"b b\r\nb"
    assert apply("aaa", Edit("aa", "b", all=True))[0] == b"ba"


def test_all_with_no_occurrence_is_an_error() -> None:
    assert "not found" in refused("abc", Edit("x", "y", all=True))


@pytest.mark.parametrize(("search", "replace", "words"), [("", "x", "empty"), ("a", "a", "same text")])
def test_edits_that_mean_nothing_are_refused(search: str, replace: str, words: str) -> None:
    assert words in refused("a", Edit(search, replace))


def test_edits_apply_to_the_result_of_the_one_before_and_all_or_none() -> None:
    assert apply("a b", Edit("a", "x"), Edit("x b", "y"))[0] == b"y"
    text = refused("a b", Edit("a", "x"), Edit("nowhere", "y"))
    assert "edit 2 of 2" in text
    assert "none of the edits" in text


@pytest.mark.parametrize(
    ("raw", "search", "replace", "result", "tolerance"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nB\nX", b"a\r\nB\r\nX\r\nc\r\n", "line endings"),
        (b"a\nb\n", "a\r\nb", "a\r\nB", b"a\nB\n", "line endings"),
        (b"a\rb\rc\r", "a\nb", "a\nB\nC", b"a\rB\rC\rc\r", "line endings"),
        (b"a\r\nb\nc\r\n", "a\nb\nc", "a\nx\nc", b"a\r\nx\nc\r\n", "line endings"),
        (b"a  \nb\t\nc\n", "a\nb\nc", "a\nB\nc", b"a  \nB\nc\n", "trailing whitespace"),
        (b"a\nb\n", "a \nb", "a \nB", b"a\nB\n", "trailing whitespace"),
        (
            b"    if x:\n        y()\n    z\n",
            "if x:\n    y()\n",
            "if w:\n    y()\n    q()\n",
            b"    if w:\n        y()\n        q()\n    z\n",
            "further in",
        ),
        (b"if x:\n    y()\n", "    if x:\n        y()", "    if x:\n        q()", b"if x:\n    q()\n", "further out"),
        (b"\tif x:\n\t\ty()\n", "if x:\n\ty()", "if x:\n\tq()", b"\tif x:\n\t\tq()\n", "further in"),
        (b'print("a")\n', 'print(\\"a\\")', 'print(\\"b\\")', b'print("b")\n', "escaped quotes"),
        (
            b"def f():\n    a = 1\n\n    b\n",
            "     2\t    a = 1\n     3\t\n",
            "     2\t    a = 2\n     3\t\n",
            b"def f():\n    a = 2\n\n    b\n",
            "line numbers",
        ),
        (b"a = 1\nb = 2\n", "1: a = 1\n2: b = 2", "1: a = 1\n2: b = 3", b"a = 1\nb = 3\n", "line numbers"),
        (b"foo", "foo\n", "bar\n", b"bar", "final line ending"),
        ("l’a “b”\u00a0c".encode(), 'l\'a "b" c', 'l\'a "d" c', "l’a “d”\u00a0c".encode(), "typographic"),
    ],
)
def test_a_tolerated_difference_is_named_and_the_rest_stays(raw: bytes, search: str, replace: str, result: bytes, tolerance: str) -> None:
    changed, notes = apply(raw, Edit(search, replace))
    assert changed == result
    assert any(tolerance in note for note in notes)


@pytest.mark.parametrize(
    ("raw", "search"),
    [
        ("x = 1\ny = 2\n", "x = 1\ny = 3"),  # a word differs
        ("return xyz\n", "return x "),  # what looks like trailing whitespace is not at a line's end
        ("  a\n    b\n", "a\nb"),  # indentation differs, but not as a whole
        ("a\n\nb\n", "a\nb"),  # a blank line more
        ("\u00a0x\n", "    x"),  # a special space is no indentation
        ("say 'hi'\n", 'say "hi"'),  # another quote
    ],
)
def test_what_differs_otherwise_is_not_found(raw: str, search: str) -> None:
    assert "not found" in refused(raw, Edit(search, "new"))


@pytest.mark.parametrize(
    ("raw", "search"),
    [
        ("  x = 1\n  y\n    x = 1\n    y\n", "x = 1\ny"),
        ("a  \nb\na\t\nb\n", "a\nb"),
        ('f("a")\nf("a")\n', 'f(\\"a\\")'),
        ("‘a’ ’a’", "'a'"),
    ],
)
def test_a_tolerance_that_fits_several_places_applies_nowhere(raw: str, search: str) -> None:
    text = refused(raw, Edit(search, "new", all=True))
    assert "fits 2 places" in text


@pytest.mark.parametrize(
    ("raw", "search", "replace"),
    [
        ("x = {1: 'a', 2: 'b'}\n", "3: 'b'", "3: 'c'"),
        ("key: 5\n- 3: a\n", "4: a", "4: b"),
        ("rows\n10 | x | y\n", "11 | x", "11 | z"),
        ("http: web\n", "8080: web", "8080: mail"),
        ("name: timeout\n", "30: timeout", "30: limit"),
        ("b\nc\n", "7: b", "7: d"),  # a whole line, and not the seventh
        ("a b\n", "1\tb", "1\tc"),  # the first line, and not whole
        ("a b\n", "1\ta", "1\tc"),
        ("a\nb\n", "800: a\n801: b", "800: c"),  # two whole lines, far away
        ("a\nb\n", "1: a\n3: b", "1: c"),
        ("a\n", "1: a", "1: a\n8080: b"),  # is 8080 a line number?
        ("a\nb\n", "1: a\n2: b", "1: a\n  b"),
        ("\na\n", "1:", "1: b"),
    ],
)
def test_a_number_in_front_that_is_not_the_line_s_is_no_copied_line_number(raw: str, search: str, replace: str) -> None:
    assert "without them" in refused(raw, Edit(search, replace))


def test_whole_lines_with_their_numbers_have_to_be_unique_too() -> None:
    assert "fits 2 places" in refused("a\nb\na\n", Edit("3\ta", "3\tc", all=True))


def test_line_numbers_are_those_the_agent_read_before_its_other_edits() -> None:
    lines = "".join(f"line {number}\n" for number in range(1, 31))
    edits = Edit("line 1\n", "line 1\nnew\nnew\n"), Edit("20\tline 20", "20\tLINE")
    assert b"line 19\nLINE\nline 21" in apply(lines, *edits)[0]
    moved = apply(lines, Edit("line 1\n", "line 1\n" + "new\n" * 15))[0]
    two = Edit("20\tline 20\n21\tline 21\n", "20\tLINE\n")
    assert b"line 19\nLINE\nline 22" in apply(moved, two)[0]
    assert "without them" in refused(moved, Edit("20\tline 20", "20\tLINE"))


def test_an_exact_place_wins_over_tolerated_ones() -> None:
    assert apply("a\nb\n  a\n  b\n", Edit("  a\n  b", "  c"))[0] == b"a\nb\n  c\n"


def test_a_replacement_that_cannot_be_shifted_back_is_refused() -> None:
    file = "if w:\n    if x:\n        y\n"
    assert "moved back" in refused(file, Edit("        if x:\n            y", "        if x:\n  z"))


def test_escapes_that_are_mixed_in_the_replacement_are_not_touched() -> None:
    assert "not found" in refused('f("a")', Edit('f(\\"a\\")', 'f(\\"a\\", "b")'))


def test_new_lines_take_the_ending_of_their_neighbourhood() -> None:
    assert apply(b"a\r\nb\r\n", Edit("a", "a\nx"))[0] == b"a\r\nx\r\nb\r\n"
    assert apply(b"a\r\nb", Edit("b", "b\nx"))[0] == b"a\r\nb\r\nx"


def test_carriage_returns_in_the_search_text_are_meant_literally() -> None:
    assert apply(b"a\r\nb\r\n", Edit("\r\n", "\n", all=True))[0] == b"a\nb\n"


def test_very_many_occurrences_are_replaced_in_one_pass() -> None:
    assert apply(b"a\n" * 100_000, Edit("a", "b", all=True))[0] == b"b\n" * 100_000


async def test_the_result_tells_what_was_done(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_bytes(b"one\ntwo\nthree\n")
    result = await edit(tmp_path / "f.py", [Edit("two", "2\n2b")])
    assert result.diff == "--- a/f.py\n+++ b/f.py\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three"
    assert (result.added, result.removed, result.created) == (2, 1, False)
    assert result.before != result.after


async def test_mode_and_links_survive(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old\n")
    (tmp_path / "real").chmod(0o751)
    (tmp_path / "link").symlink_to("real")
    await edit(tmp_path / "link", [Edit("old", "new")])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new\n"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o751


async def test_a_file_changed_since_it_was_read_is_refused_with_the_difference(tmp_path: Path) -> None:
    ledger = FileLedger()
    path = tmp_path / "f"
    path.write_text("one\ntwo\n")
    await read_text(path, ledger=ledger)
    path.write_text("one\nTWO\n")
    with pytest.raises(FileChangedError, match=r"(?s)changed since.*-two\n\+TWO"):
        await edit(path, [Edit("one", "1")], ledger=ledger)
    assert path.read_text() == "one\nTWO\n"


async def test_own_edits_are_no_foreign_changes(tmp_path: Path) -> None:
    ledger = FileLedger()
    (tmp_path / "f").write_text("a\nb\n")
    await read_text(tmp_path / "f", ledger=ledger)
    await edit(tmp_path / "f", [Edit("a", "x")], ledger=ledger)
    await edit(tmp_path / "f", [Edit("b", "y")], ledger=ledger)
    assert (tmp_path / "f").read_text() == "x\ny\n"


async def test_the_size_limit_holds_in_both_directions(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a" + b"x" * 10_000_000)
    with pytest.raises(FileTooLargeError):
        await edit(path, [Edit("a", "b")])
    path.write_bytes(b"a" + b"x" * 9_999_998)
    with pytest.raises(FileTooLargeError):
        await edit(path, [Edit("a", "bbbb")])
    assert path.stat().st_size == 9_999_999


async def test_what_is_not_text_is_not_edited(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\0b")
    with pytest.raises(NotTextError):
        await edit(tmp_path / "f", [Edit("a", "b")])


async def test_edits_that_undo_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")
    with pytest.raises(EditError, match="as it is"):
        await edit(tmp_path / "f", [Edit("a", "b"), Edit("b", "a")])


async def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")
    (tmp_path / "f").chmod(0o444)
    with pytest.raises(FileError, match="read-only"):
        await edit(tmp_path / "f", [Edit("a", "b")])


CODECS = ["utf-8", "utf-8-sig", "utf-16", "cp932", "gb18030", "cp1252", "latin-1"]
WORDS = st.text(st.sampled_from("ab {}()=\"'\t\\$&é東日"), max_size=12)
ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file in some encoding, with uniform or mixed line endings, with or without a last one."""
    lines = draw(st.lists(WORDS, min_size=1, max_size=8))
    uniform = draw(ENDINGS)
    endings = [draw(ENDINGS) if draw(st.booleans()) else uniform for _ in lines]
    if draw(st.booleans()):
        endings[-1] = ""
    text = "".join(line + ending for line, ending in zip(lines, endings, strict=True))
    return text.encode(draw(st.sampled_from(CODECS)), "ignore")


@given(files(), st.data())
def test_an_exact_edit_changes_its_bytes_and_no_others(raw: bytes, data: st.DataObject) -> None:
    document = Document.of(raw)
    assume(document is not None and document.text)
    assert document is not None
    start = data.draw(st.integers(0, len(document.text) - 1))
    end = data.draw(st.integers(start + 1, len(document.text)))
    search = document.text[start:end]
    replace = data.draw(st.text(st.sampled_from("ab =é東\\$"), max_size=6))
    assume(search != replace)
    encode = document.encoding.encode
    try:
        changed, notes = apply(raw, Edit(search, replace))
    except EncodingError:
        return
    except EditError:
        places = sum(document.text.startswith(search, at) for at in range(len(document.text)))
        assume(places < 2)  # else the refusal is right; otherwise the assertion below must not be reached
        raise
    if any("further in" in note for note in notes):  # it began inside a line's indentation: test_editing_indentation
        start = len(document.text[:start].rstrip(" \t"))
    else:
        assert notes == []
    assert changed == document.encoding.mark + encode(document.text[:start]) + encode(replace) + encode(document.text[end:])


@given(files(), WORDS, st.text(st.sampled_from("ab\n =é東"), max_size=8))
def test_any_edit_changes_one_stretch_in_the_file_s_own_encoding_or_is_refused(raw: bytes, search: str, replace: str) -> None:
    document = Document.of(raw)
    assume(document is not None and search != replace and search)
    assert document is not None
    try:
        changed, _ = apply(raw, Edit(search, replace))
    except (EditError, EncodingError):
        return
    after = document.encoding.decode(changed[len(document.encoding.mark) :])
    assert changed.startswith(document.encoding.mark)
    assert abs(len(after) - len(document.text)) <= 2 * (len(search) + len(replace)) + 2


@given(files(), st.data())
def test_a_search_text_as_it_is_shown_is_found_whatever_the_line_endings(raw: bytes, data: st.DataObject) -> None:
    document = Document.of(raw)
    assume(document is not None and document.encoding.exact)  # bytes that are no characters are shown, but cannot be sent back
    assert document is not None
    shown = document.text.replace("\r\n", "\n")
    if "\n" not in document.text:
        shown = shown.replace("\r", "\n")
    lines = shown.split("\n")
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first + 1, len(lines)))
    search = "\n".join(lines[first:last])
    assume(search and "\r" not in search and sum(shown.startswith(search, at) for at in range(len(shown))) == 1)
    changed, _ = apply(raw, Edit(search, search + "Z"))
    after = document.encoding.decode(changed[len(document.encoding.mark) :])
    assert after.replace("Z", "", 1) == document.text
