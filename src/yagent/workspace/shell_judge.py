"""Whether a shell line may run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from yagent.workspace.actions import Mode
from yagent.workspace.path_judge import PathJudge
from yagent.workspace.rule_book import Finding, asks


@dataclass(frozen=True, slots=True)
class LineFinding:
    """What a line came to. `ruled`: a rule or grant of the user allowed it; `may_be_remembered`: it is one plain command."""

    findings: tuple[Finding, ...]
    touches: tuple[Path, ...] = ()
    ruled: bool = False
    may_be_remembered: bool = False


@dataclass(frozen=True, slots=True)
class ShellJudge:
    """Judges lines with the paths judge for operands. `environment` is what the line will see."""

    paths: PathJudge
    environment: Mapping[str, str]
    home: Path | None

    def judge(self, command: str, directory: Path, mode: Mode) -> LineFinding:
        """Judge one line that starts in a resolved directory."""
        return LineFinding((asks("shell", "this runs a command"),))
