"""Whether what was changed is proven by a command that ran afterwards.

What a check proves is not known and not guessed from its name: what counts is that it ended with exit code 0 while every changed file
was as it is now, and that no other check ended otherwise then. A command that is known to read or move files only is no check, and one
whose end another command's stands for says nothing in either direction.
"""

from collections.abc import Collection
from typing import Final, Literal, TypeAlias

from yagent.blackboard.commands import CommandEvidence
from yagent.blackboard.evidence import Evidence, edited_since
from yagent.records import dataclass

State: TypeAlias = Literal["verified", "unverified", "stale", "none"]

NOT_RUN: Final = (126, 127)  # of bash: there is no such program, or it cannot be run
_LONGEST: Final = 120  # characters shown of a command line


@dataclass(frozen=True, slots=True)
class Verification:
    """`none`: nothing was changed. `stale`: it was proven, and edited since. `reason` says why it is not verified, `proof` is what proves
    it."""

    state: State
    reason: str = ""
    proof: CommandEvidence | None = None


def verification(evidence: Evidence, changed: Collection[str]) -> Verification:
    """Judge the recorded commands for the files that were `changed`. Blocks while it reads them."""
    if not changed:
        return Verification("none")
    newest: dict[str, CommandEvidence] = {}
    checks = [each for each in evidence.commands if each.kind == "check" and each.exit_code not in NOT_RUN]
    for each in checks:  # a command that ran again counts as it ended last, and then
        line = " ".join(each.command.split())
        newest.pop(line, None)
        newest[line] = each
    now = evidence.hashes_of(changed)
    fresh = [each for each in newest.values() if not edited_since(each, now)]
    failed = next((each for each in reversed(fresh) if each.exit_code != 0), None)
    if failed is not None:
        return Verification("unverified", f"{_shown(failed)} {_ended(failed)} after the last edit and was not run again")
    if fresh:
        return Verification("verified", proof=fresh[-1])
    hidden = next((each for each in reversed(evidence.commands) if each.kind == "hidden" and not edited_since(each, now)), None)
    if hidden is not None:
        return Verification("unverified", f"the exit code of {_shown(hidden)} is that of another command in it: run the check alone")
    before = [each for each in checks if each.exit_code == 0 and not each.covered.keys().isdisjoint(changed)]
    if not before:
        return Verification("unverified", "no check ran after the last edit")
    edited = sorted(edited_since(before[-1], now))
    return Verification("stale", f"edited after {_shown(before[-1])}: {', '.join(edited[:5])}{' …' if len(edited) > 5 else ''}")


def _shown(evidence: CommandEvidence) -> str:
    line = " ".join(evidence.command.split())
    return f"`{line if len(line) <= _LONGEST else f'{line[: _LONGEST - 1]}…'}`"


def _ended(evidence: CommandEvidence) -> str:
    return "was stopped before its end" if evidence.exit_code is None else f"ended with exit code {evidence.exit_code}"
