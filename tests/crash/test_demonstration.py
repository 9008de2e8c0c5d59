"""The crash harness with the engine that plays recordings: the demonstration, killed as a real program, goes on to its right end."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.test_demo import environment, play

pytestmark = pytest.mark.slow


def test_an_interrupted_demo_says_nothing_of_its_recording(isolated_home: Path, tmp_path: Path) -> None:
    environ = environment(isolated_home)
    command = [sys.executable, "-m", "yagent", "demo"]
    with subprocess.Popen(command, env=environ, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as playing:
        assert playing.stderr is not None
        told = ""
        while "read_file" not in told:
            told += playing.stderr.readline()
        playing.send_signal(signal.SIGINT)
        told += playing.stderr.read()
    assert playing.returncode == 130, told
    assert "left its recording" not in told
    assert "Go on with it: yagent demo --resume" in told
    resumed = play(isolated_home, tmp_path, "--fast", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "ROUND_HALF_UP" in resumed.stdout


@pytest.mark.parametrize("awaited", ["read_file", "search_replace_in_file", "(exit 1)"])
def test_a_killed_demo_goes_on_to_the_end_without_a_key(isolated_home: Path, tmp_path: Path, awaited: str) -> None:
    environ = environment(isolated_home)
    command = [sys.executable, "-m", "yagent", "demo"]
    with subprocess.Popen(command, env=environ, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as playing:
        assert playing.stderr is not None
        told = ""
        while awaited not in told:
            told += playing.stderr.readline()
        playing.kill()
    resumed = play(isolated_home, tmp_path, "--fast", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "ROUND_HALF_UP" in resumed.stdout
    assert "removed again" in resumed.stderr
    again = play(isolated_home, tmp_path, "--resume")
    assert (again.returncode, "Begin one: yagent demo" in again.stderr) == (2, True)


@pytest.mark.parametrize("call", ["call_7_0", "call_8_0", "call_9_0", "call_10_0"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_what_was_cut_short_inside_a_call_is_made_up_for(isolated_home: Path, tmp_path: Path, call: str, number: int) -> None:
    """The model's words are recorded, and yet no edit is missing in the end and no test run is taken for granted."""
    environ = environment(isolated_home)
    command = [sys.executable, "-m", "yagent", "demo", "--fast", "--keep"]
    kept = isolated_home / ".yagent" / "data" / "rollout" / "demonstrations"
    with subprocess.Popen(command, env=environ, cwd=tmp_path, stderr=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL) as playing:
        while playing.poll() is None and not any(f'"id":"{call}"' in path.read_text() for path in kept.glob("*_coding.jsonl")):
            pass  # its record is the only clock there is
        playing.send_signal(number)
        before = playing.communicate()[1]
    resumed = subprocess.run([*command, "--resume"], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (resumed.returncode, "left its recording" in resumed.stderr) == (0, False), resumed.stderr
    assert "run_bash python3 -m unittest (exit 0)" in before + resumed.stderr, "the tests ran to their end after the fix"
    (cart,) = (isolated_home / "copies").glob("yagent-demo-*/cart")
    assert (cart / "tests" / "test_totals.py").read_text().count("def test_half_a_cent_rounds_up") == 1
    assert (cart / "cart" / "totals.py").read_text().count("ROUND_HALF_UP") == 2
    assert subprocess.run([sys.executable, "-m", "unittest"], cwd=cart, capture_output=True, check=False).returncode == 0


def cut_short(home: Path, directory: Path, *options: str) -> Path:
    """A demonstration that is killed on its way; its copy of the repository."""
    command = [sys.executable, "-m", "yagent", "demo", *options]
    with subprocess.Popen(
        command, env=environment(home), cwd=directory, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as one:
        assert one.stderr is not None
        while "read_file" not in one.stderr.readline():
            pass
        one.kill()
    (place,) = (home / "copies").glob("yagent-demo-*")
    return place


def test_of_two_that_go_on_at_once_one_does_and_the_other_leaves_its_copy_alone(isolated_home: Path, tmp_path: Path) -> None:
    place = cut_short(isolated_home, tmp_path)
    command = [sys.executable, "-m", "yagent", "demo", "--resume"]
    environ = environment(isolated_home)
    with subprocess.Popen(command, env=environ, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        second = play(isolated_home, tmp_path, "--resume")  # together: either may be the first
        third = play(isolated_home, tmp_path, "--resume")
        answer, told = first.communicate()
    ends = sorted([(first.returncode, told), (second.returncode, second.stderr), (third.returncode, third.stderr)])
    assert [code for code, _ in ends] == [0, 2, 2], ends
    assert "ROUND_HALF_UP" in answer + second.stdout
    assert "removed again" in ends[0][1]
    assert "removed" not in ends[1][1] + ends[2][1]
    assert not place.exists()


def test_a_copy_that_is_gone_is_named(isolated_home: Path, tmp_path: Path) -> None:
    place = cut_short(isolated_home, tmp_path)
    shutil.rmtree(place)
    refused = play(isolated_home, tmp_path, "--resume")
    assert (refused.returncode, f"is gone ({place}/cart)" in refused.stderr) == (2, True), refused.stderr
    assert "Begin one: yagent demo" in refused.stderr


def test_going_on_with_one_as_with_a_session_of_ones_own_names_the_way(isolated_home: Path, tmp_path: Path) -> None:
    cut_short(isolated_home, tmp_path)
    (path,) = (each for each in isolated_home.glob(".yagent/data/rollout/demonstrations/*.jsonl") if each.stem.count("_") == 1)
    session = path.stem.partition("_")[2]
    environ = {**environment(isolated_home), "YAGENT_BASE_URL": "http://127.0.0.1:9", "YAGENT_API_KEY": "x", "YAGENT_MODEL": "m"}
    command = [sys.executable, "-m", "yagent", "resume", session]
    refused = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (refused.returncode, refused.stderr.count("yagent demo --resume")) == (2, 1), refused.stderr


def test_one_that_is_stopped_and_kept_says_both(isolated_home: Path, tmp_path: Path) -> None:
    place = cut_short(isolated_home, tmp_path)
    command = [sys.executable, "-m", "yagent", "demo", "--resume", "--keep"]
    with subprocess.Popen(
        command, env=environment(isolated_home), cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as one:
        assert one.stderr is not None
        while "✓" not in one.stderr.readline():
            pass
        one.send_signal(signal.SIGTERM)
        told = one.stderr.read()
    assert one.returncode == 143
    assert told.endswith(f"The repository is kept in {place}/cart.\nGo on with it: yagent demo --resume --keep\n")
