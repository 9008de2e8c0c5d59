"""context_refs: earlier results in full, and an account of what leads nowhere."""

from pathlib import Path

import pytest

from tests.blackboard.boards import Desk
from tests.support.virtual_time import VirtualClock
from yagent.blackboard.artifacts import Artifacts
from yagent.blackboard.resolve import resolve
from yagent.blackboard.settings import BlackboardSettings


@pytest.fixture
def desk(tmp_path: Path, clock: VirtualClock) -> Desk:
    """An empty board."""
    return Desk(tmp_path, clock)


@pytest.fixture
def artifacts(tmp_path: Path, clock: VirtualClock) -> Artifacts:
    """No artifacts yet."""
    return Artifacts(tmp_path / "artifacts", clock, BlackboardSettings())


@pytest.mark.parametrize(
    "reference", ["agent:repo#1", "agent:repo_agent#1", "note:repo#1", "repo#1", " agent: repo#1 ", "[repo#1]", "`Agent:repo#1`"]
)
async def test_every_form_of_a_reference_gives_the_whole_result(desk: Desk, artifacts: Artifacts, reference: str) -> None:
    await desk.write(body="first story")
    await desk.write(delegation_id="d2", body="second story")
    pack = await resolve([reference], desk.board, artifacts.read)
    assert pack.unresolved == ()
    ((name, text),) = pack.texts
    assert name == reference.strip()
    assert "first story" in text


@pytest.mark.parametrize("reference", ["agent:repo", "agent:repo_agent", "repo"])
async def test_an_agent_without_a_number_means_its_newest_result(desk: Desk, artifacts: Artifacts, reference: str) -> None:
    await desk.write(body="first story")
    await desk.write(delegation_id="d2", body="second story")
    pack = await resolve([reference], desk.board, artifacts.read)
    assert "second story" in pack.texts[0][1]


async def test_an_artifact_is_given_whole(desk: Desk, artifacts: Artifacts) -> None:
    identity = await artifacts.store("the whole\n" * 1000)
    for reference in (f"artifact:{identity}", identity):
        pack = await resolve([reference], desk.board, artifacts.read)
        assert pack.texts == ((reference, "the whole\n" * 1000),)


async def test_what_leads_nowhere_is_named_and_takes_nothing_with_it(desk: Desk, artifacts: Artifacts) -> None:
    await desk.write()
    wrong = ["agent:coding", "note:repo#9", "artifact:../../etc/passwd", "artifact:20260101-000000-0123abcd", "http://x", "artifact:"]
    pack = await resolve([*wrong, "repo"], desk.board, artifacts.read)
    assert pack.unresolved == tuple(wrong)
    assert [name for name, _ in pack.texts] == ["repo"]
    assert pack.known == ("repo#1",), "the ids that could have been meant"


async def test_ten_are_given_after_doubles_are_removed(desk: Desk, artifacts: Artifacts) -> None:
    for number in range(12):
        await desk.write(delegation_id=f"d{number}")
    references = [f"note:repo#{number}" for number in range(1, 13)]
    pack = await resolve([references[0], f" {references[0]} ", "", *references], desk.board, artifacts.read)
    assert [name for name, _ in pack.texts] == references[:10]
    assert pack.left_out == tuple(references[10:])


async def test_two_names_of_one_result_give_it_once(desk: Desk, artifacts: Artifacts) -> None:
    await desk.write()
    pack = await resolve(["agent:repo", "repo#1", "note:repo#1"], desk.board, artifacts.read)
    assert [name for name, _ in pack.texts] == ["agent:repo"]
    assert pack.unresolved == ()
