"""What a tool is.

A `Spec` is a value: a name, typed parameters, what it does to the world, and the coroutine that does it. A builder function makes it from
the things the tool needs (`read_file(files)`), so there is no registry to reach into and nothing to patch. What differs from agent to agent
comes with each call in the `Scope`.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from yagent.blackboard.commands import CommandKind
from yagent.protocol.asks import Answer, Ask
from yagent.protocol.handoff import Handoff
from yagent.protocol.ids import AgentIdentity, CallId
from yagent.records import dataclass
from yagent.workspace.background import BackgroundJobs
from yagent.workspace.files import FileLedger
from yagent.workspace.grants import Grants
from yagent.workspace.permissions import Action, Permissions
from yagent.workspace.shell import Shell

P = TypeVar("P")


class Effect(StrEnum):
    """What a tool does to the world; capability profiles grant effects, never tool names."""

    FS_READ = "fs_read"
    FS_WRITE = "fs_write"
    SHELL = "shell"
    COGNITION = "cognition"
    REFLECTION = "reflection"
    CONTEXT = "context"
    FLOW = "flow"
    ASK = "ask"
    DELEGATE = "delegate"


@dataclass(frozen=True, slots=True)
class Exit:
    """The agent asks to end its run. The loop, not the tool, ends it."""

    reason: str
    handoff: Handoff | None


@dataclass(frozen=True, slots=True)
class Output:
    """What a call came to: `text` for the model, the rest for people and records.

    `summary` is one short line for a progress view ("+3 -1", "120 lines"); `diff` a unified diff of what changed; `paths` the workspace
    paths that were really read or changed, `changed` those of them that were changed, `made` those of these that were not there before;
    `ran` says of a command that ended what it was and how it ended (`npm test → exit 1`); `exit` is set by `agent_exit` alone. `names` are
    what the text names that no other result can have (a running number, an id, the path of a log): a call made again gets others, and is
    the same for all that.
    """

    text: str
    is_error: bool = False
    summary: str = ""
    diff: str = ""
    paths: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    ran: str = ""
    exit: Exit | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DelegationRequest:
    """What a `delegate_*` call asks for. The delegation's id is the call's id."""

    role: str
    task: str
    context_refs: tuple[str, ...] = ()


class Delegate(Protocol):
    """Runs a role for somebody else; bound by `session`, so that tools know nothing of agents."""

    async def __call__(self, request: DelegationRequest, call: "CallContext") -> Output:
        """Run to the end and render the result for the caller. Failures come back as an output with `is_error`, never as exceptions."""
        ...


class Consult(Protocol):
    """One isolated question to a model (the cognition tools). `slot` is the tool's name: tools may have engines of their own."""

    async def __call__(self, slot: str, system: str, question: str) -> str:
        """The reply's text."""
        ...


class Asker(Protocol):
    """Puts a question to the user and waits; answers "nobody" at once when no one can be asked."""

    async def __call__(self, ask: Ask) -> Answer:
        """The user's answer. Timers of the asking agent stand still meanwhile."""
        ...


class RecordCommand(Protocol):
    """Keeps how a command ended (None: by no end of its own), and what that says; gives its id, or ""."""

    def __call__(self, command: str, exit_code: int | None, output: bytes, *, kind: CommandKind = "check") -> Awaitable[str]:
        """Keep it."""


async def not_recorded(command: str, exit_code: int | None, output: bytes, *, kind: CommandKind = "check") -> str:
    """Ends of commands are not kept as evidence."""
    return ""


@dataclass(frozen=True, slots=True)
class Scope:
    """What one run of one agent brings to its tool calls."""

    agent: AgentIdentity
    workspace: Path
    permissions: Permissions
    grants: Grants
    ledger: FileLedger
    shell: Shell
    jobs: BackgroundJobs
    ask: Asker
    delegate: Delegate
    consult: Consult
    remaining: Callable[[], float | None]  # seconds until this run's total limit; None without one
    queueing: Callable[[], AbstractContextManager[None]] = nullcontext  # stops this run's timers for as long as it waits for its turn
    ran: RecordCommand = not_recorded
    warn: Callable[[str], None] = lambda text: None  # tells people what the task's account has to say of it
    at_once: Callable[[], bool] = lambda: False  # whether what this run started is to be ended without being asked to first


@dataclass(frozen=True, slots=True)
class CallContext:
    """One call: its id and the scope it is made in. `teach` opens the named cold tools and gives what a model has to know to call them."""

    call_id: CallId
    scope: Scope
    teach: Callable[[Sequence[str]], Output] = lambda names: Output("This agent has no tools to load.", is_error=True)


Execute: TypeAlias = Callable[[P, CallContext], Awaitable[Output]]
Precheck: TypeAlias = Callable[[P, CallContext], Awaitable[None]]
Preview: TypeAlias = Callable[[P, CallContext], Awaitable[str]]
Frequency: TypeAlias = Literal["hot", "cold"]


async def _nothing_to_check(parameters: Any, call: CallContext) -> None:
    """Most calls can only be tried."""


async def _said_by_its_subject(parameters: Any, call: CallContext) -> str:
    """Most calls are what their subject says: a command line, an address."""
    return ""


@dataclass(frozen=True, slots=True)
class Spec(Generic[P]):
    """A tool.

    `parameters` is a frozen dataclass whose annotated fields give the JSON Schema (`tools.parameters`). `actions` turns a call into what
    permissions judge; no actions means nothing to judge. `precheck` raises the YagentError of a call that cannot succeed, before anybody
    is asked to allow it; it changes nothing and tells nothing of what the agent may not read. `preview` tells the person who is asked
    exactly what would change, "" where the judged subject says it all. `mutates`: takes the write lock of the agent tree. `serial`: never
    beside another call of the same batch. `timeout` is in seconds, None for tools that have no limit of this kind (delegations, asks) or
    keep their own (`run_bash`).
    `priority` orders which results are shortened first when the conversation is compressed: lowest first, 100 is never shortened.
    """

    name: str
    effect: Effect
    parameters: type[P]
    execute: Execute[P]
    actions: Callable[[P], Sequence[Action]] = field(default=lambda parameters: ())
    declared_dangerous: Callable[[P], bool] = field(default=lambda parameters: False)
    precheck: Precheck[P] = _nothing_to_check
    preview: Preview[P] = _said_by_its_subject
    mutates: bool = False
    serial: bool = False
    frequency: Frequency = "hot"
    timeout: float | None = 180.0
    priority: int = 10
    delegates_to: str = ""

    @property
    def is_read_only(self) -> bool:
        """May run beside other read-only calls."""
        return not self.mutates and not self.serial


AnySpec: TypeAlias = Spec[Any]
