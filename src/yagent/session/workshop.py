"""What all runs of a session share, and what all runs of one task share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yagent.agents.delegation.spawn import Differences
from yagent.agents.loop.frame import EventPublisher
from yagent.agents.loop.recorder import Recorder
from yagent.agents.loop.role import Role
from yagent.agents.loop.task import TaskAccount
from yagent.agents.loop.turn import TurnSettings
from yagent.llm.engine import Engine
from yagent.prompts.text import Prompts
from yagent.protocol.ids import AgentIdentity, SessionId
from yagent.records import dataclass
from yagent.rollout.marks import Segment
from yagent.runtime.activity import Activity
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import Domain
from yagent.session.asks import AskDesk
from yagent.session.controls import Controls
from yagent.session.desk import Desk
from yagent.session.fitting import Fittings
from yagent.session.resume import ResumeSettings, Standing
from yagent.tools.registry import Registry
from yagent.workspace.background import BackgroundJobs
from yagent.workspace.grants import Grants
from yagent.workspace.permissions import Permissions
from yagent.workspace.shell import Shell

if TYPE_CHECKING:
    from yagent.session.taking_up import TakingUp


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How runs are made. `max_steps` by role name; times in seconds, None for none. `offers_asks`: agents have tools to ask the user."""

    language: str
    max_steps: Mapping[str, int]
    idle_timeout: float | None
    total_timeout: float | None
    parallel_tools: int
    parallel_delegations: int
    disabled_agents: frozenset[str]
    offers_asks: bool
    turn: TurnSettings
    resume: ResumeSettings


@dataclass(frozen=True, slots=True)
class Workshop:
    """Made once for a session.

    `engine(role, tool)` gives the model of an agent, or of one of its tools; `open_record(agent, earlier)` a new file for its run, or for
    the Director of a resumed session the one it has; `report_crash` writes a report and says in a sentence where it is (it blocks).
    `board` names the board its notes are on: a fork shares that of the session it began in.
    `approvals` says in a sentence what runs unasked. `trouble()` says once what cannot be logged. `taking_up`: what was under way in a
    session that is resumed.
    """

    session: SessionId
    board: str
    workspace: Path
    clock: Clock
    domain: Domain
    shell: Shell
    publisher: EventPublisher
    prompts: Prompts
    registry: Registry
    engine: Callable[[str, str | None], Engine]
    prepare_engines: Callable[[], Awaitable[None]]
    open_record: Callable[[AgentIdentity, Sequence[Segment]], Recorder]
    asks: AskDesk
    grants: Grants
    write_lock: asyncio.Lock
    roster: Mapping[str, Role]
    report_crash: Callable[[BaseException], str]
    settings: RunSettings
    standing: Callable[[], Awaitable[Standing]]
    fittings: Fittings
    approvals: str
    desk: Desk
    trouble: Callable[[], str | None]
    taking_up: TakingUp | None = None


@dataclass(frozen=True, slots=True)
class TaskParts:
    """Made for one task and shared by its whole agent tree. `context()` gives the block about the workspace that an
    agent's first message begins with; `watch_files()` begins to watch the files, and gives what tells what differs; `git` is the identity
    of the repository as the records name it."""

    controls: Controls
    account: TaskAccount
    permissions: Permissions
    jobs: BackgroundJobs
    activity: Activity
    context: Callable[[], Awaitable[str]]
    watch_files: Callable[[], Awaitable[Callable[[], Awaitable[Differences]]]]
    git: Mapping[str, Any]
