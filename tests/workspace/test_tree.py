"""Bounded views of directories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from yagent.workspace.reading import FileError
from yagent.workspace.tree import list_dir, print_dir_tree


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for name in ("src/pkg/a.py", "src/pkg/deep/er/x.py", "README.md", "dist/out.js", "node_modules/m/i.js", "tools/w.py", ".hidden"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (root / ".gitignore").write_text("dist/\nnode_modules/\ntools/*\n")
    return root


async def test_a_listing_has_directories_first_and_says_what_it_leaves_out(repository: Path) -> None:
    os.mkfifo(repository / "pipe")
    (repository / "link").symlink_to("README.md")
    listing = await list_dir(repository)
    assert [(entry.name, entry.kind, entry.size) for entry in listing.entries] == [
        ("src", "directory", None),
        ("tools", "directory", None),
        (".gitignore", "file", 28),
        (".hidden", "file", 1),
        ("README.md", "file", 1),
        ("link", "link", None),
        ("pipe", "pipe", None),
    ]
    assert listing.entries[5].target == "README.md"
    assert listing.notes == ("ignored by the repository's rules and not listed: dist/, node_modules/",)


@pytest.mark.parametrize("name", ["dist", "tools", "node_modules/m"])
async def test_an_ignored_directory_that_is_asked_for_is_listed(repository: Path, name: str) -> None:
    assert len((await list_dir(repository / name)).entries) == 1


async def test_a_long_listing_is_cut_and_says_so(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}").touch()
    listing = await list_dir(tmp_path, limit=10)
    assert len(listing.entries) == 10
    assert "20 further entries" in listing.notes[0]


async def test_a_tree_goes_as_deep_as_asked(repository: Path) -> None:
    view = await print_dir_tree(repository, depth=3)
    assert view.text == "src/\n  pkg/\n    deep/ …\n    a.py\ntools/\n.gitignore\n.hidden\nREADME.md"
    assert any("dist/" in note for note in view.notes)
    assert any("not opened (1)" in note for note in view.notes)
    assert any("1 more entries further down are ignored" in note for note in view.notes)


async def test_a_tree_is_bounded_and_deeper_levels_give_way_first(tmp_path: Path) -> None:
    for outer in range(20):
        for inner in range(20):
            (tmp_path / f"d{outer:02}" / f"e{inner:02}").mkdir(parents=True)
    view = await print_dir_tree(tmp_path, depth=5, limit=100)
    assert len(view.text.splitlines()) <= 100
    assert view.text.splitlines()[-1] == "d19/ …"


async def test_directories_that_tools_fill_are_named_and_counted_and_never_opened(tmp_path: Path) -> None:
    for name in ("__pycache__/a.pyc", "pkg/__pycache__/b.pyc", ".venv/lib/x.py", "node_modules/m/i.js", "pkg/c.py", "venv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    view = await print_dir_tree(tmp_path, depth=9)
    assert view.text == ".venv/\n__pycache__/\nnode_modules/\npkg/\n  __pycache__/\n  c.py\nvenv"
    assert view.notes == ("never opened here: .venv (1), __pycache__ (2), node_modules (1); list_dir shows what is in one",)
    assert (await print_dir_tree(tmp_path / ".venv", depth=9)).text == "lib/\n  x.py"


async def test_names_cannot_break_lines_or_carry_escapes(tmp_path: Path) -> None:
    (tmp_path / "a\nb\x1b[31m").touch()
    assert (await print_dir_tree(tmp_path)).text == "'a\\nb\\x1b[31m'"


@pytest.mark.parametrize("name", ["missing", "file"])
async def test_what_is_no_directory_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot list"):
        await list_dir(tmp_path / name)


async def test_a_link_loop_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "up").symlink_to(tmp_path)
    assert (await print_dir_tree(tmp_path, depth=9)).text == "d/\n  up (link)"
