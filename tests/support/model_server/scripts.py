"""Scripts: functions that decide, from a request alone, what the played model says."""

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from tests.support.model_server.reply import Call, Chaos, Reply
from tests.support.model_server.view import RequestView, SeenResult

Script: TypeAlias = Callable[[RequestView], Reply | Awaitable[Reply]]
Part: TypeAlias = "Callable[[Agent], Coroutine[Any, Any, Reply | str | None]]"
Role: TypeAlias = "Part | Sequence[Reply | str]"
Roles: TypeAlias = Mapping[str | tuple[str, str], Role]


class ScriptError(AssertionError):
    """The script does not know what to say; fails the test."""


class Agent:
    """One agent as its script sees it. Each awaited method ends one reply and gives what the next request brings."""

    def __init__(self, view: RequestView) -> None:
        self.view = view

    @property
    def task(self) -> str:
        """What the agent was asked for."""
        return self.view.task

    async def call(self, name: str, *, text: str = "", **arguments: Any) -> str:
        """Make one tool call and wait for the text of its result."""
        return (await self.calls(Call(name, arguments), text=text))[0].text

    async def calls(self, *calls: Call, text: str = "") -> tuple[SeenResult, ...]:
        """Make several calls in one reply and wait for their results, in call order."""
        view = await self.reply(Reply(text=text, calls=calls))
        if len(view.results) != len(calls):
            raise ScriptError(f"{self.view.identity!r} made {len(calls)} calls and got {len(view.results)} results")
        return view.results

    async def say(self, text: str) -> str:
        """Say something and wait for the user's (or the loop's) next words."""
        return (await self.reply(Reply(text=text))).user_text

    async def reply(self, reply: Reply) -> RequestView:
        """Say exactly this and wait for the next request."""
        self.view = await _Said(reply)
        return self.view


@dataclass(frozen=True, slots=True)
class _Said:
    reply: Reply

    def __await__(self) -> Generator[Reply, RequestView, RequestView]:
        return (yield self.reply)


@dataclass(slots=True)
class _Performance:
    """A script under way for one conversation."""

    part: Coroutine[Any, Any, Reply | str | None] | None
    agent: Agent
    lines: list[Reply] = field(default_factory=list)
    started: bool = False

    def next(self, view: RequestView) -> Reply:
        if self.part is None:
            if not self.lines:
                raise ScriptError(f"the script of {view.identity!r} is over, but another request came: {view.user_text[:200]!r}")
            return self.lines.pop(0)
        try:
            reply = self.part.send(view if self.started else None)
        except StopIteration as end:
            self.part = None
            last = end.value
            if last is None:
                raise ScriptError(f"the script of {view.identity!r} ended without a last reply") from None
            return last if isinstance(last, Reply) else Reply(text=last)
        self.started = True
        if not isinstance(reply, Reply):
            raise ScriptError(f"the script of {view.identity!r} awaited something other than its agent's methods")
        return reply


class Cast:
    """A script made of roles: `{"Director": part or replies, ("Coding", "words of the task"): …}`.

    A key fits when its name occurs in the agent's identity (first line of the system prompt) and its words in the task. Exactly one must
    fit, except that a key with words beats one without. A part is `async def part(agent: Agent)`; it returns the last reply.
    """

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._performances: dict[tuple[str, str], _Performance] = {}

    def __call__(self, view: RequestView) -> Reply:
        fresh = all(entry.role != "assistant" for entry in view.entries)
        if view.is_rewritten and fresh:
            self._go_on(view)
        elif fresh or view.conversation not in self._performances:
            self._performances[view.conversation] = self._begin(view)
        return self._performances[view.conversation].next(view)

    def _go_on(self, view: RequestView) -> None:
        """The conversation was rewritten: the newest performance of this agent goes on in the new one."""
        before = [key for key in self._performances if key[0] == view.system]
        if not before:
            raise ScriptError(f"{view.identity!r} is to go on with a conversation that nobody began")
        self._performances[view.conversation] = self._performances.pop(before[-1])

    def close(self) -> None:
        """End the scripts that still wait for a request."""
        for performance in self._performances.values():
            if performance.part is not None:
                performance.part.close()

    def _begin(self, view: RequestView) -> _Performance:
        role = self._roles[self._key(view)]
        agent = Agent(view)
        if callable(role):
            return _Performance(role(agent), agent)
        return _Performance(None, agent, [line if isinstance(line, Reply) else Reply(text=line) for line in role])

    def _key(self, view: RequestView) -> str | tuple[str, str]:
        fitting = [key for key in self._roles if _fits(key, view)]
        closest = [key for key in fitting if isinstance(key, tuple)] or fitting
        if len(closest) != 1:
            who = f"the agent {view.identity!r} with the task {view.task[:120]!r}"
            raise ScriptError(f"{len(closest)} roles fit {who}; known: {list(self._roles)}")
        return closest[0]


def delegating(tool: str, *tasks: str) -> Part:
    """A Director who hands out the tasks side by side and says what came back, with ==== between results."""

    async def director(agent: Agent) -> str:
        results = await agent.calls(*(Call(tool, {"task": task}) for task in tasks))
        return "\n====\n".join(result.text for result in results)

    return director


class Troubles(Protocol):
    """Where the trouble of replies comes from."""

    def draw(self) -> tuple[Chaos, ...]:
        """The trouble of the next reply, one for each attempt that meets any."""
        ...


def chaotic(script: Script, source: Troubles) -> Script:
    """The same script over a bad line: each reply gets the trouble the source draws."""

    async def troubled(view: RequestView) -> Reply:
        reply = script(view)
        said = await reply if inspect.isawaitable(reply) else reply
        return replace(said, chaos=(*said.chaos, *source.draw()))

    return troubled


def _fits(key: str | tuple[str, str], view: RequestView) -> bool:
    name, words = key if isinstance(key, tuple) else (key, "")
    return name.lower() in view.identity.lower() and words in view.task
