"""From the configuration and the options of a run to the small settings each room is given. Options win where they were given."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from yagent.agents.director.hooks import ReminderPolicy
from yagent.agents.loop.turn import TurnSettings
from yagent.agents.roles.roster import ROSTER
from yagent.blackboard.settings import BlackboardSettings
from yagent.compression.threshold import CompressionSettings
from yagent.config.declared import declared_in
from yagent.config.problems import ConfigError
from yagent.config.providers import ProviderChoice, Resolution
from yagent.config.schema import Config
from yagent.config.switches import artifacts_enabled, blackboard_enabled, concurrency_enabled
from yagent.config.vendors import VENDORS
from yagent.llm.endpoint import SHORTEST_SECRET, credentials_in
from yagent.records import dataclass
from yagent.runtime.paths import DataHome
from yagent.session.request import RunFlags, SessionRequest
from yagent.session.resume import ResumeSettings
from yagent.session.task_work import TaskWork
from yagent.session.tasks import TaskSettings
from yagent.session.workshop import RunSettings
from yagent.workspace.environment import child_environment
from yagent.workspace.file_system import LocalFileSystem
from yagent.workspace.git_directory import git_directories
from yagent.workspace.permissions import Mode, PermissionSettings
from yagent.workspace.protected import ProtectedSettings
from yagent.workspace.rules import RuleKind, parse_rules
from yagent.workspace.shell import ShellSettings

SHORTEST_KEY = 16  # characters of a key that is hidden in what commands print; a shorter one could be a word of it
_MODES = {"off": Mode.ASK, "yolo": Mode.YOLO, "full": Mode.FULL_YOLO, "full-yolo": Mode.FULL_YOLO}
LIMITED: Mapping[RuleKind, str] = {"edit": "edits", "shell": "commands"}  # what `-y` runs at once, and a list of the run limits
MOST_RULES = 10  # told to an agent
_REMINDERS: Mapping[str, ReminderPolicy] = {"auto": "auto", "always": "always", "never": "never"}


def mode(config: Config, flags: RunFlags) -> Mode:
    """The permission mode of the run."""
    return _MODES[flags.mode or config.agent.yolo]


def approvals_line(settings: PermissionSettings, *, can_ask: bool) -> str:
    """What an agent is told about permissions, so that it need not find out by being refused."""
    asked = "the user is asked" if can_ask else "refused, because nobody can answer in this run; try none of it, refusals are counted"
    listed = f", and what the user allows: {_rules_told(settings.allow)}" if settings.allow else ""
    match settings.mode:
        case Mode.ASK:
            what = f"reading and commands known to read only run at once{listed}; anything else:"
        case Mode.YOLO if settings.ceiling:
            what = f"{_below_the_ceiling(settings)}; anything else:"
        case Mode.YOLO:
            rest = f"what{' else' if listed else ''} goes outside, loses the user's work or publishes:"
            what = f"edits and commands in the directory run at once{listed}; {rest}"
        case Mode.FULL_YOLO:
            what = "nearly everything runs at once; keys, start-up files and git hooks:"
    return f"Approvals: {what} {asked}."


def _below_the_ceiling(settings: PermissionSettings) -> str:
    """What runs at once under `-y` where the options name a list of what may."""
    free = [word for kind, word in LIMITED.items() if kind not in settings.ceiling]
    limited = " and ".join(word for kind, word in LIMITED.items() if kind in settings.ceiling)
    at_once = " and ".join(["commands known to read only", *(f"{word} in the directory" for word in free)])
    return f"{at_once} run at once, other {limited} only as the allow list of this run says: {_rules_told(settings.allow)}"


def _rules_told(rules: Sequence[str]) -> str:
    more = [f"{len(rules) - MOST_RULES} more"] if len(rules) > MOST_RULES else []
    return ", ".join([*rules[:MOST_RULES], *more])


def run_settings(config: Config, request: SessionRequest) -> RunSettings:
    """How runs are made. `--max-steps` is the Director's limit and caps everybody else's."""
    flags, agent = request.flags, config.agent
    parallel = concurrency_enabled(request.environ)
    return RunSettings(
        language=agent.lang,
        max_steps={name: _steps(name, getattr(agent, f"{name}_max_steps"), flags.max_steps) for name in ROSTER},
        idle_timeout=agent.delegate_idle_timeout,
        total_timeout=agent.delegate_total_timeout,
        parallel_tools=agent.max_parallel_readonly_tools if parallel else 1,
        parallel_delegations=agent.max_parallel_delegations if parallel else 1,
        disabled_agents=flags.disabled_agents,
        offers_asks=request.can_ask and mode(config, flags) is not Mode.FULL_YOLO,
        turn=TurnSettings(step_retries=config.llm.step_retries),
        resume=resume_settings(config),
    )


def _steps(name: str, configured: int, flag: int | None) -> int:
    if flag is None:
        return configured
    return flag if name == "director" else min(flag, configured)


def task_settings(config: Config, flags: RunFlags) -> TaskSettings:
    """Limits and policies of a task."""
    return TaskSettings(
        timeout=_limit(flags.timeout, config.task_timeout),
        max_cost=_limit(flags.max_cost, config.agent.max_cost),
        reminder=_REMINDERS[config.agent.delegation_reminder],
    )


def _limit(flag: float | None, configured: float | None) -> float | None:
    """A limit as rooms know it, None for none: 0 of an option lifts what the config sets, an option that was not given leaves it."""
    return configured if flag is None else flag or None


def resume_settings(config: Config) -> ResumeSettings:
    """Whether and how a stopped session goes on."""
    resume = config.resume
    return ResumeSettings(
        enable=resume.enable,
        token_budget=resume.replay_token_budget,
        max_messages=resume.max_replay_messages,
        block_on_change=resume.degrade_on_workspace_change == "block",
        checkpoint_workspace=resume.checkpoint_workspace,
    )


def compression_settings(config: Config) -> CompressionSettings:
    """Whether and when a conversation is shrunk."""
    return CompressionSettings(**_declared(config.compression))


def blackboard_settings(config: Config, environ: Mapping[str, str]) -> BlackboardSettings:
    """What notes and artifacts are kept, and how much of them is shown."""
    return BlackboardSettings(**_declared(config.blackboard), enabled=blackboard_enabled(environ), artifacts=artifacts_enabled(environ))


def notes_root(environ: Mapping[str, str], data: DataHome, home: Path | None) -> Path:
    """Where notes are: `YAGENT_NOTES_ROOT`, else in the data directory (B-102). Raises ConfigError when that names no certain place."""
    chosen = environ.get("YAGENT_NOTES_ROOT", "")
    if not chosen:
        return data.notes_dir
    place = home / chosen[2:] if chosen.startswith("~/") and home is not None else Path(chosen)
    if not place.is_absolute():
        raise ConfigError(
            f"YAGENT_NOTES_ROOT is {chosen!r}, which is not an absolute path.",
            where="the environment",
            fix="Give it an absolute path, or unset it: notes are then kept in the data directory.",
        )
    return place


def _declared(section: Any) -> dict[str, Any]:
    """The values of a section by the names of its keys, which are those of its room's settings."""
    return {name: getattr(section, name) for name in declared_in(type(section))}


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are on this machine: yagent's own directory, the user's home directory, the session's private temporary one."""

    data: DataHome
    user: Path | None
    temporary: Path


def permission_settings(
    config: Config, request: SessionRequest, places: Places, shell: ShellSettings, work: TaskWork
) -> PermissionSettings:
    """The user's rules, the machine's protected places, and the environment that commands will really see."""
    flags, rules = request.flags, config.permissions
    user, temporary = places.user, places.temporary
    files = LocalFileSystem()
    seen = child_environment(request.environ, temporary=temporary, pass_env=shell.pass_env, provider_keys=shell.provider_keys)
    return PermissionSettings(
        workspace=request.workspace,
        mode=mode(config, flags),
        allow=(*rules.allow, *flags.allow),
        ask=(*rules.ask, *flags.ask),
        deny=(*rules.deny, *flags.deny),
        ceiling=frozenset(rule.kind for rule in parse_rules(flags.allow)) & LIMITED.keys(),
        home=user,
        task_temporary=temporary,
        system_temporary=temporary.parent,
        protected=ProtectedSettings(
            home=user,
            data_home=places.data.asked,
            secrets=() if request.config_path is None else (Path(os.path.abspath(request.config_path)),),
            git_directories=git_directories(str(request.workspace), seen.variables, files),
        ),
        environment=seen.variables,
        recoverable=work.is_recoverable,
        moved=work.moved,
    )


def shell_settings(config: Config, request: SessionRequest, resolution: Resolution | None) -> ShellSettings:
    """What commands may see of the environment."""
    known = {name for vendor in VENDORS for name in vendor.key_variables}
    chosen = {choice.key_source for choice in _choices(resolution) if choice.key_source}
    secrets = [secret for secret in _secrets_of(resolution) if len(secret) >= SHORTEST_SECRET]
    holding = {name for name, value in request.environ.items() if any(secret in value for secret in secrets)}
    keys = frozenset(known | chosen | holding | {"YAGENT_API_KEY"})
    hidden = tuple(secret for secret in secret_texts(resolution, request.environ) if len(secret) >= SHORTEST_KEY)
    return ShellSettings(pass_env=(*config.shell.pass_env, *request.flags.pass_env), provider_keys=keys, secrets=hidden)


def secret_texts(resolution: Resolution | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Every key and password this process knows, for the redacting filter of the logs."""
    keys = [environ[name] for vendor in VENDORS for name in vendor.key_variables if environ.get(name)]
    ways = [secret for name, value in environ.items() if name.lower().endswith("_proxy") for secret in credentials_in(value)]
    return tuple(dict.fromkeys((*_secrets_of(resolution), *keys, *ways)))


def _secrets_of(resolution: Resolution | None) -> Iterator[str]:
    """The keys of the providers, and what their addresses hold."""
    for choice in _choices(resolution):
        if choice.key:
            yield choice.key.reveal()
        yield from credentials_in(choice.base_url)


def _choices(resolution: Resolution | None) -> tuple[ProviderChoice, ...]:
    return () if resolution is None else (resolution.default, *resolution.others.values())
