"""A file is replaced whole only by one who has seen all of it as it is now; what others changed meanwhile is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from yagent.workspace.editing import Edit, EditError, edit, planned_edit
from yagent.workspace.files import (
    FileChangedError,
    FileError,
    FileLedger,
    FileMissingError,
    Wanted,
    check_rename,
    create,
    planned_creation,
    planned_deletion,
    read_text,
)

TEXT = "".join(f"line {number}\n" for number in range(1, 14))


def put(place: Path, text: str) -> None:
    place.write_text(text)


def held(place: Path) -> str:
    return place.read_text()


def entries(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A file of thirteen lines."""
    (tmp_path / "f").write_text(TEXT)
    return tmp_path / "f"


async def overwrite(place: Path, ledger: FileLedger) -> str:
    """What is said to a whole replacement; "" when it was made."""
    try:
        await create(place, "new\n", name="docs/f", overwrite=True, ledger=ledger)
    except FileChangedError as error:
        assert held(place) != "new\n"
        return str(error)
    assert held(place) == "new\n"
    return ""


async def test_one_line_of_thirteen_is_not_enough(place: Path) -> None:
    ledger = FileLedger()
    await read_text(place, Wanted(1, 1), ledger=ledger)
    assert await overwrite(place, ledger) == (
        "docs/f exists already and you have seen 1 of its 13 lines, so nothing was written. To change parts of it, call "
        "search_replace_in_file; to replace it whole, first call "
        'read_file {"path": "docs/f", "start_line": 2, "end_line": 13}, then send this call again'
    )


async def test_several_reads_that_cover_it_are_enough(place: Path) -> None:
    ledger = FileLedger()
    for wanted in (Wanted(8), Wanted(1, 3), Wanted(3, 4)):
        await read_text(place, wanted, ledger=ledger)
    assert '"start_line": 7, "end_line": 7' in await overwrite(place, ledger)
    await read_text(place, Wanted(7, 1), ledger=ledger)
    assert await overwrite(place, ledger) == ""


async def test_what_the_limit_of_a_read_cut_off_was_not_seen(place: Path) -> None:
    ledger = FileLedger()
    assert (await read_text(place, Wanted(size=50), ledger=ledger)).cut
    assert "you have seen 5 of its 13 lines" in await overwrite(place, ledger)


async def test_an_edit_shows_only_the_lines_it_writes(place: Path) -> None:
    ledger = FileLedger()
    await edit(place, [Edit("line 5\n", "line 5a\nline 5b\n")], ledger=ledger)
    assert "you have seen 2 of its 14 lines" in await overwrite(place, ledger)
    await read_text(place, Wanted(1, 4), ledger=ledger)
    await read_text(place, Wanted(7), ledger=ledger)
    assert await overwrite(place, ledger) == ""


async def test_who_wrote_or_read_all_of_it_goes_on_knowing_it_through_own_edits(place: Path) -> None:
    ledger = FileLedger()
    await read_text(place, ledger=ledger)
    await edit(place, [Edit("line 5\n", "")], ledger=ledger)
    assert await overwrite(place, ledger) == ""
    assert await overwrite(place, ledger) == ""


async def test_a_change_of_others_is_shown_and_counts_as_read_then(place: Path) -> None:
    ledger = FileLedger()
    await read_text(place, ledger=ledger)
    put(place, TEXT.replace("line 7", "line seven"))
    with pytest.raises(FileChangedError, match=r"(?s)counts as read now.*-line 7\n\+line seven"):
        await edit(place, [Edit("line 1\n", "first\n")], name="f", ledger=ledger)
    await edit(place, [Edit("line 1\n", "first\n")], ledger=ledger)
    assert held(place) == TEXT.replace("line 7", "line seven").replace("line 1\n", "first\n")
    put(place, TEXT)
    assert "counts as read now" in await overwrite(place, ledger)
    assert await overwrite(place, ledger) == ""


async def test_what_was_never_read_is_not_known_by_a_shown_change_elsewhere(place: Path) -> None:
    ledger = FileLedger()
    await read_text(place, Wanted(1, 2), ledger=ledger)
    put(place, TEXT.replace("line 12", "line twelve"))
    assert "counts as read now" in await overwrite(place, ledger)
    assert "you have seen 3 of its 13 lines" in await overwrite(place, ledger)


async def test_a_change_too_long_to_show_has_to_be_read(tmp_path: Path) -> None:
    place, ledger = tmp_path / "f", FileLedger()
    put(place, "".join(f"{number}\n" for number in range(2000)))
    await read_text(place, ledger=ledger)
    put(place, "".join(f"-{number}\n" for number in range(2000)))
    for _ in range(2):
        said = await overwrite(place, ledger)
        assert 'Read it again first: read_file {"path": "docs/f"}' in said
        assert len(said) < 21_000


async def test_a_long_line_that_is_cut_in_the_shown_change_has_to_be_read(place: Path) -> None:
    ledger = FileLedger()
    await read_text(place, ledger=ledger)
    put(place, TEXT.replace("line 7", "x" * 481))
    assert "Read it again first" in await overwrite(place, ledger)


async def test_an_empty_file_has_nothing_to_see(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert await overwrite(tmp_path / "f", FileLedger()) == ""


async def test_the_checks_say_what_the_change_would_and_change_nothing(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    (tmp_path / "d").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    before = entries(tmp_path)
    with pytest.raises(FileError, match="the name exists already"):
        await planned_creation(tmp_path / "a", "x", name="the name")
    with pytest.raises(FileError, match="the name is a directory"):
        await planned_deletion(tmp_path / "d", name="the name")
    with pytest.raises(FileMissingError, match="cannot delete the name: there is no such file"):
        await planned_deletion(tmp_path / "c", name="the name")
    with pytest.raises(FileError, match="cannot rename one: the file two exists already"):
        await check_rename(tmp_path / "a", tmp_path / "b", names=("one", "two"))
    with pytest.raises(FileError, match="cannot rename one: the link two exists already"):
        await check_rename(tmp_path / "a", tmp_path / "dangling", names=("one", "two"))
    with pytest.raises(FileMissingError, match="cannot rename one"):
        await check_rename(tmp_path / "c", tmp_path / "e" / "f", names=("one", "two"))
    with pytest.raises(EditError, match="not found in the name"):
        await planned_edit(tmp_path / "a", [Edit("q", "r")], name="the name")
    await planned_creation(tmp_path / "new", "x")
    await planned_deletion(tmp_path / "a")
    await planned_deletion(tmp_path / "dangling")
    await check_rename(tmp_path / "a", tmp_path / "e" / "f")
    await planned_edit(tmp_path / "a", [Edit("a", "r")])
    assert entries(tmp_path) == before
    assert (tmp_path / "a").read_text() == "a"
