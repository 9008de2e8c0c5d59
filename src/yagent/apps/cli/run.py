"""`yagent -p …`: one task, in a new session or (`-r`, `-C`) in one that was recorded.

Without a prompt, and with nothing piped in, a new session says what there is; a recorded one goes on where it stood.
"""

import math
import os
import shlex
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import typer

from yagent._version import VERSION
from yagent.apps.cli.current_directory import current_directory
from yagent.apps.cli.one_shot import OneShot, run_one_shot
from yagent.apps.cli.progress import one_line
from yagent.apps.cli.standard_input import PromptError, read_further_words, read_prompt
from yagent.apps.cli.standard_output import StandardOutput
from yagent.apps.cli.terminal_asks import open_terminal
from yagent.config.values import duration_seconds
from yagent.errors import YagentError
from yagent.protocol.stop import USAGE
from yagent.records import dataclass
from yagent.runtime import supervise
from yagent.runtime.clock import SystemClock
from yagent.session.build import open_session
from yagent.session.request import Resume, RunFlags, SessionRequest

Texts = list[str]
ALLOW_HELP = "Allow, for example 'shell(pytest *)'. Repeatable. With -y such a list is a ceiling: of its kind nothing else runs unasked."

RESUME_HELP = "Go on with this session: with the task as new words in it, without one exactly where it stood."


class UnusableOption(YagentError):
    """The value of an option means nothing."""

    exit_code: ClassVar[int] = USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOptions:
    """How a task is carried out, and what may be done for it."""

    model: Annotated[str | None, typer.Option("-m", "--model", metavar="NAME", help="The model to use.")] = None
    provider: Annotated[str | None, typer.Option(metavar="NAME", help="The provider to use.")] = None
    output: Annotated[Literal["text", "json", "stream-json"], typer.Option(help="What standard output carries.")] = "text"
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")] = False
    yolo: Annotated[bool, typer.Option("-y", "--yolo", help="Do not ask for what stays inside the workspace.")] = False
    full_yolo: Annotated[bool, typer.Option("-Y", "--full-yolo", help="Ask for nothing at all.")] = False
    allow: Annotated[Texts | None, typer.Option(metavar="RULE", help=ALLOW_HELP)] = None
    ask: Annotated[Texts | None, typer.Option(metavar="RULE", help="Ask for what would be allowed. Repeatable.")] = None
    deny: Annotated[Texts | None, typer.Option(metavar="RULE", help="Deny, whatever else allows it. Repeatable.")] = None
    pass_env: Annotated[Texts | None, typer.Option(metavar="NAME", help="Let commands see this variable. Repeatable.")] = None
    max_steps: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Model calls of one agent at most; there is always a limit.")
    ] = None
    max_cost: Annotated[float | None, typer.Option(metavar="USD", min=0, help="What the task may cost; 0: no limit.")] = None
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="What the task may take: 90s, 20m, 2h; 0: no limit.")] = None
    disable_agents: Annotated[Texts | None, typer.Option("-d", "--disable-agents", metavar="NAMES", help="Agents not to use.")] = None
    config: Annotated[Path | None, typer.Option("-c", "--config", metavar="FILE", help="Use exactly this configuration file.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(WorkOptions):
    """The options of a run."""

    prompt: Annotated[Texts | None, typer.Option("-p", "--prompt", metavar="TEXT", help="The task; - reads it from standard input.")] = None
    taskfile: Annotated[Path | None, typer.Option("-f", "--taskfile", metavar="FILE", help="Read the task from a file.")] = None
    resume: Annotated[str | None, typer.Option("-r", "--resume", metavar="ID", help=RESUME_HELP)] = None
    newest: Annotated[bool, typer.Option("-C", "--continue", help="The same with the newest session of this directory.")] = False
    version: Annotated[bool, typer.Option("-V", "--version", help="Print the version.")] = False


def command(context: typer.Context, options: RunOptions) -> None:
    """Run one task and print its answer. Exit codes: docs/headless.md."""
    if options.version:
        StandardOutput().write_now(f"yagent {VERSION}\n")
        return
    if context.invoked_subcommand is not None:
        if options != RunOptions():
            raise PromptError(f"Options of a run do not go with the command {context.invoked_subcommand!r}. Leave one of them out.")
        return
    if len(options.prompt or ()) > 1:
        raise PromptError("There are several prompts. Give one -p; a longer task can come from a file (-f) or through a pipe.")
    check(options)
    _check_file("-f", options.taskfile)
    resume = _resume(options)
    raise SystemExit(carry_out(_words(options, resume), options, resume))


def _words(options: RunOptions, resume: Resume | None) -> str | None:
    """What the user says; None when nothing is said, which only a session that goes on allows."""
    option = options.prompt[0] if options.prompt else None
    if resume is not None:
        return read_further_words(option, options.taskfile)
    if option is None and options.taskfile is None and os.isatty(0):
        raise PromptError('The full-screen interface is not part of this version yet. Give a task: yagent -p "…", or try: yagent demo')
    return read_prompt(option, options.taskfile)


def _resume(options: RunOptions) -> Resume | None:
    """The session to go on with, None for a new one."""
    if options.resume is not None and options.newest:
        raise UnusableOption("Give either -r ID, which names a session, or -C, which takes the newest one; not both.")
    if options.resume is None:
        return Resume() if options.newest else None
    if not options.resume.strip():
        raise UnusableOption("-r is empty. Name a session (yagent sessions list shows them), or take the newest one with -C.")
    return Resume(options.resume.strip())


def check(options: WorkOptions) -> None:
    """Refuse what would otherwise be passed over in silence, or taken for something else."""
    if options.model is not None and not options.model.strip():
        raise UnusableOption("-m is empty. Name a model, or leave it out: the provider's own model is used then.")
    if options.provider is not None and not options.provider.strip():
        raise UnusableOption("--provider is empty. Name one of the configuration, or leave it out.")
    for name in options.pass_env or ():
        if not name or "=" in name or "\0" in name:
            raise UnusableOption(f"--pass-env {name!r} is no name of a variable. Set it where yagent is started, and give its name alone.")
    if options.max_cost is not None and not math.isfinite(options.max_cost):
        raise UnusableOption(f"--max-cost {options.max_cost} is no amount. Write it like 0.50, in US dollars; 0 means no limit.")
    _check_file("-c", options.config)


def _check_file(option: str, path: Path | None) -> None:
    if path is not None and not path.name:
        raise UnusableOption(f"{option} names no file: it is empty or a directory. Name the file.")


def carry_out(prompt: str | None, options: WorkOptions, resume: Resume | None) -> int:
    """Run a task to its end; the exit code of the process."""
    return supervise.run(_run(prompt, options, resume, open_terminal(os.environ)))


async def _run(prompt: str | None, options: WorkOptions, resume: Resume | None, terminal: int | None) -> int:
    request = SessionRequest(
        workspace=current_directory(),
        environ=dict(os.environ),
        config_path=options.config,
        flags=_flags(options),
        can_ask=terminal is not None,
        resume=resume,
    )
    clock = SystemClock()
    async with open_session(request, clock) as session:
        opened = session.snapshot()
        run = OneShot(
            prompt=prompt,
            output=options.output,
            quiet=options.quiet,
            terminal=terminal,
            opening=f"yagent: Going on with session {opened.session}: {one_line(opened.began_with)}" if opened.began_with else "",
            may_go_on=True,
            again=again(options),
        )
        return await run_one_shot(session, run, clock)


def again(options: WorkOptions) -> str:
    """The options that decide what may be done and by whom, for a run that goes on as this one was allowed to; quoted for a shell."""
    limits = {"--max-steps": options.max_steps, "--max-cost": options.max_cost, "--timeout": options.timeout}
    config = None if options.config is None else os.fspath(options.config)
    ones = {"-m": options.model, "--provider": options.provider, "-c": config, **limits}
    lists = {
        "--allow": options.allow,
        "--ask": options.ask,
        "--deny": options.deny,
        "--pass-env": options.pass_env,
        "-d": options.disable_agents,
    }
    given = [(name, str(value)) for name, value in ones.items() if value is not None]
    given += [(name, value) for name, values in lists.items() for value in values or ()]
    mode = ["-Y"] if options.full_yolo else ["-y"] if options.yolo else []
    return shlex.join([*mode, *(part for name, value in given for part in _together(name, value))])


def _together(name: str, value: str) -> tuple[str, ...]:
    """An option and its value as the parser takes them for what they are."""
    if not value.startswith("-"):
        return name, value
    return (f"{name}={value}" if name.startswith("--") else f"{name}{value}",)


def _flags(options: WorkOptions) -> RunFlags:
    names = ",".join(options.disable_agents or ()).split(",")
    return RunFlags(
        model=options.model,
        provider=options.provider,
        mode="full-yolo" if options.full_yolo else "yolo" if options.yolo else None,
        allow=tuple(options.allow or ()),
        ask=tuple(options.ask or ()),
        deny=tuple(options.deny or ()),
        pass_env=tuple(options.pass_env or ()),
        max_steps=options.max_steps,
        max_cost=options.max_cost,
        timeout=_seconds(options.timeout),
        disabled_agents=frozenset(name.strip().lower() for name in names if name.strip()),
    )


def _seconds(text: str | None) -> float | None:
    """0 stays 0, which means no limit; None means that nothing was given."""
    if text is None:
        return None
    try:
        return duration_seconds(text)
    except ValueError:
        raise PromptError(f"--timeout {text} is no duration. Write it like 90s, 20m or 2h; 0 means no limit.") from None
