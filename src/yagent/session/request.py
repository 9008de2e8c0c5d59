"""What a session is asked to be: everything that comes from outside the process, as data."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from yagent.records import dataclass

DEMONSTRATIONS: Final = "demonstrations"  # where their records are kept, apart from those of the user's own work


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFlags:
    """The options of a run. None and empty mean "not given"; the config then decides. Times are in seconds, cost in US dollars; as in the
    config, 0 of either means no limit, and is then given."""

    model: str | None = None
    provider: str | None = None
    mode: str | None = None  # "yolo" or "full-yolo"
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    max_steps: int | None = None
    max_cost: float | None = None
    timeout: float | None = None
    disabled_agents: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Resume:
    """Which recorded session to go on with: its id or the beginning of it, "" for the newest of this directory that is not in use."""

    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """Where a session works and with what. `can_ask`: somebody can answer questions; without it every ask is denied at once. `resume`: a
    recorded session that is opened again, None for a new one. `kept_as` names the place of its record, "" for that of the workspace."""

    workspace: Path
    environ: Mapping[str, str]
    config_path: Path | None = None
    flags: RunFlags = field(default_factory=RunFlags)
    can_ask: bool = False
    resume: Resume | None = None
    kept_as: str = ""
