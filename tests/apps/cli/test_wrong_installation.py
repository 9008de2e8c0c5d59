"""A copy of the program in which something is missing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from shutil import copytree

import pytest

from tests.support.command_line import LIMIT, SOURCES, CommandLine
from tests.support.model_server import Agent, Cast, ModelServer, Reply, RequestView, call, hand_over
from tests.support.terminal import closing

pytestmark = [pytest.mark.real_time, pytest.mark.slow]
LAST = b"yagent.compression.ultimate"  # of what `yagent.session.ahead` loads, with all that it needs


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


@pytest.mark.parametrize("module", ["rollout/checkpoint.py", "rollout/replay.py"])
async def test_an_answer_is_given_although_the_program_was_broken_while_it_ran(
    yagent: CommandLine, model_server: ModelServer, copy: Path, module: str
) -> None:
    async def director(agent: Agent) -> str:
        (copy / "src/yagent" / module).write_text("def (\n")
        return "the answer"

    model_server.play({"are the Director": director})
    result = await yagent.run("-p", "go")
    assert (result.code, result.answer) == (0, "the answer\n")
    assert "yagent was changed while it ran" in result.told
    assert "report" not in result.told


async def test_what_is_changed_while_a_command_runs_is_no_part_of_the_run(
    yagent: CommandLine, model_server: ModelServer, copy: Path
) -> None:
    breaking = f"for f in $(find {copy}/src -name '*.py'); do echo 'def (' >> $f; done"
    is_loaded = asyncio.Event()

    async def heard(stream: asyncio.StreamReader | None) -> str:
        """What it says, and the interpreter of each module that has been loaded."""
        told = ""
        assert stream is not None
        async for line in stream:
            told += line.decode()
            if line.split(b"|")[-1].strip() == LAST:
                is_loaded.set()
        return told

    async def coding(agent: Agent) -> Reply:
        await agent.call("run_bash", command="true")
        await agent.call("run_bash", command=breaking)
        await agent.call("run_bash", command="echo $((1 + 1)) | cat")
        return hand_over("broken")

    cast = Cast({"are the Director": [call("delegate_coding", task="break it"), "the answer"], "are Coding": coding})

    async def script(view: RequestView) -> Reply:
        if "are Coding" in view.identity:
            await is_loaded.wait()
        return cast(view)

    model_server.script = script
    process = await yagent.start("-Y", "-p", "go", environment={"PYTHONPROFILEIMPORTTIME": "1"})
    async with closing(process), asyncio.timeout(LIMIT):
        answer, told = await asyncio.gather(heard(process.stdout), heard(process.stderr))
        assert (await process.wait(), answer) == (0, "the answer\n"), told
    assert "changed while it ran" not in told
