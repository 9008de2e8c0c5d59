"""May this call run? The one judge of every tool call, for every agent and in every mode.

The verdict comes from the actions a tool's spec derives from the call (paths, shell lines, hosts), never from what the model says
about it, which can only make it stricter. The nouns are in `actions` and are importable from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from yagent.protocol.asks import Offer
from yagent.protocol.visible import has_hidden
from yagent.records import dataclass
from yagent.workspace.actions import (
    Action,
    Change,
    Decision,
    Delegate,
    EditPath,
    Mode,
    Network,
    ReadPath,
    Reason,
    ShellLine,
    UseTool,
    Verdict,
)
from yagent.workspace.file_system import FileSystem, LocalFileSystem
from yagent.workspace.guard import NO_PLACE, Guard, GuardError, Location
from yagent.workspace.loopback import is_loopback
from yagent.workspace.path_judge import WHOLE_WORKSPACE, PathJudge, library_roots
from yagent.workspace.protected import ProtectedSet, ProtectedSettings
from yagent.workspace.rule_book import ALLOWED, Finding, RuleBook, asks
from yagent.workspace.rules import Anchors, Rule, RuleError, RuleKind, parse_rules

if TYPE_CHECKING:
    from yagent.workspace.shell_judge import LineFinding, ShellJudge

__all__ = [
    "Action",
    "Change",
    "Decision",
    "Delegate",
    "EditPath",
    "Granted",
    "GuardError",
    "Mode",
    "Network",
    "PermissionSettings",
    "Permissions",
    "ReadPath",
    "Reason",
    "RuleError",
    "ShellLine",
    "UseTool",
    "Verdict",
]


class Granted(Protocol):
    """What was granted so far; `workspace.grants.Grants` is the real one."""

    def rules(self) -> Sequence[Rule]: ...


class NothingGranted:
    """No grants."""

    def rules(self) -> Sequence[Rule]:
        return ()


def _nothing_is_recoverable(path: Path) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class PermissionSettings:
    """What the judge needs to know of the user's wishes and of the machine.

    `allow`, `ask`, `deny` are rule texts. `ceiling`: under `-y`, what is of these kinds (edits, commands) runs only as far as `allow` goes.
    `environment` is what commands will see (HOME and PATH are relied on; TMPDIR is the task's own). `protected` says
    where keys and start-up files are; `recoverable(path)` that losing a path loses no work (the task made it, or git has it as it is);
    `moved(path)` hears of each place that something not recoverable may be moved to.
    """

    workspace: Path
    mode: Mode = Mode.ASK
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ceiling: frozenset[RuleKind] = frozenset()
    home: Path | None = None
    task_temporary: Path | None = None
    system_temporary: Path | None = None
    protected: ProtectedSettings = field(default_factory=ProtectedSettings)
    environment: Mapping[str, str] = field(default_factory=dict)
    recoverable: Callable[[Path], bool] = _nothing_is_recoverable
    moved: Callable[[Path], None] = lambda path: None


class Permissions:
    """The rights of one agent. Raises RuleError for a rule that is not understood.

    A child made by `narrowed` follows its parent: when the parent's mode gets narrower, so does the child's.
    """

    def __init__(
        self,
        settings: PermissionSettings,
        grants: Granted | None = None,
        *,
        file_system: FileSystem | None = None,
        parent: Permissions | None = None,
    ) -> None:
        self.settings = settings
        self._grants = grants or NothingGranted()
        self._file_system = file_system or LocalFileSystem()
        self._parent = parent
        self._mode = settings.mode
        self._rules = (parse_rules(settings.deny), parse_rules(settings.ask), parse_rules(settings.allow))

    @property
    def mode(self) -> Mode:
        """The mode in force: this agent's own, or its parent's where that is narrower."""
        if self._parent is not None and self._parent.mode.rank < self._mode.rank:
            return self._parent.mode
        return self._mode

    @property
    def ceiling(self) -> frozenset[RuleKind]:
        """Of which kinds only what the allow list has runs unasked. Only `-y` knows that: without it a list is what runs anyway."""
        return self.settings.ceiling if self.mode is Mode.YOLO else frozenset()

    def set_mode(self, mode: Mode) -> None:
        """Change the mode while running (the user's doing; children follow when it gets narrower)."""
        self._mode = mode

    def narrowed(self, *, mode: Mode | None = None, ask: Sequence[str] = (), deny: Sequence[str] = ()) -> Permissions:
        """Return a child's rights: this agent's, less what is named. Nothing here can widen them; grants are shared."""
        own = self._mode if mode is None or mode.rank > self._mode.rank else mode
        settings = replace(self.settings, mode=own, ask=(*self.settings.ask, *ask), deny=(*self.settings.deny, *deny))
        return Permissions(settings, self._grants, file_system=self._file_system, parent=self)

    @cached_property
    def guard(self) -> Guard:
        """The path guard of this workspace; the task's private temporary folder counts as inside."""
        settings = self.settings
        return Guard(settings.workspace, home=settings.home, temporary=settings.task_temporary, file_system=self._file_system)

    def may_read(self, path: Path) -> bool:
        """Say whether a search or listing may show a file below a directory it was allowed to read."""
        try:
            return self._paths.may_read(self.guard.locate(str(path), literal=True))
        except GuardError:
            return False

    def judge(self, tool: str, actions: Sequence[Action], *, declared_dangerous: bool = False) -> Verdict:
        """Judge one call of `tool`. `declared_dangerous` is the model's own word; it can only turn allow into ask.

        Blocks: what it costs grows with the words of a shell line and with what is on disk. May run in any thread.
        """
        judged, mode = _Judged(tool), self.mode
        by_name = self._book.tool(tool)
        if by_name is not None and by_name.decision is not Decision.ALLOW:
            judged.add(by_name)
        for action in actions:
            try:
                self._judge_one(action, judged, mode, tool_allowed=by_name is ALLOWED)
                self._follow_move(action, actions)
            except GuardError as error:
                judged.add(Finding(Decision.DENY, Reason(NO_PLACE, str(error))))
        if declared_dangerous and mode is Mode.ASK and not judged.ruled:
            judged.add(asks("declared_dangerous", "the model itself calls this dangerous"))
        return judged.verdict(" ".join(_subject(action) for action in actions) or tool)

    def _judge_one(self, action: Action, judged: _Judged, mode: Mode, *, tool_allowed: bool) -> None:
        match action:
            case ShellLine(command, directory):
                self._judge_line(command, directory, judged, mode)
            case ReadPath(path, recursive):
                location = self.guard.locate(path)
                judged.add(self._paths.read(location, mode, recursive=recursive, filtered=True), location)
            case EditPath(path, change):
                location = self.guard.locate(path, follow_last=change not in ("delete", "rename"))
                finding = self._paths.edit(location, change, mode)
                inside_edit = finding.reason is not None and finding.reason.code == "edit"
                judged.add(ALLOWED if tool_allowed and inside_edit else finding, location)
            case Network(target):
                free = tool_allowed or mode is Mode.FULL_YOLO or (mode is Mode.YOLO and is_loopback(target))
                judged.add(ALLOWED if free else asks("network", f"this reaches {target}"))
            case UseTool(name):
                free = tool_allowed or mode is Mode.FULL_YOLO
                judged.add(ALLOWED if free else asks("tool", f"what {name} does is not known here", f"tool({name})"))
            case Delegate():
                judged.add(ALLOWED)

    def _follow_move(self, action: Action, actions: Sequence[Action]) -> None:
        """What is renamed stays whose it was."""
        if not isinstance(action, EditPath) or action.change != "rename":
            return
        if self._paths.is_precious(self.guard.locate(action.path, follow_last=False)):
            for other in actions:
                if isinstance(other, EditPath) and other.change == "create":
                    self._paths.moved(self.guard.locate(other.path).resolved)

    def _judge_line(self, command: str, directory: str, judged: _Judged, mode: Mode) -> None:
        location = self.guard.locate(directory)
        if not location.inside and mode is not Mode.FULL_YOLO:
            judged.add(asks("outside_directory", f"the command would run in {location.resolved}, outside the workspace"))
        judged.add_line(self._shell.seen_once().judge(command, location.resolved, mode))

    @cached_property
    def _book(self) -> RuleBook:
        deny, ask, allow = self._rules
        workspace = self.settings.workspace
        names = tuple(dict.fromkeys((workspace, self.guard.resolve(workspace))))
        return RuleBook(Anchors(names, self.settings.home), deny, ask, allow, self._grants.rules)

    @cached_property
    def _paths(self) -> PathJudge:
        return PathJudge(
            guard=self.guard,
            protected=ProtectedSet(self.settings.protected, self.guard),
            book=self._book,
            recoverable=self.settings.recoverable,
            moved=self.settings.moved,
            task_temporary=self.settings.task_temporary,
            system_temporary=self.settings.system_temporary,
            ceiling=self.settings.ceiling,
            free_roots=tuple(self.guard.resolve(root) for root in library_roots(self.settings.home)),
        )

    @cached_property
    def _shell(self) -> ShellJudge:
        from yagent.workspace.shell_judge import ShellJudge

        temporary = self.settings.task_temporary
        own = {} if temporary is None else {"TMPDIR": str(temporary)}
        return ShellJudge(self._paths, {**self.settings.environment, **own})


class _Judged:
    """Collects the findings of one call."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.ruled = False
        self._findings: list[Finding] = []
        self._touches: list[Path] = []
        self._keep_whole_workspace = True
        self._unbroken = True

    def add(self, finding: Finding, location: Location | None = None) -> None:
        self._findings.append(finding)
        if finding.decision is Decision.ALLOW and finding.rule:
            self.ruled = True
        if location is not None and location.exists and not location.is_directory:
            self._touches.append(location.resolved)

    def add_line(self, line: LineFinding) -> None:
        self.ruled = self.ruled or line.ruled
        self._findings.extend(line.findings)
        self._touches.extend(line.touches)
        self._unbroken = self._unbroken and line.may_be_remembered

    def verdict(self, subject: str) -> Verdict:
        decision = Decision.ALLOW
        for finding in self._findings:
            decision = decision.stricter(finding.decision)
        shown = [finding for finding in self._findings if finding.reason is not None and finding.decision is decision]
        hidden = has_hidden(subject)
        return Verdict(
            decision=decision,
            reasons=_said_once(finding.reason for finding in shown if finding.reason is not None),
            offers=self._offers(shown, remember=not hidden and self._unbroken) if decision is Decision.ASK else (),
            subject=subject,
            hidden_characters=hidden,
            touches=tuple(dict.fromkeys(self._touches)),
        )

    def _offers(self, asking: Sequence[Finding], *, remember: bool) -> tuple[Offer, ...]:
        once = Offer("once")
        rules = {finding.rule for finding in asking}
        if not remember or len(rules) != 1 or "" in rules:
            return (once,)
        rule = rules.pop()
        offers = [once, Offer("session", rule)]
        if all(finding.lasting for finding in asking):
            offers.append(Offer("project", rule))
        if all(finding.reason is not None and finding.reason.code == "edit" for finding in asking):
            offers.append(Offer("session", WHOLE_WORKSPACE))
        return tuple(offers)


def _said_once(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """The reasons without those that another one ends with: `replacing x is outside` says what `x is outside` says."""
    found = tuple(dict.fromkeys(reasons))
    return tuple(reason for reason in found if not any(other.text.endswith(f" {reason.text}") for other in found))


def _subject(action: Action) -> str:
    match action:
        case ShellLine(command, _):
            return command
        case ReadPath(path, _) | EditPath(path, _):
            return path
        case Network(target):
            return target
        case UseTool(name):
            return name
        case Delegate(role):
            return role
