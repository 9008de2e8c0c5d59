"""Whether one command of a shell line may run."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from yagent.records import dataclass
from yagent.workspace.actions import Decision, Mode
from yagent.workspace.guard import GuardError
from yagent.workspace.loopback import is_loopback
from yagent.workspace.operand_judge import OperandJudge
from yagent.workspace.path_judge import UNLISTED, PathJudge
from yagent.workspace.programs.acting import rate_acting
from yagent.workspace.programs.environment import changes_meaning, is_harmless_to_readers, is_plain_assignment
from yagent.workspace.programs.escalating import escalating
from yagent.workspace.programs.git import rate_git, take_apart
from yagent.workspace.programs.git_settings import program_named
from yagent.workspace.programs.installing import rate_install
from yagent.workspace.programs.rating import Nature, Rating, Read, asking
from yagent.workspace.programs.reading import rate_reading
from yagent.workspace.rule_book import ALLOWED, Finding, asks
from yagent.workspace.shell_syntax.commands import Assignment, Command
from yagent.workspace.shell_syntax.words import Word
from yagent.workspace.shell_syntax.wrappers import FORMS, SHELLS

_SHELL_OPTION = re.compile(r"-[elux]+|--norc|--noprofile|--posix|--login")

_BUILTIN = frozenset(
    {
        *("echo", "true", "false", ":", "pwd", "test", "[", "exit", "return", "break", "continue", "shift", "wait", "cd", "pushd", "popd"),
        *(
            "dirs",
            "set",
            "read",
            "unset",
            "getopts",
            "export",
            "readonly",
            "declare",
            "typeset",
            "local",
            "jobs",
            "times",
            "type",
            "printf",
        ),
        *("command", "builtin", "exec"),
    }
)


_LEADS_ELSEWHERE = frozenset({"CDPATH", "PWD", "OLDPWD", "DIRSTACK", "GLOBIGNORE"})
"""With another value bash finds other directories by `cd` and `~+`, and other files by patterns, in every mode."""

_HIDES_TEXT = frozenset({"git_option", "hidden", "not_followed"})
"""Why a command asks that may run text it is given."""


@dataclass(slots=True)
class Collected:
    """What the commands of one line came to."""

    findings: list[Finding] = field(default_factory=list)
    touches: list[Path] = field(default_factory=list)
    ruled: bool = False


@dataclass(frozen=True, slots=True)
class CommandJudge:
    """Judges commands. `environment` is what they will see."""

    paths: PathJudge
    operands: OperandJudge
    environment: Mapping[str, str]

    def judge(self, command: Command, mode: Mode, collected: Collected) -> None:
        """Judge a command and those it runs."""
        restricted = self._restricted(command)
        if restricted is not None:
            collected.findings.append(restricted)
        for redirection in command.redirections:
            collected.findings.append(self.operands.redirection(redirection, mode))
        allowed = bool(command.words) and self._is_allowed(command)
        changed = self._assignments(command, mode, allowed=allowed)
        if changed is not None:
            collected.findings.append(changed)
        if not command.words:
            return
        if allowed:
            collected.ruled = True
            mode = Mode.FULL_YOLO
        for inner in command.inner:
            self.judge(inner, mode, collected)
        if not command.transparent or not self._is_what_it_is_called(command):
            collected.findings += self._own(command, mode, collected)

    def _restricted(self, command: Command) -> Finding | None:
        """Deny and ask rules are tried on the words as they are, with the program's directory and git's options taken away."""
        if not command.words:
            return None
        variants: list[tuple[str | None, ...]] = []
        for values in {command.values, command.likely_values}:
            variants += [values, (posixpath.basename(values[0]) if values[0] else None, *values[1:])]
        if command.name is not None and posixpath.basename(command.name) == "git":
            call = take_apart(command.words[1:])
            variants.append(("git", call.verb or None, *(word.value or word.guess or None for word in call.words)))
        found = [finding for variant in variants if (finding := self.paths.book.restrict_words(variant)) is not None]
        return max(found, key=lambda finding: finding.decision.rank, default=None)

    def _is_allowed(self, command: Command) -> bool:
        if not all(is_plain_assignment(assignment) for assignment in command.assignments):
            return False
        return self.paths.book.allow_words(_with_messages(command), escalating(command))

    def _assignments(self, command: Command, mode: Mode, *, allowed: bool) -> Finding | None:
        for assignment in command.assignments:
            if assignment.name in _LEADS_ELSEWHERE:
                return asks("environment", f"{assignment.name} is set, with which directories or patterns mean something else")
        if mode is Mode.FULL_YOLO:
            return None
        for assignment in command.assignments:
            if changes_meaning(assignment):
                return asks("environment", f"{assignment.name} is set, which changes what other words of the line mean or start")
            if mode is Mode.ASK and not allowed and self._reaches_programs(command, assignment) and not is_harmless_to_readers(assignment):
                return asks(
                    "environment", f"{assignment.name} is set to something that is only known when the line runs, or starts programs"
                )
        return None

    def _reaches_programs(self, command: Command, assignment: Assignment) -> bool:
        """Whether a program of the line gets the variable: it is set for one, exported, or was exported before."""
        exports = command.name in ("export", "declare", "typeset") or (bool(command.words) and command.name not in _BUILTIN)
        return exports or assignment.name in self.environment

    def _own(self, command: Command, mode: Mode, collected: Collected) -> list[Finding]:
        words = self.operands.settled(command.words[1:], command.directories)
        if command.more_words:
            words = (*words, Word("", "", known=False, splits=True))
        rating = self._rate(command, words)
        collected.touches += self._touched(command, rating)
        effects = ALLOWED
        operands = self.operands.of(command)
        for operand in rating.reads:
            effects = effects.stricter(operands.read(operand, command.directories, mode, inert=rating.inert))
        for write in rating.writes:
            effects = effects.stricter(operands.write(write, command.directories, mode))
        for word in (*rating.mentions, *rating.runs, *(words if rating.nature is Nature.ASKS else ())):
            effects = effects.stricter(operands.mention(word, command.directories, mode))
        by_nature = self._by_nature(command, rating, mode, effects)
        return [effects, by_nature] if _adds_to(effects, rating) else [by_nature]

    def _by_nature(self, command: Command, rating: Rating, mode: Mode, effects: Finding) -> Finding:
        rule = _rule(command, rating)
        if mode is Mode.FULL_YOLO and self.operands.tells and rating.nature is Nature.ASKS and rating.code in _HIDES_TEXT:
            return asks(rating.code, f"{rating.text}, and the line names a secret", lasting=False)
        if mode is Mode.FULL_YOLO or rating.nature is Nature.READS:
            return effects
        if rating.nature is Nature.ASKS:
            return asks(rating.code, rating.text, rule, lasting=rating.lasting)
        if mode is Mode.YOLO:
            limited = self._beyond_yolo(command, rating)
            return limited if limited is not None and effects.decision is Decision.ALLOW else effects
        if rating.nature is Nature.CHANGES and effects.decision is Decision.ALLOW:
            return effects
        shown = " ".join(word.source for word in command.words)
        return asks(
            "command", f"{shown if len(shown) < 120 else command.words[0].source} is not known to read only", rule, lasting=rating.lasting
        )

    def _beyond_yolo(self, command: Command, rating: Rating) -> Finding | None:
        """What `-y` does not run although its operands are inside."""
        if "shell" in self.paths.ceiling:
            return asks("ceiling", f"{command.words[0].source} {UNLISTED}", _rule(command, rating))
        if any(word.glob for word in command.words) and rating.nature is Nature.CHANGES:
            return asks("pattern", "a wildcard stands in a command that writes: name the files")
        if command.directories is None:
            return asks("unknown_directory", f"{command.words[0].source} would run in a directory that is only known when the line runs")
        try:
            for location in self.operands.of(command).locations_of(command.directories):
                if not location.inside:
                    where, instead = location.requested, self.paths.scratch(location.resolved)
                    text = f"{command.words[0].source} would run in {where}, outside the workspace"
                    return asks("outside_directory", text, instead=instead)
        except GuardError as error:
            return asks("path", str(error))
        return None

    def _rate(self, command: Command, words: Sequence[Word]) -> Rating:
        name = command.name
        if name is None:
            return asking("computed", "the name of the command is only known when the line runs")
        if "/" in name:
            return self._rate_by_path(command, words)
        if self.is_of_workspace(name):
            return rate_install(name, words, lambda program: True) or rate_acting(name, words, is_loopback)
        if name in FORMS or name in SHELLS:
            return self._rate_wrapper(command, words)
        return self._rate_by_name(name, command, words)

    def _rate_by_name(self, name: str, command: Command, words: Sequence[Word]) -> Rating:
        if name == "git":
            rating = rate_git(words, lambda word: self._exists(word, command), lambda directories: self._git_program(command, directories))
            return rating if rating.nature is not Nature.READS else _with_directory(rating)
        reading = rate_reading(name, words)
        if reading is not None:
            return reading
        return rate_install(name, words, self._environment_inside) or rate_acting(name, words, is_loopback)

    def _rate_by_path(self, command: Command, words: Sequence[Word]) -> Rating:
        program = command.words[0]
        try:
            locations = self.operands.locations(program, command.directories)
        except GuardError as error:
            return asking("path", str(error))
        name = posixpath.basename(program.text)
        if locations is None:
            return asking("unknown_directory", f"{program.source} is looked for in a directory that is only known when the line runs")
        if all(location.inside or self._named_inside(location.named) for location in locations):
            rating = rate_install(name, words, lambda _: True) or rate_acting(name, words, is_loopback)
            return rating if rating.nature is not Nature.OPAQUE else _running(rating, program)
        if all(self._is_of_system(location.named) for location in locations):
            if name in FORMS or name in SHELLS:
                return self._rate_wrapper(command, words)
            return self._rate_by_name(name, command, words)
        return asking("outside_program", f"{program.source} is a program outside the workspace and the system")

    def _is_what_it_is_called(self, command: Command) -> bool:
        """Whether a wrapper is the system's: one of the workspace by the same name does what it likes with its words."""
        name = command.name or ""
        if "/" not in name:
            return not self.is_of_workspace(name)
        try:
            locations = self.operands.locations(command.words[0], command.directories) or ()
        except GuardError:
            return False
        return bool(locations) and all(self._is_of_system(location.named) for location in locations)

    def _is_of_system(self, path: Path) -> bool:
        name = self._real_name(path)
        return not self.paths.guard.is_inside(str(name)) and any(name.is_relative_to(root) for root in self.paths.free_roots)

    def _named_inside(self, path: Path) -> bool:
        """A virtual environment's interpreter is a link that leads out; its name decides."""
        return self.paths.guard.is_inside(str(self._real_name(path)))

    def _real_name(self, path: Path) -> Path:
        return self.paths.guard.resolve(path.parent) / path.name

    def _rate_wrapper(self, command: Command, words: Sequence[Word]) -> Rating:
        name = posixpath.basename(command.words[0].text)
        reading = rate_reading(name, words)
        if reading is not None or command.inner:
            return reading or rate_acting(name, words, is_loopback)
        script = next((word for word in words if not _SHELL_OPTION.fullmatch(word.text)), None) if name in SHELLS else None
        if script is not None and not script.text.startswith(("-", "+")):
            return _running(rate_acting(name, words, is_loopback), script)
        if not words:
            return Rating(Nature.READS, inert=True)
        refused = rate_acting(name, words, is_loopback)
        return refused if refused.nature is Nature.ASKS else asking("not_followed", f"{name} is used in a way that cannot be followed")

    def is_of_workspace(self, name: str) -> bool:
        """Whether the name is found in a directory of PATH that the workspace itself can fill."""
        if name in _BUILTIN:
            return False
        for directory in self.environment.get("PATH", "").split(":"):
            inside = not directory.startswith("/") or self._named_inside(Path(directory))
            if inside and directory and self.paths.guard.file_system.look(f"{directory}/{name}") is not None:
                return True
        return False

    def _environment_inside(self, program: str) -> bool:
        if program == "uv":
            active = self.environment.get("VIRTUAL_ENV", "")
            inside = self._named_inside(Path(active)) if active else False
            return inside or self.paths.guard.file_system.look(f"{self.paths.guard.root}/.venv") is not None
        return self.is_of_workspace(program)

    def _exists(self, word: Word, command: Command) -> bool:
        try:
            return any(location.exists for location in self.operands.locations(word, command.directories) or ())
        except GuardError:
            return False

    def _git_program(self, command: Command, elsewhere: Sequence[Word]) -> str:
        if command.directories is None or any(word.value is None for word in elsewhere):
            return "what is not known yet: the directory"
        for directory in command.directories:
            here = posixpath.normpath(posixpath.join(directory, *(word.text for word in elsewhere)))
            found = program_named(str(self.paths.guard.resolve(Path(here))), self.environment, self.paths.guard.file_system)
            if found:
                return found
        return ""

    def _touched(self, command: Command, rating: Rating) -> list[Path]:
        touched: list[Path] = []
        for word in (*rating.runs, *(write.word for write in rating.writes)):
            try:
                locations = self.operands.locations(word, command.directories) if word.known and not word.glob else None
            except GuardError:
                continue
            touched += [location.resolved for location in locations or () if location.exists and not location.is_directory]
        return touched


def _adds_to(effects: Finding, rating: Rating) -> bool:
    """Whether what the operands came to is worth saying beside what the command is."""
    if effects.decision is not Decision.ASK or effects.reason is None:
        return effects.decision is Decision.DENY
    if rating.nature is Nature.ASKS:
        return effects.reason.code in ("protected_write", "rule")
    return effects.reason.code != "edit"


def _with_messages(command: Command) -> tuple[str | None, ...]:
    """The words of a command for allow rules: a commit message made by a substitution is text, whatever it says."""
    values = list(command.values)
    for index in range(2, len(command.words)):
        word, before = command.words[index], command.words[index - 1].value or ""
        if command.name == "git" and values[index] is None and not word.splits and re.fullmatch(r"-[a-z]*m|--message", before):
            values[index] = "(a message)"
    return tuple(values)


def _with_directory(rating: Rating) -> Rating:
    return Rating(Nature.READS, reads=(Read(Word(".", ".")), *rating.reads), inert=rating.inert)


def _running(rating: Rating, program: Word) -> Rating:
    return Rating(
        rating.nature,
        rating.code,
        rating.text,
        reads=rating.reads,
        writes=rating.writes,
        mentions=rating.mentions,
        runs=(program,),
        lasting=False,
    )


def _rule(command: Command, rating: Rating) -> str:
    """The narrow rule to offer for a command: its pattern, else exactly these words; "" when it cannot be written exactly."""
    values = [value for value in command.values if value is not None and "*" not in value]
    if len(values) != len(command.values) or command.assignments or command.inner or command.stdin:
        return ""
    if rating.pattern and not escalating(command) and "/" not in values[0]:
        return f"shell({rating.pattern})"
    return f"shell({shlex.join(values)})"
