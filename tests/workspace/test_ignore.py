"""Ignore rules, checked against git itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.workspace.ignore import IgnoreRules, rule_of

PATHS = ["a", "b.txt", "dir/a", "dir/b.txt", "dir/sub/a", "dir/sub/c.log", "x/dir/b.txt", "build/out", "#x", "!y", "sp ace", "a[1]"]
LINES = [
    *["a", "/a", "dir/", "dir", "*.txt", "**/a", "dir/**", "dir/*", "/dir/sub", "**/sub/**", "!dir/b.txt", "!a"],
    *[
        "\\#x",
        "\\!y",
        "# comment",
        "",
        "a\\[1\\]",
        "[ab]",
        "[!b].txt",
        "a*",
        "?.txt",
        "sp\\ ace",
        "dir/**/a",
        "x/**/b.txt",
        "build  ",
        "[",
        "*",
    ],
]


@pytest.mark.parametrize(
    ("line", "path", "matches"), [("*.py", "a/b.py", True), ("/x", "a/x", False), ("a/**/b", "a/b", True), ("a/**/b", "a/c/d/b", True)]
)
def test_patterns_follow_gitignore(line: str, path: str, matches: bool) -> None:
    rule = rule_of(line)
    assert rule is not None
    assert bool(rule.pattern.match(path)) == matches


@given(st.lists(st.sampled_from(LINES), max_size=5))
def test_decisions_are_those_of_git(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    root = _repository(tmp_path_factory)
    (root / ".gitignore").write_text("\n".join(lines) + "\n")
    answer = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "-z"], cwd=root, check=True, capture_output=True
    ).stdout.decode()
    assert sorted(_walk(str(root), str(root), IgnoreRules.at(str(root)))) == sorted(filter(None, answer.split("\0")))


def test_inner_files_win_over_outer_ones(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep" / ".gitignore").write_text("!*.log\n")
    rules = IgnoreRules.at(str(tmp_path / "keep"))
    assert not rules.ignores(str(tmp_path / "keep" / "x.log"), is_directory=False)
    assert IgnoreRules.at(str(tmp_path)).ignores(str(tmp_path / "x.log"), is_directory=False)


_made: dict[str, Path] = {}


def _repository(factory: pytest.TempPathFactory) -> Path:
    if "root" not in _made:
        root = factory.mktemp("ignore")
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        for path in PATHS:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text("")
        _made["root"] = root
    return _made["root"]


def _walk(root: str, directory: str, rules: IgnoreRules) -> list[str]:
    found = []
    for entry in os.scandir(directory):
        if entry.name == ".git" or rules.ignores(entry.path, is_directory=entry.is_dir()):
            continue
        found += _walk(root, entry.path, rules.entering(entry.path)) if entry.is_dir() else [os.path.relpath(entry.path, root)]
    return found
