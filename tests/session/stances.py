"""A session whose agents can be held back between their steps, and looked at there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.model_server import Agent, Call, ModelServer, Reply, hand_over
from tests.support.model_server.scripts import Cast, Roles
from tests.support.model_server.view import RequestView
from tests.support.session import Opened, Sessions
from yagent.protocol.client import RunningAgent
from yagent.protocol.events import DelegationStarted, Event, TaskPaused, TaskResumed
from yagent.protocol.ops import Op, Shutdown, StartTask
from yagent.protocol.result import TaskResult

STEPS = 3000  # of 10 ms of the loop's own time
DAY = 86_400.0  # longer than any limit


async def until(condition: Callable[[], object]) -> None:
    """Wait in the time of the loop until `condition()` holds."""
    for _ in range(STEPS):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come true")


class Held:
    """A script whose replies to some agents wait. An agent is named by words of its identity or of its task; `after a result` are those
    that have just been given the result of a call."""

    def __init__(self, server: ModelServer, roles: Roles) -> None:
        self._cast = Cast(roles)
        self._server = server
        self._gates: dict[str, asyncio.Event] = {}
        self.waiting: list[str] = []
        server.script = self

    async def __call__(self, view: RequestView) -> Reply:
        told = f"{view.identity} {view.task}{' after a result' if view.results else ''}"
        for words in [each for each in self._gates if each in told]:
            self.waiting.append(words)
            await self._gates[words].wait()
            self.waiting.remove(words)
        return self._cast(view)

    def hold(self, words: str) -> None:
        """Let replies to this agent wait."""
        self._gates[words] = asyncio.Event()

    def release(self, words: str) -> None:
        """Let them come."""
        self._gates.pop(words).set()

    def requests(self, words: str) -> int:
        """How often this agent has asked so far."""
        return sum(words in f"{view.identity} {view.task}" for view in self._server.views)


async def reading(agent: Agent) -> Reply:
    """Three steps of reading, then the end."""
    for line in (1, 2, 3):
        await agent.call("read_file", text=f"I look at line {line}.", path="notes.txt", start_line=line)
    return hand_over("read it")


async def handing_on(agent: Agent) -> Reply:
    """Has the work done by somebody else, below."""
    return hand_over(await agent.call("delegate_devops", text="I hand it on.", task="deep"))


async def director(agent: Agent) -> str:
    """Two delegations side by side; what came of them is the answer."""
    results = await agent.calls(Call("delegate_repo", {"task": "left"}), Call("delegate_repo", {"task": "right"}))
    return "\n====\n".join(result.text for result in results)


def crew(server: ModelServer, **parts: Any) -> Held:
    """The Director over `left`, and over `right`, who hands on to `deep`."""
    roles: dict[str | tuple[str, str], Any] = {
        "are the Director": parts.get("director", director),
        ("are Repo", "left"): parts.get("left", reading),
        ("are Repo", "right"): parts.get("right", handing_on),
        ("are DevOps", "deep"): parts.get("deep", reading),
    }
    return Held(server, roles)


def agents(opened: Opened) -> dict[str, RunningAgent]:
    """Those at work whose start was told, the Director as "director", the others by their role, `left` and `right` by their task."""
    told = names(opened)
    found = [each for each in opened.session.snapshot().agents if not each.delegation_id or each.delegation_id in told]
    return {each.role if each.role != "repo" else told[each.delegation_id]: each for each in found}


def names(opened: Opened) -> dict[str, str]:
    """The task of each delegation that has begun, by its id."""
    return {each.delegation_id: each.task for each in opened.told(DelegationStarted)}


def paused_and_resumed(opened: Opened) -> list[tuple[str, str, int]]:
    """What was told of standing still: the type, the agent, the steps it had finished."""
    found = [event.payload for event in opened.events if isinstance(event.payload, TaskPaused | TaskResumed)]
    return [(payload.type, payload.agent, payload.step) for payload in found]


def records(sessions: Sessions) -> dict[str, list[dict[str, Any]]]:
    """The records of all agents by their task ("" for the Director)."""
    found = {}
    for path in sorted(sessions.home.glob(".yagent/data/rollout/**/*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        meta = lines[0]["payload"]
        found[meta["task"] if meta.get("delegation_id") else ""] = lines
    return found


def terminal(lines: list[dict[str, Any]]) -> str:
    """The stop reason of the last record, "" when it is no terminal one."""
    last = lines[-1]
    return str(last["payload"].get("data", {}).get("stop_reason", "")) if last["type"] == "event_msg" else ""


def event_of(opened: Opened, kind: type[Any]) -> Event:
    """The newest event of a kind."""
    return next(event for event in reversed(opened.events) if isinstance(event.payload, kind))


@dataclass
class Scene:
    """A task of the crew under way."""

    sessions: Sessions
    opened: Opened
    crew: Held
    task: asyncio.Future[TaskResult | None]

    async def submit(self, op: Op) -> None:
        assert await self.opened.session.submit(op) is None

    def id(self, name: str) -> str:
        return agents(self.opened)[name].delegation_id

    async def works(self, *names: str) -> None:
        """Wait until these are at work."""
        await until(lambda: set(names) <= agents(self.opened).keys())

    async def held(self, *names: str) -> None:
        """Wait until the replies to these wait."""
        await until(lambda: set(names) <= set(self.crew.waiting))

    async def stands(self, *names: str) -> None:
        """Wait until these stand still, and nobody else does."""
        await until(lambda: {name for name, agent in agents(self.opened).items() if agent.stands_still} == set(names))

    async def result(self) -> TaskResult:
        found = await self.task
        assert found is not None
        return found


@asynccontextmanager
async def scene(sessions: Sessions, server: ModelServer, *held: str, person: Any = None, **parts: Any) -> AsyncIterator[Scene]:
    """A task whose agents are held back at their first step."""
    held_script = crew(server, **parts)
    for words in held:
        held_script.hold(words)
    async with sessions.open(mode=None if person else "full-yolo", person=person) as opened:
        task = asyncio.ensure_future(opened.session.submit(StartTask("go")))
        try:
            yield Scene(sessions, opened, held_script, task)
        finally:
            await opened.session.submit(Shutdown())
            await asyncio.wait([task])
