"""A test that takes long without saying so fails; one that is marked, or only waits its turn, does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processor_time import CROWD, NOISE, PROCESSOR_SECONDS, WALL_SECONDS, Spent, Watch, slowness

SURE = PROCESSOR_SECONDS * NOISE
ROOT = Path(__file__).resolve().parents[2]
SAMPLE = """
import os, subprocess, sys
import pytest

def work(seconds):
    begun = sum(os.times()[:2])
    while sum(os.times()[:2]) - begun < seconds:
        pass

def test_quick():
    assert True

def test_own_work():
    work(0.15)

def test_work_of_a_child():
    subprocess.run([sys.executable, "-c", "import os\\nwhile sum(os.times()[:2]) < 0.15: pass"], check=True)

@pytest.mark.slow
def test_marked():
    work(0.15)

def test_failing():
    work(0.15)
    assert False, "for a reason of its own"
"""
PLUGIN = """
from tests.support.processor_time import Watch

def pytest_configure(config):
    config.pluginmanager.register(Watch(limit=0.03, slowness=lambda: 1.0))
"""


def outcomes(place: Path) -> dict[str, str]:
    """Test to outcome, of the sample run by itself with a limit of 30 ms, so that 120 ms are surely too much."""
    (place / "test_sample.py").write_text(SAMPLE)
    (place / "conftest.py").write_text(PLUGIN)
    (place / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    words = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--rootdir", str(place), str(place)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, check=False)
    lines = [line.split(" ", 2) for line in done.stdout.splitlines() if line.startswith(("PASSED ", "FAILED "))]
    return {line[1].partition("::")[2]: " ".join([line[0], *line[2:]]) for line in lines}


def test_a_test_that_takes_long_fails_unless_it_is_marked(tmp_path: Path) -> None:
    found = outcomes(tmp_path)
    assert found["test_quick"] == found["test_marked"] == "PASSED"
    assert found["test_own_work"].startswith("FAILED - Failed: it took 0.")
    assert found["test_work_of_a_child"].startswith("FAILED - Failed: it took 0.")
    assert "for a reason of its own" in found["test_failing"]


@pytest.mark.parametrize(
    ("spent", "slower", "is_fine"),
    [
        (Spent(SURE - 0.1, 2.0), 1.0, True),
        (Spent(SURE + 0.1, 2.2), 1.0, False),
        (Spent(SURE + 0.1, 2.2), 1.5, True),
        (Spent(SURE * 1.5 + 0.1, 3.2), 1.5, False),
        (Spent(0.0, WALL_SECONDS - 0.1), 1.0, True),
        (Spent(0.0, WALL_SECONDS + 0.1), 1.0, False),
        (Spent(1.0, WALL_SECONDS + CROWD - 0.1), 1.0, True),
        (Spent(1.0, WALL_SECONDS + CROWD + 0.1), 3.0, False),
    ],
)
def test_what_is_too_long(spent: Spent, slower: float, is_fine: bool) -> None:
    assert (Watch(slowness=lambda: slower).complaint(spent) == "") is is_fine


def test_no_machine_has_less_time_than_the_limit_says() -> None:
    assert 1.0 <= slowness() < 1000.0


def test_this_run_is_watched(pytestconfig: pytest.Config) -> None:
    assert any(isinstance(each, Watch) for each in pytestconfig.pluginmanager.get_plugins())
