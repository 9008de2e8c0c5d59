"""Creating, deleting and renaming files."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from yagent.workspace.encoding import EncodingError
from yagent.workspace.files import (
    FileChangedError,
    FileError,
    FileLedger,
    FileMissingError,
    FileTooLargeError,
    create,
    delete,
    read_text,
    rename,
)
from yagent.workspace.named_path import NamedPath
from yagent.workspace.reading import explain


async def test_a_new_file_has_exactly_the_text_and_usual_rights(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        result = await create(tmp_path / "a" / "b" / "f.txt", "héllo\r\n")
    finally:
        os.umask(mask)
    assert result.created
    assert (result.added, result.removed) == (1, 0)
    assert (tmp_path / "a/b/f.txt").read_bytes() == "héllo\r\n".encode()
    assert stat.S_IMODE((tmp_path / "a/b/f.txt").stat().st_mode) == 0o644


async def test_an_existing_file_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old\n")
    with pytest.raises(FileError, match="exists already"):
        await create(tmp_path / "f", "new\n")
    assert (tmp_path / "f").read_text() == "old\n"


async def test_a_file_that_was_not_read_is_not_overwritten(tmp_path: Path) -> None:
    ledger = FileLedger()
    (tmp_path / "f").write_text("the user's\n")
    with pytest.raises(FileChangedError, match="seen none of its 1 lines"):
        await create(tmp_path / "f", "new\n", overwrite=True, ledger=ledger)
    await read_text(tmp_path / "f", ledger=ledger)
    await create(tmp_path / "f", "new\n", overwrite=True, ledger=ledger)
    await create(tmp_path / "f", "newer\n", overwrite=True, ledger=ledger)
    assert (tmp_path / "f").read_text() == "newer\n"


async def test_a_file_changed_since_it_was_read_is_not_overwritten_and_the_difference_is_shown(tmp_path: Path) -> None:
    ledger = FileLedger()
    (tmp_path / "f").write_text("one\ntwo\n")
    await read_text(tmp_path / "f", ledger=ledger)
    (tmp_path / "f").write_text("one\nTWO\n")
    with pytest.raises(FileChangedError, match=r"(?s)-two\n\+TWO"):
        await create(tmp_path / "f", "new\n", overwrite=True, ledger=ledger)
    assert (tmp_path / "f").read_text() == "one\nTWO\n"


async def test_an_overwritten_file_keeps_encoding_line_endings_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"\xff\xfe" + "a\r\nb\r\n".encode("utf-16-le"))
    path.chmod(0o755)
    result = await create(path, "é\nz\n", overwrite=True)
    assert path.read_bytes() == b"\xff\xfe" + "é\r\nz\r\n".encode("utf-16-le")
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert len(result.notes) == 2


async def test_text_that_the_old_encoding_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes("名前は太郎です".encode("cp932"))
    with pytest.raises(EncodingError):
        await create(path, "😀", overwrite=True)
    assert path.read_bytes() == "名前は太郎です".encode("cp932")


async def test_ten_megabytes_are_the_limit_of_a_write(tmp_path: Path) -> None:
    with pytest.raises(FileTooLargeError):
        await create(tmp_path / "f", "x" * 10_000_001)
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize("kind", ["directory", "pipe"])
async def test_only_files_are_overwritten(tmp_path: Path, kind: str) -> None:
    (tmp_path / "x").mkdir() if kind == "directory" else os.mkfifo(tmp_path / "x")
    with pytest.raises(FileError, match=kind):
        await create(tmp_path / "x", "new", overwrite=True)


async def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    (tmp_path / "f").chmod(0o444)
    with pytest.raises(FileError, match="read-only"):
        await create(tmp_path / "f", "new", overwrite=True)
    assert (tmp_path / "f").read_text() == "old"


async def test_a_file_in_place_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    with pytest.raises(FileError):
        await create(tmp_path / "f" / "g", "y")


async def test_deleting_removes_a_link_and_not_its_target(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to("real")
    await delete(tmp_path / "link")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").exists()


async def test_directories_and_missing_files_are_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(FileError, match="directory"):
        await delete(tmp_path / "d")
    with pytest.raises(FileMissingError):
        await delete(tmp_path / "nothing")


async def test_renaming_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    with pytest.raises(FileError, match="exists already"):
        await rename(tmp_path / "a", tmp_path / "b")
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("a", "b")


async def test_renaming_makes_directories_and_keeps_what_is_known(tmp_path: Path) -> None:
    ledger = FileLedger()
    (tmp_path / "a").write_text("a")
    await read_text(tmp_path / "a", ledger=ledger)
    await rename(tmp_path / "a", tmp_path / "x" / "y" / "b", ledger=ledger)
    assert (tmp_path / "x/y/b").read_text() == "a"
    assert ledger.seen(tmp_path / "a") is None
    assert ledger.seen(tmp_path / "x/y/b") is not None


async def test_renaming_what_is_missing_is_an_error_and_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileMissingError):
        await rename(tmp_path / "a", tmp_path / "new" / "b")
    assert not (tmp_path / "new").exists()


async def test_a_hard_link_is_mentioned(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    os.link(tmp_path / "a", tmp_path / "b")
    result = await create(tmp_path / "a", "c", overwrite=True)
    assert any("hard link" in note for note in result.notes)


def test_what_lies_on_another_file_system_is_moved_by_a_command() -> None:
    said = str(explain(OSError(errno.EXDEV, "Invalid cross-device link"), NamedPath(Path("a"), "a to /mnt/b"), "rename"))
    assert said == "cannot rename a to /mnt/b: it is on another file system; a command (mv) copies it there and removes the original"
