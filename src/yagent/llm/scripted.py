"""An engine that is a function: for tests, demonstrations and measurements without a model or a network.

    async def script(request: ScriptedRequest) -> ScriptedReply | None:
        if request.agent.startswith("You are the Director"):
            return ScriptedReply(calls=(ToolCall("c1", "list_dir", "{}"),)) if not request.results else ScriptedReply(text="done")
        return None                                     # an agent nobody expected: fails loudly

It dispatches by who asks (the first line of the system prompt) and for what (the first user message), never by the number of the call:
agents run side by side, and two of one kind differ by their task.
"""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeAlias

from yagent.llm.engine import CallOptions, Completed, Finish, Head, ModelGaveUp, StreamEvent
from yagent.llm.playback import Playback
from yagent.protocol.messages import Message, ModelIdentity, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from yagent.records import dataclass


class UnknownAgent(ModelGaveUp):
    """A script or a recording has nothing to say to this agent and task."""


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """A call as a script sees it: the fixed head and every message so far."""

    head: Head
    messages: tuple[Message, ...]
    options: CallOptions

    @property
    def agent(self) -> str:
        """Who asks: the first line of the system prompt."""
        return agent_of(self.head)

    @property
    def task(self) -> str:
        """What for: the first user message."""
        return task_of(self.messages)

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results of the last message, in call order; empty when it is something else."""
        return self.messages[-1].results if self.messages else ()


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """What the played model says. Call ids must be unique within the conversation."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish: Finish | None = None  # None: "tool_calls" with calls, else "stop"
    usage: Usage | None = None

    def completed(self, identity: ModelIdentity) -> Completed:
        """The reply as an engine gives it."""
        parts: list[Part] = [Reasoning(self.reasoning)] if self.reasoning else []
        parts += [Text(self.text)] if self.text else []
        message = Message("assistant", (*parts, *self.calls), identity.fingerprint)
        return Completed(message, self.finish or ("tool_calls" if self.calls else "stop"), self.usage, identity.model)


Script: TypeAlias = Callable[[ScriptedRequest], ScriptedReply | Awaitable[ScriptedReply | None] | None]


def agent_of(head: Head) -> str:
    """The identity a system prompt begins with."""
    return head.system.strip().split("\n", 1)[0].strip()


def task_of(messages: tuple[Message, ...]) -> str:
    """The first user message."""
    return next((message.text for message in messages if message.role == "user"), "")


class ScriptedEngine:
    """Asks a script instead of a model; implements `Engine`. A script that answers None raises `UnknownAgent`."""

    def __init__(self, script: Script, playback: Playback, identity: ModelIdentity | None = None) -> None:
        self._script = script
        self._playback = playback
        self._identity = identity or ModelIdentity("scripted", "scripted", "openai")

    @property
    def identity(self) -> ModelIdentity:
        """See `Engine.identity`."""
        return self._identity

    def open(self, head: Head) -> "ScriptedDialogue":
        """See `Engine.open`."""
        return ScriptedDialogue(head, self)

    async def answer(self, request: ScriptedRequest) -> AsyncGenerator[StreamEvent, None]:
        """What the script says to a request."""
        await self._playback.ready()
        said = self._script(request)
        reply = await said if inspect.isawaitable(said) else said
        if reply is None:
            raise UnknownAgent(f"The script has no reply for the agent {request.agent!r} with the task {request.task[:120]!r}.")
        async for event in self._playback.tell(reply.completed(self._identity)):
            yield event


class ScriptedDialogue:
    """One conversation with a script; implements `Dialogue`."""

    def __init__(self, head: Head, engine: ScriptedEngine) -> None:
        self._head = head
        self._engine = engine
        self._messages: list[Message] = []

    def append(self, message: Message) -> None:
        """See `Dialogue.append`."""
        self._messages.append(message)

    def stream(self, options: CallOptions) -> AsyncGenerator[StreamEvent, None]:
        """See `Dialogue.stream`."""
        return self._engine.answer(ScriptedRequest(self._head, tuple(self._messages), options))
