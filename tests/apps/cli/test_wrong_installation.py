"""A copy of the program in which something is missing."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

from tests.support.command_line import SOURCES, CommandLine
from tests.support.model_server import ModelServer

pytestmark = [pytest.mark.real_time, pytest.mark.slow]


@pytest.fixture
def copy(tmp_path: Path, yagent: CommandLine) -> Path:
    """The program's own copy, which runs instead of this checkout."""
    for name in ("src", "prompts", "protocol"):
        copytree(SOURCES / name, tmp_path / "copy" / name)
    yagent.environment["PYTHONPATH"] = str(tmp_path / "copy/src")
    return tmp_path / "copy"


async def test_a_tool_without_its_description_ends_the_start_with_its_name(
    yagent: CommandLine, model_server: ModelServer, copy: Path
) -> None:
    model_server.play({"are the Director": ["fine"]})
    assert (await yagent.run("-p", "go")).answer == "fine\n"
    (copy / "prompts/tools/run_bash.md").unlink()  # no tool of the Director's, so nothing else would look for it
    result = await yagent.run("-p", "go")
    assert (result.code, result.out) == (1, b"")
    assert "run_bash: its description cannot be read" in result.told
    assert "Traceback" not in result.told
    assert len(model_server.exchanges) == 1
