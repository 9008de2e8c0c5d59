"""Signals that come when a run is over."""

import os
import signal
import subprocess
import sys

import pytest

from tests.support.command_line import SOURCES

PROGRAM = """
import asyncio, os, signal, sys
from yagent.apps.cli.interruption import Interruption

number, times = int(sys.argv[1]), int(sys.argv[2])

def send():
    for _ in range(times):
        os.kill(os.getpid(), number)

async def run():
    interruption = Interruption(lambda: print("stopped", flush=True), lambda: None)
    interruption.install()
    interruption.release()
    if sys.argv[3] == "before the loop is closed":
        send()
        await asyncio.sleep(0)

asyncio.run(run())
if sys.argv[3] == "after it":
    send()
print("cleaned up", flush=True)
"""
NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def sent(number: int, times: int, when: str) -> "subprocess.CompletedProcess[str]":
    """A run that gets a signal once it is over."""
    program = [sys.executable, "-c", PROGRAM, str(int(number)), str(times), when]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES / "src")}
    return subprocess.run(program, env=environment, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize("when", ["before the loop is closed", "after it"])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_after_the_end_starts_nothing_and_cuts_no_cleaning_up_short(number: int, when: str) -> None:
    run = sent(number, 1, when)
    assert (run.returncode, run.stdout, run.stderr) == (0, "cleaned up\n", "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_one_ends_the_process_quietly(number: int, code: int) -> None:
    run = sent(number, 2, "after it")
    assert (run.returncode, run.stdout, run.stderr) == (code, "", "")


IGNORING = """
import asyncio, os, signal, sys
from yagent.apps.cli.interruption import Interruption

number = int(sys.argv[1])
signal.signal(number, signal.SIG_IGN)

async def run():
    interruption = Interruption(lambda: print("stopped", flush=True), lambda: None)
    interruption.install()
    os.kill(os.getpid(), number)
    await asyncio.sleep(0)
    interruption.release()
    os.kill(os.getpid(), number)
    os.kill(os.getpid(), number)
    print(interruption.exit_code, flush=True)

asyncio.run(run())
"""


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_that_is_ignored_from_outside_stays_ignored(number: int) -> None:
    program = [sys.executable, "-c", IGNORING, str(int(number))]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES / "src")}
    run = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "None\n", "")
