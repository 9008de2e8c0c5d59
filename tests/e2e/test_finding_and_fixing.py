"""The main job, in each dialect: the Director plans, Repo finds a bug, Coding fixes and proves it, the Director reports where it was.

The scripts know what to look for, never where it is: path, line and text come from tool results.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.fixtures import commit
from tests.support.model_server import Agent, ModelServer, Reply, hand_over
from tests.support.session import Sessions
from yagent.protocol.result import FileChange
from yagent.protocol.stop import StopReason

FORMATS = ("openai", "responses", "anthropic")
# of unequal length: the interpreter keeps bytecode by size and second
RIGHT, WRONG = "price * (100 - percent) / 100", "price * (100 +percent) / 100"
TEST = """import unittest
from shop.{module} import discounted


class Discounts(unittest.TestCase):
    def test_a_tenth_off(self) -> None:
        self.assertEqual(discounted(200, 10), 180)
"""


def lay_out(workspace: Path, module: str, line: int) -> None:
    """A package whose bug is in `module`, at `line`."""
    (workspace / ".gitignore").write_text("__pycache__/\n")
    (workspace / "shop").mkdir()
    (workspace / "tests").mkdir()
    for name in ("__init__.py", "stock.py", "prices.py", "orders.py"):
        (workspace / "shop" / name).write_text('"""Nothing to see."""\n')
    filling = "".join(f"# line {number}\n" for number in range(1, line - 1))
    (workspace / "shop" / f"{module}.py").write_text(f"{filling}def discounted(price, percent):\n    return {WRONG}\n")
    (workspace / "tests" / "__init__.py").write_text("")
    (workspace / "tests" / "test_discounts.py").write_text(TEST.format(module=module))
    commit(workspace, "add", "-A")
    commit(workspace, "commit", "-q", "-m", "shop")


async def repo(agent: Agent) -> Reply:
    """Looks for the operator in the discount."""
    found = await agent.call("search_by_regex", pattern=r"percent\) / 100")
    match = re.search(r"^(?P<path>\S+?\.py):(?P<line>\d+)[:-]\s*(?P<text>.+)$", found, re.MULTILINE)
    assert match is not None, found
    shown = await agent.call("read_file", path=match["path"], start_line=int(match["line"]) - 1, end_line=int(match["line"]))
    assert match["text"].strip() in shown
    where = f"{match['path']}:{match['line']}"
    fact = {"claim": match["text"].strip(), "where": where}
    return hand_over(f"The discount is added instead of taken off at {where}", facts=[fact])


async def coding(agent: Agent) -> Reply:
    """Reads what Repo found, sees the test fail, fixes the place, sees it pass."""
    match = re.search(r"- (?P<text>\S.+) \((?P<path>[^\s:()]+):(?P<line>\d+)\)", agent.task)
    assert match is not None, agent.task
    before = await agent.call("run_bash", command="python -m unittest -q")
    assert "FAILED" in before, before
    await agent.call("read_file", path=match["path"])
    edits = [{"search": match["text"], "replace": match["text"].replace("+", "- ")}]
    changed = await agent.call("search_replace_in_file", path=match["path"], edits=edits)
    assert "+1 -1" in changed, changed
    after = await agent.call("run_bash", command="python -m unittest -q")
    assert "exit code 0" in after, after
    return hand_over(f"Fixed {match['path']}:{match['line']}", facts=[{"claim": "the tests pass", "where": "python -m unittest -q"}])


async def director(agent: Agent) -> str:
    """Delegates both parts; says what came back."""
    found = await agent.call("delegate_repo", task="Find where the discount is computed and what is wrong with it.")
    where = re.search(r"[^\s()]+\.py:\d+", found)
    assert where is not None, found
    fixed = await agent.call("delegate_coding", task="Fix what Repo found and prove it with the tests.", context_refs=["agent:repo"])
    assert f"Fixed {where[0]}" in fixed, fixed
    return f"The bug was at {where[0]}; the tests pass now."


@pytest.mark.parametrize(("module", "line"), [("prices", 40), ("orders", 7)])
@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.slow
async def test_a_bug_is_found_fixed_proven_and_reported_where_it_was(
    sessions: Sessions, model_server: ModelServer, api_format: str, module: str, line: int
) -> None:
    lay_out(sessions.workspace, module, line)
    model_server.play({"are the Director": director, "are Repo": repo, "are Coding": coding})
    async with sessions.open(api_format=api_format, mode="yolo") as opened:
        result = await opened.do("Ten percent off gives a higher price. Fix it.")
    path = f"shop/{module}.py"
    assert result.error == ""
    assert (result.answer, result.exit_code) == (f"The bug was at {path}:{line}; the tests pass now.", 0)
    assert RIGHT in (sessions.workspace / path).read_text()
    assert result.files_changed == (FileChange(path, "modified"),)
    assert [(each.role, each.status, each.stop_reason) for each in result.delegations] == [
        ("repo", "ok", StopReason.AGENT_EXIT),
        ("coding", "ok", StopReason.AGENT_EXIT),
    ]
    assert model_server.kept == 1.0
    assert model_server.connections <= model_server.peak_in_flight + 1
