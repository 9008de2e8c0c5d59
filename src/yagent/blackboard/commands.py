"""Commands that ran, as evidence: how each ended, and which files it found changed."""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from yagent.records import dataclass

CommandKind: TypeAlias = Literal["check", "hidden", "other"]
"""`check`: its end may depend on what files hold, so that it can prove something. `hidden`: a check whose end another command's stands for.
`other`: it only reads or moves files."""


@dataclass(frozen=True, slots=True)
class CommandEvidence:
    """A command that ran to some end: None as `exit_code` where it has none of its own: it was stopped, or its `kind` is hidden.

    `covered` are the files that the task had changed until then, with the hash of their content, None for those that were gone.
    """

    id: str
    command: str
    exit_code: int | None
    output_hash: str
    covered: Mapping[str, str | None] = field(default_factory=dict)
    kind: CommandKind = "check"


def command_data(each: CommandEvidence) -> dict[str, object]:
    """A recorded command as JSON data."""
    own = {"id": each.id, "command": each.command, "exit_code": each.exit_code, "output_hash": each.output_hash}
    return {**own, "covered": dict(each.covered), **({} if each.kind == "check" else {"kind": each.kind})}


def command_from(data: Mapping[str, Any]) -> CommandEvidence:
    """The command of `command_data`. Raises KeyError or TypeError for anything else."""
    match data:
        case {
            "id": str(name),
            "command": str(line),
            "exit_code": int() | None as code,
            "output_hash": str(output),
            "covered": dict(covered),
        }:
            return CommandEvidence(name, line, code, output, MappingProxyType(covered), _kind(data.get("kind")))
    raise TypeError("what should be a recorded command is none")


def _kind(value: object) -> CommandKind:
    """As recorded; records from before there were kinds are of checks."""
    return next((kind for kind in get_args(CommandKind) if kind == value), "check")
