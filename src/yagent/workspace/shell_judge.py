"""Whether a shell line may run: every command in it is judged, and the strictest verdict is the line's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from yagent.records import dataclass
from yagent.workspace.actions import Decision, Mode
from yagent.workspace.arrivals import arrivals_of
from yagent.workspace.command_judge import Collected, CommandJudge
from yagent.workspace.completions import completions_of
from yagent.workspace.operand_judge import OperandJudge, could_lead_out
from yagent.workspace.path_judge import PathJudge
from yagent.workspace.programs.environment import reads_bytes_as_we_do
from yagent.workspace.rule_book import Finding, asks
from yagent.workspace.secret_names import secrets_named, tells_of_secrets
from yagent.workspace.shell_syntax import analyse
from yagent.workspace.shell_syntax.commands import every_command

_LOOKED_AT = 16
"""How many words behind each word of a line that is not understood are tried on the deny rules."""


@dataclass(frozen=True, slots=True)
class LineFinding:
    """What a line came to. `ruled`: a rule or grant of the user allowed part of it; `may_be_remembered`: it is one plain command."""

    findings: tuple[Finding, ...]
    touches: tuple[Path, ...] = ()
    ruled: bool = False
    may_be_remembered: bool = False


@dataclass(frozen=True, slots=True)
class ShellJudge:
    """Judges lines with the paths judge for operands. `environment` is what the line will see."""

    paths: PathJudge
    environment: Mapping[str, str]

    def seen_once(self) -> ShellJudge:
        """Return a judge for one line, which looks at each place once, however many words name it."""
        guard = self.paths.guard.remembering()
        return replace(self, paths=replace(self.paths, guard=guard, protected=self.paths.protected.seen_by(guard)))

    def judge(self, text: str, directory: Path, mode: Mode) -> LineFinding:
        """Judge one line that starts in a resolved directory."""
        analysis = analyse(text, directory=str(directory), variables=self.environment)
        collected = Collected()
        if analysis.problem:
            collected.findings.append(
                asks("not_understood", f"this line cannot be judged: {analysis.problem}; a plainer line, or a script file, can be")
            )
            collected.findings += self._denied_loosely(analysis.loose_words)
        if mode is not Mode.FULL_YOLO and not text.isascii() and not reads_bytes_as_we_do(self.environment):
            collected.findings.append(asks("locale", "letters that are not ASCII may be read as something else in this locale; use UTF-8"))
        arrivals = arrivals_of(analysis, self.paths, OperandJudge(self.paths).settled)
        completions = completions_of(analysis, self.paths.protected, self.environment.get("HOME"))
        settles = not analysis.hazards and not any(command.inner for command in analysis.commands)
        operands = OperandJudge(self.paths, could_lead_out(analysis), arrivals, settles=settles, completions=completions)
        if mode is Mode.FULL_YOLO and tells_of_secrets(analysis, operands, self._home):
            operands = replace(operands, tells=True)
        if mode is not Mode.FULL_YOLO or operands.tells or self.paths.book.has_deny("shell"):
            collected.findings += [asks(hazard.code, f"this line {hazard.text}") for hazard in analysis.hazards]
        judge = CommandJudge(self.paths, operands, self.environment)
        collected.findings += secrets_named(analysis, operands)
        if mode is not Mode.FULL_YOLO and judge.is_of_workspace("bash"):
            collected.findings.append(asks("workspace_shell", "the bash that would run this line comes from the workspace itself"))
        for command in analysis.commands:
            judge.judge(command, mode, collected)
        if any(command.name == "mktemp" for command in every_command(analysis.commands)):
            collected.findings = [self._without_mktemp(finding) for finding in collected.findings]
        return LineFinding(
            tuple(collected.findings),
            tuple(collected.touches),
            collected.ruled,
            may_be_remembered=len(analysis.commands) == 1 and not analysis.hazards and not analysis.problem,
        )

    def _without_mktemp(self, finding: Finding) -> Finding:
        """A name that is only known when the line runs may be that of a scratch file: what it could be instead."""
        if finding.reason is None or finding.reason.code not in ("unknown_operand", "unknown_directory"):
            return finding
        scratch = self.paths.scratch()
        return replace(finding, reason=replace(finding.reason, instead=scratch and f"mktemp is not followed. {scratch}"))

    @property
    def _home(self) -> Path | None:
        home = self.environment.get("HOME")
        return Path(home) if home else None

    def _denied_loosely(self, pieces: tuple[tuple[str, ...], ...]) -> list[Finding]:
        """A deny rule holds in a line that is not understood, too, as far as its words can be seen."""
        found: list[Finding] = []
        if not self.paths.book.has_deny("shell"):
            return found
        for words in pieces:
            for index in range(len(words)):
                finding = self.paths.book.restrict_words((*words[index : index + _LOOKED_AT], None))
                if finding is not None and finding.decision is Decision.DENY:
                    return [finding]
        return found
