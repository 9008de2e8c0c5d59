"""The path guard: where a path really leads, and whether that is inside."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workspace.folding_disk import FoldingDisk, as_is, fold_case, normalise
from yagent.workspace.guard import Guard, GuardError, fingerprint, too_wide_for_yolo


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "repo" / "sub").mkdir(parents=True)
    (tmp_path / "repo-evil").mkdir()
    (tmp_path / "repo-evil" / "s").write_text("s")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("a.txt", True),
        ("./a/../b", True),
        ("missing/../b", True),
        ("sub/", True),
        ("", None),
        ("../repo-evil/s", False),
        ("sub/../../repo-evil/s", False),
        ("..", False),
        ("../repo", True),
        ("a/~/b.txt", True),
        ("./~", True),
        ("~", False),
        ("~/notes.txt", False),
        ("a\0b", None),
        ("~root/x", None),
    ],
)
def test_a_relative_path_is_judged_by_where_it_leads(base: Path, path: str, inside: bool | None) -> None:
    guard = Guard(base / "repo", home=base / "home")
    if inside is None:
        with pytest.raises(GuardError):
            guard.locate(path)
    else:
        assert guard.locate(path).inside is inside


def test_absolute_paths_are_not_compared_by_their_beginning(base: Path) -> None:
    guard = Guard(base / "repo")
    for path in ("repo-evil/s", "repo/../repo-evil/s", "repo//../repo-evil/s"):
        assert not guard.locate(f"{base}/{path}").inside
    assert guard.locate(f"{base}/repo/./a/../b").resolved == base / "repo" / "b"


def test_links_are_followed_to_the_last_component_even_dangling(base: Path) -> None:
    (base / "repo" / "out").symlink_to("../repo-evil")
    (base / "repo" / "note").symlink_to("../repo-evil/s")
    (base / "repo" / "draft").symlink_to("../repo-evil/not-yet")
    (base / "repo" / "fine").symlink_to("sub")
    guard = Guard(base / "repo")
    for path in ("out/x", "note", "draft", "out/../x"):
        location = guard.locate(path)
        assert not location.inside, path
        assert base / "repo" in [parent for name in location.names for parent in name.parents]
    assert guard.locate("fine/x").inside


def test_an_effect_on_a_link_itself_stays_where_the_link_is(base: Path) -> None:
    (base / "repo" / "note").symlink_to("../repo-evil/s")
    location = Guard(base / "repo").locate("note", follow_last=False)
    assert location.inside
    assert location.resolved == base / "repo" / "note"


def test_a_loop_of_links_is_an_error_that_names_the_place(base: Path) -> None:
    (base / "repo" / "a").symlink_to("b")
    (base / "repo" / "b").symlink_to("a")
    with pytest.raises(GuardError, match="circle"):
        Guard(base / "repo").locate("a/x")


def test_a_workspace_that_is_itself_a_link_works_under_both_names(base: Path) -> None:
    (base / "alias").symlink_to("repo")
    guard = Guard(base / "alias")
    assert guard.locate("x").inside
    assert guard.locate(f"{base}/repo/x").inside
    assert guard.locate(f"{base}/alias/x").inside
    assert not guard.locate("../repo-evil/s").inside


def test_further_roots_count_as_inside(base: Path) -> None:
    assert Guard(base / "repo", roots=(base / "repo-evil",)).locate("../repo-evil/s").inside


def test_verify_refuses_a_path_that_leads_elsewhere_than_when_it_was_judged(base: Path) -> None:
    guard = Guard(base / "repo")
    location = guard.locate("sub/x")
    guard.verify(location)
    (base / "repo" / "sub").rmdir()
    (base / "repo" / "sub").symlink_to("../repo-evil")
    with pytest.raises(GuardError, match="nothing was done"):
        guard.verify(location)


def test_yolo_is_refused_where_the_home_directory_would_be_inside(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    assert too_wide_for_yolo(Path("/"), home)
    assert too_wide_for_yolo(home, home)
    assert too_wide_for_yolo(tmp_path, home)
    assert too_wide_for_yolo(home / "project", home) is None
    (tmp_path / "alias").symlink_to("home")
    assert too_wide_for_yolo(tmp_path / "alias", home)


def test_a_fingerprint_changes_with_the_content(tmp_path: Path) -> None:
    script, missing, pipe = tmp_path / "s.sh", tmp_path / "missing", tmp_path / "pipe"
    script.write_text("SAFE")
    os.mkfifo(pipe)
    before = fingerprint([script, missing, tmp_path, pipe])
    assert before == fingerprint([script, missing, tmp_path, pipe])
    script.write_text("EVIL")
    missing.write_text("")
    after = fingerprint([script, missing, tmp_path, pipe])
    assert after[script] != before[script]
    assert after[missing] != before[missing]


NAMES = st.sampled_from(["a", "A", "b", "é", "e\u0301", "É", "w", "W", "x", ".", "..", ""])
PATHS = st.lists(NAMES, min_size=1, max_size=6).map("/".join)
TARGETS = st.one_of(PATHS, PATHS.map(lambda path: f"/{path}"), PATHS.map(lambda path: f"/t/{path}"), PATHS.map(lambda path: f"/t/w/{path}"))


@pytest.mark.parametrize("fold", [as_is, fold_case, normalise])
def test_nothing_judged_inside_is_outside_on_any_disk(fold: Callable[[str], str]) -> None:
    @settings(max_examples=200, deadline=None)
    @given(directories=st.lists(PATHS, max_size=4), links=st.lists(st.tuples(PATHS, TARGETS), max_size=5), asked=TARGETS)
    def judged_as_the_disk_does(directories: list[str], links: list[tuple[str, str]], asked: str) -> None:
        disk = FoldingDisk(fold)
        disk.make_directory("/t/w")
        disk.make_directory("/t/other")
        for directory in directories:
            disk.make_directory("/t/w/" + "/".join(part for part in directory.split("/") if part not in (".", "..", "")))
        for name, target in links:
            plain = "/".join(part for part in name.split("/") if part not in (".", "..", ""))
            if plain:
                disk.make_link(f"/t/w/{plain}", target)
        guard = Guard(Path("/t/w"), file_system=disk)
        workspace = disk.reached("/t/w")
        reached = disk.reached(asked if asked.startswith("/") else f"/t/w/{asked}")
        try:
            location = guard.locate(asked) if asked else None
        except GuardError:
            return
        if location is None or workspace is None:
            return
        assert reached is not None
        assert location.inside == (workspace[-1] in reached)

    judged_as_the_disk_does()


@settings(max_examples=100, deadline=None)
@given(links=st.lists(st.tuples(PATHS, TARGETS), max_size=5), asked=PATHS)
def test_nothing_judged_inside_is_outside_on_the_real_disk(
    tmp_path_factory: pytest.TempPathFactory, links: list[tuple[str, str]], asked: str
) -> None:
    base = tmp_path_factory.mktemp("disk")
    (base / "w").mkdir()
    for name, target in links:
        plain = [part for part in name.split("/") if part not in (".", "..", "")]
        if plain and all(not os.path.islink(base / "w" / Path(*plain[:end])) for end in range(1, len(plain))):
            (base / "w" / Path(*plain)).parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(base / "w" / Path(*plain)) and target:
                os.symlink(target, base / "w" / Path(*plain))
    try:
        location = Guard(base / "w").locate(asked) if asked else None
    except GuardError:
        return
    if location is not None:
        real = os.path.realpath(base / "w" / asked)
        assert str(location.resolved) == real
        assert location.inside == (real == f"{base}/w" or real.startswith(f"{base}/w/"))
