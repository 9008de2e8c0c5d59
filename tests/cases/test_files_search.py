"""Cases B15, B16, B17, B21: what searching must find, and must never start."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.virtual_time import VirtualClock
from yagent.workspace.editing import Edit, edit
from yagent.workspace.files import FileChangedError, FileLedger, create, read_text
from yagent.workspace.search import Searcher, SearchRequest
from yagent.workspace.tree import list_dir


@pytest.fixture(params=["ripgrep", "built-in"])
def searcher(request: pytest.FixtureRequest, clock: VirtualClock) -> Searcher:
    return Searcher(clock, dict(os.environ), use_ripgrep=request.param == "ripgrep")


def write(root: Path, name: str, content: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(content)


def make_repository(root: Path) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True)


def files_named(root: Path, name: str) -> list[Path]:
    return list(root.rglob(name))


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("--dry-run|--verbose", [1]),
        ("-42", [2]),
        ("-x", [3]),
        ("--", [1, 4]),
        ("--pre=touch PWNED", []),
        ("-f/etc/passwd", []),
    ],
)
async def test_B15_a_pattern_is_never_an_option(searcher: Searcher, tmp_path: Path, pattern: str, lines: list[int]) -> None:
    write(tmp_path, "f.txt", "--dry-run 4\n-42 C\n-x y\n-- end\n")
    write(tmp_path, "-weird dir/f.txt", "-z\n")
    for root in (tmp_path, tmp_path / "f.txt"):
        result = await searcher.search(SearchRequest(pattern, root))
        assert [hit.line for hit in result.hits] == lines
    assert not files_named(tmp_path, "PWNED")
    assert len((await searcher.search(SearchRequest("-z", tmp_path / "-weird dir" / "f.txt"))).hits) == 1
    assert not (await searcher.search(SearchRequest("x", tmp_path, glob="-g*"))).hits
    assert not (await searcher.search(SearchRequest("x", tmp_path, glob="--pre=touch PWNED"))).hits
    assert not files_named(tmp_path, "PWNED")


async def test_B16_long_lines_are_shown_around_the_match(searcher: Searcher, tmp_path: Path) -> None:
    write(tmp_path, "long.txt", "alpha" + "q" * 90_000 + "\n")
    write(tmp_path, "min.js", "z" * 2_500_000 + "needle" + "y" * 2_500_000)
    write(tmp_path, "ok.txt", "an alpha\n")
    result = await searcher.search(SearchRequest("alpha|needle", tmp_path))
    assert [(hit.path, hit.line) for hit in result.hits] == [("long.txt", 1), ("min.js", 1), ("ok.txt", 1)]
    assert "alpha" in result.hits[0].text
    assert "needle" in result.hits[1].text
    assert result.hits[1].text.startswith("…")
    assert sum(len(hit.text) for hit in result.hits) < 2000


NAMES = ["app/[id]/(auth)/page.tsx", "a b/ü{x}.txt", "-dash.txt", "50%.txt"]


@pytest.mark.parametrize("name", NAMES)
async def test_B17_paths_with_special_characters_are_literal(searcher: Searcher, tmp_path: Path, name: str) -> None:
    for each in NAMES:
        write(tmp_path, each, "old alpha\n")
    assert (await read_text(tmp_path / name)).lines == ("old alpha",)
    await edit(tmp_path / name, [Edit("old", "new")])
    assert (tmp_path / name).read_text() == "new alpha\n"
    assert len((await searcher.search(SearchRequest("new", tmp_path / name))).hits) == 1
    assert len((await searcher.search(SearchRequest("new", tmp_path, glob=name))).hits) == 1
    assert len((await searcher.search(SearchRequest("new", (tmp_path / name).parent))).hits) == 1
    assert (tmp_path / name).name in [entry.name for entry in (await list_dir((tmp_path / name).parent)).entries]


async def test_B17_globs_stay_globs(searcher: Searcher, tmp_path: Path) -> None:
    write(tmp_path, "app/[id]/(auth)/page.tsx", "alpha\n")
    write(tmp_path, "app/i/page.tsx", "alpha\n")
    result = await searcher.search(SearchRequest("alpha", tmp_path, glob="app/[[]id]/**/*.tsx"))
    assert [hit.path for hit in result.hits] == ["app/[id]/(auth)/page.tsx"]


async def test_B21_ignored_files_are_found_when_named_and_mentioned_when_not(searcher: Searcher, tmp_path: Path) -> None:
    make_repository(tmp_path)
    write(tmp_path, ".gitignore", "tools/*\nnotes.txt\n.env\ndist/\n")
    write(tmp_path, "tools/w.py", "MARK\n")
    write(tmp_path, "notes.txt", "some text\n")
    for number in range(500):
        write(tmp_path, f"dist/{number}.js", "MARK\n")
    assert [hit.path for hit in (await searcher.search(SearchRequest("MARK", tmp_path / "tools", named=True))).hits] == ["w.py"]
    assert len((await searcher.search(SearchRequest("text", tmp_path, glob="notes.txt"))).hits) == 1
    assert len((await searcher.search(SearchRequest("MARK", tmp_path, glob="tools/w.py"))).hits) == 1
    assert len((await searcher.search(SearchRequest("MARK", tmp_path / "tools" / "w.py", named=True))).hits) == 1
    whole = await searcher.search(SearchRequest("MARK", tmp_path))
    assert whole.hits == ()
    assert any("ignored" in note and "include_ignored" in note for note in whole.notes)
    assert sum(map(len, whole.notes)) < 1000


async def test_B21_an_ignored_file_is_not_written_over_unread(tmp_path: Path) -> None:
    write(tmp_path, "notes.txt", "the user's\n")
    with pytest.raises(FileChangedError):
        await create(tmp_path / "notes.txt", "mine\n", overwrite=True, ledger=FileLedger())
    assert (tmp_path / "notes.txt").read_text() == "the user's\n"
