"""Case J-04 once more: the stop of one child stops that child, all of it and nothing else, and so does a stop of everything."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.stances import Held, records, terminal, until
from tests.support.model_server import Agent, Call, ModelServer, Reply, hand_over
from tests.support.processes import gone, running, unique_sleep
from tests.support.session import Sessions
from yagent.protocol.events import DelegationEnded, DelegationStarted
from yagent.protocol.ops import Shutdown, StopTask
from yagent.protocol.stop import StopReason
from yagent.runtime.clock import SystemClock


@pytest.mark.real_time
@pytest.mark.slow
@pytest.mark.parametrize("end", ["stop", "hard stop", "leave"])
async def test_J04_a_stop_of_one_child_ends_it_alone_and_a_stop_of_all_ends_the_rest(
    sessions: Sessions, model_server: ModelServer, end: str
) -> None:
    marks = {name: unique_sleep() for name in ("one", "two", "three")}

    async def devops(agent: Agent) -> Reply:
        name = next(each for each in marks if f"grow {each}" in agent.task)
        grow = f"({marks[name]} & for i in $(seq 3000); do echo $i >> {name}.log; sleep 0.05; done)"
        await agent.call("run_bash", text=f"I grow {name}.", command=grow, is_background=True)
        return hand_over("never said while it is held back")

    async def repo(agent: Agent) -> Reply:
        name = next(each for each in marks if f"have {each} grown" in agent.task)
        return hand_over(await agent.call("delegate_devops", task=f"grow {name}"))

    async def director(agent: Agent) -> str:
        await agent.calls(*(Call("delegate_repo", {"task": f"have {name} grown"}) for name in marks))
        return "never"

    script = Held(model_server, {"are the Director": director, "are Repo": repo, "are DevOps": devops})
    script.hold("after a result")
    sessions.configure("[agent]\nmax_parallel_delegations = 3\n")

    def sizes() -> dict[str, int]:
        return {name: (sessions.workspace / f"{name}.log").stat().st_size for name in marks}

    async with sessions.open(clock=SystemClock(), mode="full-yolo") as opened:
        task = asyncio.ensure_future(opened.do("go"))
        await until(lambda: script.waiting == ["after a result"] * 3)
        await until(lambda: all((sessions.workspace / f"{name}.log").exists() for name in marks))
        begun = {each.task: each.delegation_id for each in opened.told(DelegationStarted)}
        await opened.session.submit(StopTask(begun["have two grown"], hard=end == "hard stop"))
        await until(lambda: len(opened.told(DelegationEnded)) == 2)
        assert gone(marks["two"], within=0)
        before, requests = sizes(), len(model_server.exchanges)
        await until(lambda: all(sizes()[name] > before[name] for name in ("one", "three")))
        assert sizes()["two"] == before["two"], "it writes nothing after it was said to have ended"
        assert running(marks["one"]) != []
        assert len(model_server.exchanges) == requests
        await opened.session.submit(Shutdown() if end == "leave" else StopTask(hard=end == "hard stop"))
        result = await task
        assert all(gone(mark, within=0) for mark in marks.values()), "who is gone writes nothing any more"
        assert len(model_server.exchanges) == requests
    assert result.stop_reason is StopReason.CANCELLED
    assert {each.stop_reason for each in result.delegations} == {StopReason.CANCELLED}
    assert {terminal(lines) for lines in records(sessions).values()} == {"cancelled"}
