"""The main job on real code: a bug put into a published package is found, fixed, proven by the package's own tests, and reported.

The user says what is wrong and what would be right, never where. Path, line and text come from tool results alone.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.fixtures import commit
from tests.support.model_server import Agent, ModelServer, Reply, hand_over
from tests.support.session import Sessions
from tests.support.source_archives import Archive, Offline
from yagent.protocol.result import FileChange

pytestmark = [pytest.mark.online, pytest.mark.slow, pytest.mark.timeout(240)]
PYTEST = "python -m pytest -q -x -p no:asyncio -p no:cacheprovider"
TASK = "Somewhere `{wrong}` is computed where it has to be `{right}`. Find the place, fix it, and prove it with `{tests}`."


@dataclass(frozen=True, slots=True)
class Package:
    """A package, the protocol its task is played in, and its tests. `source` is where its modules are importable from."""

    archive: Archive
    api_format: str
    tests: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Bug:
    """A change that breaks the package. Both texts occur once; their lengths differ, as bytecode is kept by size and second."""

    path: str
    right: str
    wrong: str


ISODATE = Package(
    Archive("isodate", "0.7.2", "4cd1aa0f43ca76f4a6c6c0292a85f40b35ec2e43e315b59f06e6d32171a953e6"), "openai", f"{PYTEST} tests", "src"
)
INFLECTION = Package(
    Archive("inflection", "0.5.1", "1a29730d366e996aaacffb2f1f1cb9593dc38e2ddd30c91250c6dde09ea9b417"), "responses", PYTEST
)
MORE_ITERTOOLS = Package(
    Archive("more-itertools", "10.5.0", "5482bfef7849c25dc3c6dd53a6173ae4795da2a41a80faea6700d9f5846c5da6"),
    "anthropic",
    "python -m unittest -q tests.test_recipes",
)
CASES = [
    (ISODATE, Bug("src/isodate/isodates.py", 'timedelta(days=int(groups["day"]) - 1)', 'timedelta(days=int(groups["day"]))')),
    (ISODATE, Bug("src/isodate/isotzinfo.py", "tdelta.days * 24 * 60 * 60 + tdelta.seconds", "tdelta.days * 24 * 60 + tdelta.seconds")),
    (INFLECTION, Bug("inflection/__init__.py", "string[0].lower() + camelize(string)[1:]", "string[0].lower() + camelize(string)")),
    (INFLECTION, Bug("inflection/__init__.py", "normalized.encode('ascii', 'ignore')", "normalized.encode('ascii', 'replace')")),
    (MORE_ITERTOOLS, Bug("more_itertools/recipes.py", "list(islice(iterable, n))", "list(islice(iterable, n + 1))")),
    (MORE_ITERTOOLS, Bug("more_itertools/recipes.py", "repeat(tuple(iterable), n)", "repeat(tuple(iterable), n + 1)")),
]


async def repo(agent: Agent) -> Reply:
    """Searches for what the user saw."""
    wrong = re.search(r"Find `(.+?)`", agent.task)
    assert wrong is not None
    found = await agent.call("search_by_regex", pattern=re.escape(wrong[1]))
    match = re.search(r"^(?P<path>\S+?\.py):(?P<line>\d+):\s*(?P<text>.+)$", found, re.MULTILINE)
    assert match is not None, found
    shown = await agent.call("read_file", path=match["path"], start_line=int(match["line"]), end_line=int(match["line"]))
    assert match["text"].strip() in shown, shown
    fact = {"claim": match["text"].strip(), "where": f"{match['path']}:{match['line']}"}
    return hand_over("Found it.", facts=[fact])


async def coding(agent: Agent) -> Reply:
    """Sees the tests fail, fixes the line Repo named, sees them pass."""
    place = re.search(r"- (?P<text>\S.*) \((?P<path>[^\s:()]+\.py):(?P<line>\d+)\)$", agent.task, re.MULTILINE)
    change = re.search(r"Replace `(?P<wrong>.+?)` by `(?P<right>.+?)`, prove it with `(?P<tests>.+?)`", agent.task)
    assert place is not None, agent.task
    assert change is not None, agent.task
    before = await agent.call("run_bash", command=change["tests"])
    assert re.search(r"exit code [^0]", before), before
    await agent.call("read_file", path=place["path"], start_line=int(place["line"]), end_line=int(place["line"]))
    edits = [{"search": place["text"], "replace": place["text"].replace(change["wrong"], change["right"])}]
    changed = await agent.call("search_replace_in_file", path=place["path"], edits=edits)
    assert "+1 -1" in changed, changed
    after = await agent.call("run_bash", command=change["tests"])
    assert "exit code 0" in after, after
    return hand_over("Fixed and proven.", facts=[{"claim": "the tests pass", "where": change["tests"]}])


async def director(agent: Agent) -> str:
    """Hands out both parts; reports the place Repo named, once Coding has proven the fix."""
    said = re.search(r"`(?P<wrong>.+?)` is computed where it has to be `(?P<right>.+?)`.+ with `(?P<tests>.+?)`\.", agent.task)
    assert said is not None, agent.task
    found = await agent.call("delegate_repo", task=f"Find `{said['wrong']}` and report its line.")
    where = re.search(r"\((?P<path>[^\s:()]+\.py):(?P<line>\d+)\)", found)
    assert where is not None, found
    task = f"Replace `{said['wrong']}` by `{said['right']}`, prove it with `{said['tests']}`"
    fixed = await agent.call("delegate_coding", task=task, context_refs=["agent:repo"])
    assert "Fixed and proven." in fixed, fixed
    return f"It was in {where['path']}, line {where['line']}."


def lay_out(package: Package, bug: Bug, workspace: Path, download: Path) -> int:
    """The package with the bug, committed; the line the bug is in."""
    try:
        package.archive.unpack(download, workspace)
    except Offline as failure:
        pytest.skip(str(failure))
    path = workspace / bug.path
    text = path.read_text("utf-8")
    broken = text.replace(bug.right, bug.wrong)
    assert (text.count(bug.right), broken.count(bug.wrong)) == (1, 1)
    path.write_text(broken, "utf-8")
    (workspace / ".gitignore").write_text("__pycache__/\n*.egg-info/\n.hypothesis/\n")
    commit(workspace, "add", "-A")
    commit(workspace, "commit", "-q", "-m", "as published, but for one line")
    return text[: text.index(bug.right)].count("\n") + 1


@pytest.mark.parametrize(("package", "bug"), CASES, ids=[f"{case[0].archive.name}-{number % 2}" for number, case in enumerate(CASES)])
async def test_a_bug_in_a_published_package_is_found_fixed_proven_and_reported(
    sessions: Sessions, model_server: ModelServer, tmp_path: Path, package: Package, bug: Bug
) -> None:
    (download := tmp_path / "download").mkdir()
    line = lay_out(package, bug, sessions.workspace, download)
    model_server.play({"are the Director": director, "are Repo": repo, "are Coding": coding})
    environ = sessions.environment(package.api_format) | {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "PYTHONPATH": str(sessions.workspace / package.source),
    }
    async with sessions.open(environ=environ, mode="yolo") as opened:
        result = await opened.do(TASK.format(wrong=bug.wrong, right=bug.right, tests=package.tests))
    assert (result.error, result.answer, result.exit_code) == ("", f"It was in {bug.path}, line {line}.", 0)
    assert bug.right in (sessions.workspace / bug.path).read_text("utf-8")
    assert result.files_changed == (FileChange(bug.path, "modified"),)
    assert model_server.kept == 1.0
