"""`yagent demo`: a whole task without a key and without a network, played by the real program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def environment(home: Path) -> dict[str, str]:
    """What a demonstration sees; its copy of the repository goes where the home is, so that nothing is left behind."""
    (home / "copies").mkdir(exist_ok=True)
    return {**os.environ, "HOME": str(home), "YAGENT_HOME": str(home / ".yagent"), "CI": "true", "TMPDIR": str(home / "copies")}


def play(home: Path, directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environ = environment(home)
    command = [sys.executable, "-m", "yagent", "demo", *options]
    return subprocess.run(
        command, env=environ, cwd=directory, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )


def test_the_demo_plays_its_recording_to_the_end_without_diverging(isolated_home: Path, tmp_path: Path) -> None:
    played = play(isolated_home, tmp_path, "--fast")
    assert played.returncode == 0, played.stderr
    assert "ROUND_HALF_UP" in played.stdout
    assert "left its recording" not in played.stderr
    assert "(exit 1)" in played.stderr, "the test that proves the fault fails first"
    assert "(exit 0)" in played.stderr, "and passes after the fix"
    assert list(tmp_path.iterdir()) == [], "nothing is written where it was started"


def test_the_demo_says_what_is_real_and_leaves_an_ordinary_record(isolated_home: Path, tmp_path: Path) -> None:
    played = play(isolated_home, tmp_path, "--fast")
    assert "played from a recording, everything else is real" in played.stderr
    agents = sorted(
        path.stem.partition("_")[2].partition("_")[2] for path in (isolated_home / ".yagent" / "data" / "rollout").rglob("*.jsonl")
    )
    assert agents == ["", "coding", "repo"]


def test_the_demo_needs_no_configuration_and_minds_a_broken_one_not(isolated_home: Path, tmp_path: Path) -> None:
    config = isolated_home / ".yagent" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("not [ toml")
    assert play(isolated_home, tmp_path, "--fast").returncode == 0
    assert config.read_text() == "not [ toml"
