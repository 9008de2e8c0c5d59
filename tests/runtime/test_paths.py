"""Where data lives, and what happens when it cannot live there."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.runtime.paths import DataHome, project_id


def test_the_default_is_in_the_users_home(tmp_path: Path) -> None:
    home = DataHome.from_environment({}, tmp_path)
    assert home == DataHome(tmp_path / ".yagent", tmp_path / ".yagent")
    assert home.config_file == tmp_path / ".yagent/config/config.toml"
    assert home.settings_file == tmp_path / ".yagent/settings.json"
    assert home.rollout_dir("p") == tmp_path / ".yagent/data/rollout/p"
    assert home.logs_dir == tmp_path / ".yagent/logs"
    assert home.binaries_dir == tmp_path / ".yagent/bin"
    assert not home.root.exists()


def test_the_environment_moves_it(tmp_path: Path) -> None:
    assert DataHome.from_environment({"YAGENT_HOME": str(tmp_path / "deep/er")}, None).root == tmp_path / "deep/er"
    assert DataHome.from_environment({"YAGENT_HOME": "~/elsewhere"}, tmp_path).root == tmp_path / "elsewhere"
    assert DataHome.from_environment({"YAGENT_HOME": ""}, tmp_path).root == tmp_path / ".yagent"


@pytest.mark.parametrize(
    ("environ", "home", "says"),
    [
        ({}, None, "home directory is unknown"),
        ({}, Path(""), "not an absolute path"),
        ({}, Path("relative/home"), "not an absolute path"),
        ({}, Path("/nonexistent-home"), "does not exist"),
        ({"YAGENT_HOME": "relative"}, Path("/tmp"), "not an absolute path"),
        ({"YAGENT_HOME": "~/x"}, None, "home directory is unknown"),
        ({"YAGENT_HOME": "/"}, Path("/tmp"), "root of the file system"),
        ({"YAGENT_HOME": "/dev/null/x"}, Path("/tmp"), "not a directory"),
    ],
)
def test_an_unusable_place_gives_a_private_throwaway_one_and_says_so(environ: dict[str, str], home: Path | None, says: str) -> None:
    data_home = DataHome.from_environment(environ, home)
    assert data_home.problem is not None
    assert says in data_home.problem
    assert "without persistence" in data_home.problem
    assert data_home.root.is_absolute()
    assert data_home.asked.is_absolute()
    assert stat.S_IMODE(data_home.root.stat().st_mode) == 0o700
    data_home.root.rmdir()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_home_still_gives_its_configuration(tmp_path: Path) -> None:
    (tmp_path / ".yagent").mkdir()
    (tmp_path / ".yagent").chmod(0o500)
    data_home = DataHome.from_environment({}, tmp_path)
    assert "cannot be written" in (data_home.problem or "")
    assert data_home.config_file == tmp_path / ".yagent/config/config.toml"
    assert data_home.root != tmp_path / ".yagent"


def test_project_ids_are_pinned() -> None:
    assert project_id("/home/ada/src/engine") == "home-ada-src-engine-e16931ad84"
    assert project_id("/") == "root-8a5edab282"
    assert project_id("/home/ada/src/engine/") == project_id("//home/ada/./src/engine")


def test_a_relative_path_has_no_project_id() -> None:
    with pytest.raises(ValueError, match="absolute"):
        project_id("src/engine")


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=400))
def test_project_ids_are_names_any_file_system_takes(path: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{1,110}", project_id("/" + path))


def test_look_alikes_get_different_ids() -> None:
    paths = ["/a/b", "/a-b", "/a/B", "/a b", "/a/b/c", "/x" * 200, "/x" * 199 + "/y"]
    assert len({project_id(path).casefold() for path in paths}) == len(paths)
