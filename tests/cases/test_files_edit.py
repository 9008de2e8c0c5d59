"""Cases B01, B03, B04, B05, B08, B10, B11, B13: what edits and writes must never do to a file's bytes."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path

import pytest

from yagent.workspace.editing import Edit, EditError, edit
from yagent.workspace.encoding import EncodingError
from yagent.workspace.files import FileChangedError, FileError, FileLedger, create, read_text


@pytest.mark.parametrize("new", ["$$", "$&", "$1 $2", "$'x'", "`$`x`", "\\1 \\g<0> \\n \\\\", "{0} %s"])
@pytest.mark.parametrize("every", [False, True])
async def test_B01_replacement_text_is_no_pattern(tmp_path: Path, new: str, every: bool) -> None:
    path = tmp_path / "f.sh"
    path.write_bytes(b"echo OLD\necho end\n")
    result = await edit(path, [Edit("OLD", new, all=every)])
    assert path.read_bytes() == f"echo {new}\necho end\n".encode()
    assert f"\n-echo OLD\n+echo {new}\n echo end" in result.diff


async def test_B03_bytes_in_another_encoding_elsewhere_survive(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_bytes(base64.b64decode("aW50IGEgPSAxOwovKiBBY21lmSBjYWbpICovCg=="))
    await read_text(path)
    await edit(path, [Edit("int a = 1;", "int a = 2;")])
    assert path.read_bytes() == b"int a = 2;\n/* Acme\x99 caf\xe9 */\n"


@pytest.mark.parametrize(
    ("raw", "codec"),
    [
        (base64.b64decode("W2FdCm5hbWU9k/qWewo="), "cp932"),
        (base64.b64decode("//5bAGEAXQAKAG4AYQBtAGUAPQDlZSxnCgA="), "utf-16"),
        ("[a]\nname=东京\n".encode("gbk"), "gbk"),
        ("[a]\nname=日本\n".encode("utf-16-be"), "utf-16-be"),
    ],
)
async def test_B04_new_text_is_written_in_the_file_s_own_encoding_or_not_at_all(tmp_path: Path, raw: bytes, codec: str) -> None:
    path = tmp_path / "f.ini"
    path.write_bytes(raw)
    old = raw.decode(codec)
    try:
        await edit(path, [Edit("[a]", "[a]\ntitle=東京")])
    except (EncodingError, FileError):
        assert path.read_bytes() == raw
        assert codec == "utf-16-be"  # without a mark and with few ASCII characters this may pass for binary
        return
    changed = path.read_bytes()
    assert changed.decode(codec) == old.replace("[a]", "[a]\ntitle=東京")
    assert changed[:2] == raw[:2]


async def test_B04_text_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.ini"
    raw = base64.b64decode("W2FdCm5hbWU9k/qWewo=")
    path.write_bytes(raw)
    with pytest.raises(EncodingError):
        await edit(path, [Edit("[a]", "[a]\ntitle=😀")])
    assert path.read_bytes() == raw


async def test_B05_the_byte_order_mark_stays_and_is_never_shown(tmp_path: Path) -> None:
    path = tmp_path / "f.cs"
    path.write_bytes(b"\xef\xbb\xbfclass A {}\n")
    assert (await read_text(path)).lines == ("class A {}",)
    await edit(path, [Edit("class A {}\n", "class B {}\n")])
    assert path.read_bytes() == b"\xef\xbb\xbfclass B {}\n"
    await create(path, 'class C { string s = "é"; }\n', overwrite=True)
    assert path.read_bytes() == b'\xef\xbb\xbfclass C { string s = "\xc3\xa9"; }\n'
    await create(path, "\ufeffclass D {}\n", overwrite=True)
    assert path.read_bytes() == b"\xef\xbb\xbfclass D {}\n"
    plain = tmp_path / "g.cs"
    await create(plain, "class A {}\n")
    await edit(plain, [Edit("class A", "class B")])
    assert plain.read_bytes() == b"class B {}\n"


async def test_B08_a_write_goes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "conf.txt").write_text("old\n")
    (tmp_path / "link.txt").symlink_to("real/conf.txt")
    await edit(tmp_path / "link.txt", [Edit("old", "new")])
    await create(tmp_path / "link.txt", "newer\n", overwrite=True)
    assert os.readlink(tmp_path / "link.txt") == "real/conf.txt"
    assert (tmp_path / "real/conf.txt").read_text() == "newer\n"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileError, match="loop"):
        await edit(tmp_path / "loop", [Edit("a", "b")])


async def test_B10_typographic_characters_are_neither_straightened_nor_composed(tmp_path: Path) -> None:
    text = "l’image “a” — x…\u00a0y e\u0301"
    path = tmp_path / "f.md"
    path.write_text(text)
    await edit(path, [Edit("image", "photo")])
    assert path.read_text() == text.replace("image", "photo")
    await create(path, "d’une “b”", overwrite=True)
    assert path.read_bytes() == "d’une “b”".encode()
    script = tmp_path / "g.js"
    script.write_text("x = 'a'")
    await edit(script, [Edit("'a'", "‘a’")])
    assert script.read_text() == "x = ‘a’"


async def test_B10_straight_quotes_find_curly_ones_without_rewriting_them(tmp_path: Path) -> None:
    path = tmp_path / "f.md"
    path.write_text("l’image “a” et “b”\n")
    result = await edit(path, [Edit('l\'image "a"', 'l\'image "c"')])
    assert path.read_text() == "l’image “c” et “b”\n"
    assert any("typographic" in note for note in result.notes)


PRICE = "def price(n):\n    base = 10\n    rate = 0.25\n    total = base * n\n    return total\n"


async def test_B11_a_similar_block_is_never_taken_for_the_one_meant(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_text(PRICE)
    with pytest.raises(EditError, match=r"(?s)not found.*lines 1 to 5.*rate = 0\.25"):
        await edit(path, [Edit(PRICE.replace("0.25", "0.75"), "def price(n):\n    return 10 * n\n")])
    assert path.read_text() == PRICE


async def test_B11_blocks_that_differ_only_by_indentation_are_ambiguous(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    text = "if a:\n    x = 1\n    y = 2\n    if b:\n        x = 1\n        y = 2\n"
    path.write_text(text)
    with pytest.raises(EditError, match="2 places"):
        await edit(path, [Edit("x = 1\ny = 2", "z = 3")])
    assert path.read_text() == text


async def test_B13_parallel_edits_of_one_file_both_arrive_or_one_is_refused(tmp_path: Path) -> None:
    letters = "".join(f"{letter}\n" for letter in "abcdefghijklmnopqrstuvwxyz")
    path = tmp_path / "f.txt"
    for _ in range(50):
        path.write_text(letters)
        ledgers = (FileLedger(), FileLedger())
        for ledger in ledgers:
            await read_text(path, ledger=ledger)
        outcomes = await asyncio.gather(
            edit(path, [Edit("\ne\n", "\nEE\n")], ledger=ledgers[0]),
            edit(path, [Edit("\nt\n", "\nTT\n")], ledger=ledgers[1]),
            return_exceptions=True,
        )
        done = [not isinstance(outcome, BaseException) for outcome in outcomes]
        assert all(isinstance(outcome, FileChangedError) for outcome in outcomes if isinstance(outcome, BaseException))
        assert [mark in path.read_text() for mark in ("EE", "TT")] == done
        assert any(done)
        path.write_text(letters)
        shared = FileLedger()
        await read_text(path, ledger=shared)
        await asyncio.gather(edit(path, [Edit("\ne\n", "\nEE\n")], ledger=shared), edit(path, [Edit("\nt\n", "\nTT\n")], ledger=shared))
        assert path.read_text() == letters.replace("e\n", "EE\n").replace("t\n", "TT\n")
