"""Ctrl-C while yagent is still being imported."""

import os
import signal
import subprocess
import sys

import pytest

from tests.support.command_line import SOURCES

PROGRAM = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["yagent", "--help"]
from yagent.__main__ import main
main()
"""


def started(module: str, *, ignoring: bool = False) -> "subprocess.CompletedProcess[str]":
    """Start, and interrupt when `module` is about to be imported."""

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN if ignoring else signal.SIG_DFL)

    program = [sys.executable, "-c", PROGRAM.format(module=module)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES / "src")}
    return subprocess.run(program, env=environment, preexec_fn=prepare, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize("module", ["yagent.apps.cli.main", "typer", "yagent.session.build"])
def test_an_interrupt_during_the_imports_ends_with_one_line(module: str) -> None:
    run = started(module)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "yagent: stopped.\n")


def test_an_interrupt_that_whoever_started_us_ignores_is_ignored() -> None:
    run = started("typer", ignoring=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert "Usage" in run.stdout
