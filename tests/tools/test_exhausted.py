"""What no tool and no machine can take: numbers beyond all bounds, and the end of open files, threads and memory."""

import fcntl
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tools.scopes import Desk
from yagent.tools.exhausted import lacking
from yagent.tools.parameters import object_kind
from yagent.tools.spec import CallContext, Effect, Output, Spec
from yagent.tools.surface import Surface


@dataclass(frozen=True, slots=True)
class Parameters:
    """The probe takes nothing."""


@pytest.mark.parametrize(
    ("error", "lacking"),
    [
        (OSError(24, "Too many open files"), "open files"),
        (RuntimeError("can't start new thread"), "processes or threads"),
        (MemoryError(), "memory"),
    ],
)
async def test_a_limit_of_the_machine_is_no_failure_of_the_tool(coding: Desk, error: Exception, lacking: str) -> None:
    async def exhausted(parameters: Parameters, context: CallContext) -> Output:
        raise error

    coding.use(Surface("coding", [Spec("probe", Effect.FS_READ, Parameters, exhausted)], descriptions={"probe": "Probe."}))
    output = await coding.make("probe")
    assert output.is_error
    assert "failed inside" not in output.text
    assert f"a limit of this machine is reached, it has no more {lacking} to give now" in output.text
    assert "make it again" in output.text


STARTING = """
import os, resource, subprocess, sys
from yagent.tools.exhausted import lacking

resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
if os.geteuid() == 0:
    os.setuid(65534)  # root may start any number
try:
    subprocess.run([sys.executable, "--version"])
except OSError as error:
    print(lacking(error))
"""


def test_a_process_that_cannot_be_started_lacks_processes() -> None:
    done = subprocess.run([sys.executable, "-c", STARTING], check=True, timeout=60, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "processes or threads\n"


def test_a_lock_that_somebody_has_is_no_limit_of_the_machine(tmp_path: Path) -> None:
    with open(tmp_path / "lock", "w") as held, open(tmp_path / "lock", "w") as wanted:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError) as raised:
            fcntl.flock(wanted, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert lacking(raised.value) == ""


@pytest.mark.parametrize("number", [10**30, -(10**30), 10**300])
async def test_no_number_is_greater_than_any_tool_can_take(coding: Desk, number: int) -> None:
    coding.surface.load(coding.surface.names)
    tried = 0
    for spec in filter(None, map(coding.surface.find, coding.surface.names)):
        properties = object_kind(spec.parameters).schema["properties"]
        for name in (each for each, form in properties.items() if form["type"] in ("integer", "number")):
            output = await coding.make(spec.name, **{name: number})
            assert output.is_error
            assert "failed inside" not in output.text
            assert f'"{name}" must be' in output.text
            tried += 1
    assert tried > 5
