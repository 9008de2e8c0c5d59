"""Tool calls in a real scope: real files, real permissions, real registry; only people and models are played."""

import asyncio
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yagent.blackboard.artifacts import Artifacts
from yagent.blackboard.board import Board
from yagent.blackboard.evidence import Evidence, Look
from yagent.blackboard.settings import BlackboardSettings
from yagent.prompts.text import Prompts
from yagent.protocol.asks import Answer, Ask
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.messages import ToolCall
from yagent.protocol.result import DeniedAccount
from yagent.runtime.clock import Clock, SystemClock
from yagent.tools.builtin.catalogue import shipped_tools
from yagent.tools.builtin.notes import notes
from yagent.tools.invoke import Invoker
from yagent.tools.profiles import PROFILES
from yagent.tools.registry import Registry, select
from yagent.tools.spec import CallContext, DelegationRequest, Output, Scope
from yagent.tools.surface import Surface
from yagent.workspace.background import BackgroundJobs
from yagent.workspace.files import FileLedger
from yagent.workspace.grants import Grants
from yagent.workspace.permissions import Mode, Permissions, PermissionSettings
from yagent.workspace.protected import ProtectedSettings
from yagent.workspace.search import Searcher
from yagent.workspace.shell import Shell

PROMPTS = Prompts()
NOWHERE = Path("/nonexistent")
NOBODY = Answer(granted=False, answered_by="nobody")
YES = Answer(granted=True)
NO = Answer(granted=False)


def shipped_registry() -> Registry:
    """The registry as a session builds it; nothing was left to be read."""
    clock, off = SystemClock(), BlackboardSettings(enabled=False, artifacts=False)
    searcher = Searcher(clock, {"PATH": os.environ["PATH"]})
    nothing = Evidence(Look(lambda path: None))
    left = notes(Board(NOWHERE, "none", clock, off, nothing), Artifacts(NOWHERE, clock, off).read)
    tools = shipped_tools(searcher, lambda name: PROMPTS.text(f"cognition/{name}.md"), left)
    return Registry(tools, describe=lambda name: PROMPTS.text(f"tools/{name}.md"))


def surface_of(role: str, **wishes: Any) -> Surface:
    """The surface of a production profile."""
    return select(shipped_registry(), PROFILES[role], **wishes)


def call(name: str, /, **arguments: Any) -> ToolCall:
    """A tool call as a model makes it."""
    return ToolCall(f"call_{name}", name, json.dumps(arguments))


@dataclass
class Person:
    """Answers asks from a list, then always the same."""

    answers: list[Answer] = field(default_factory=list)
    asked: list[Ask] = field(default_factory=list)
    usually: Answer = NOBODY

    async def __call__(self, ask: Ask) -> Answer:
        self.asked.append(ask)
        return self.answers.pop(0) if self.answers else self.usually


@dataclass
class Played:
    """The model and the agents behind a scope."""

    replies: list[str] = field(default_factory=list)
    consulted: list[tuple[str, str, str]] = field(default_factory=list)
    delegated: list[DelegationRequest] = field(default_factory=list)

    async def consult(self, slot: str, system: str, question: str) -> str:
        self.consulted.append((slot, system, question))
        return self.replies.pop(0) if self.replies else "a reply"

    async def delegate(self, request: DelegationRequest, call: CallContext) -> Output:
        self.delegated.append(request)
        return Output(f"{request.role} is done")


class Desk:
    """One agent with a workspace, ready to make calls."""

    def __init__(self, workspace: Path, clock: Clock, *, role: str = "coding", mode: Mode = Mode.YOLO, home: Path | None = None) -> None:
        self.workspace = workspace
        self.person = Person()
        self.played = Played()
        self.denials: list[DeniedAccount] = []
        self.write_lock = asyncio.Lock()
        self.clock = clock
        self.surface = surface_of(role)
        grants = Grants(workspace, None, clock=clock)
        temporary = workspace.parent / "temporary"
        shell = Shell(clock=clock, environment={"PATH": os.environ["PATH"]}, temporary=temporary)
        rights = PermissionSettings(workspace, mode, home=home, task_temporary=temporary, protected=ProtectedSettings(home))
        self.permissions = Permissions(rights, grants)
        self.scope = Scope(
            agent=AgentIdentity(role),
            workspace=workspace,
            permissions=self.permissions,
            grants=grants,
            ledger=FileLedger(),
            shell=shell,
            jobs=BackgroundJobs(shell),
            ask=self.person,
            delegate=self.played.delegate,
            consult=self.played.consult,
            remaining=lambda: None,
        )

    def use(self, surface: Surface) -> None:
        """Work with another surface."""
        self.surface = surface
        self._invoker = None

    @property
    def invoker(self) -> Invoker:
        """The invoker of the run; it keeps the state of the surface."""
        if self._invoker is None:
            self._invoker = Invoker(self.surface, write_lock=self.write_lock, clock=self.clock, denied=self.denials.append)
        return self._invoker

    _invoker: Invoker | None = None

    async def make(self, name: str, /, **arguments: Any) -> Output:
        """Make one call, in a message of its own."""
        self.surface.next_message()
        return await self.invoker.invoke(call(name, **arguments), self.scope)
