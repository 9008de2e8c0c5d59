"""The one Typer application: which commands there are. A command is imported and built when somebody asks for it."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import typer
from typer.main import get_command

from yagent._version import VERSION
from yagent.apps.cli import run
from yagent.apps.cli.options import Options, taking
from yagent.apps.cli.plain_options import PlainCommand, PlainGroup

EXIT_CODES = (
    "Exit codes: 0 answered, 1 failed, 2 wrong usage or configuration, 3 a limit was reached, 4 an approval was denied because nobody "
    "could give it, 75 the provider is unavailable for now, 130 and 143 stopped, 141 nobody read the output."
)


def application() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        name="yagent",
        cls=_Commands,
        help="A team of coding agents in your terminal.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=f"{EXIT_CODES} yagent {VERSION}",
    )
    app.callback(invoke_without_command=True)(taking(run.RunOptions, run.command))
    return app


def _command(options: type[Options], command: Callable[[typer.Context, Options], None]) -> Any:
    """One command by itself."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=PlainCommand)(taking(options, command))
    return get_command(app)


def _resume() -> Any:
    from yagent.apps.cli import resume

    return _command(resume.ResumeOptions, resume.command)


def _demo() -> Any:
    from yagent.apps.cli import demo

    return _command(demo.DemoOptions, demo.command)


def _replay() -> Any:
    from yagent.apps.cli import replay

    return _command(replay.ReplayOptions, replay.command)


def _setup() -> Any:
    from yagent.apps.cli import setup

    return _command(setup.SetupOptions, setup.command)


def _sessions() -> Any:
    from yagent.apps.cli.sessions import commands

    return get_command(commands.application())


class _Commands(PlainGroup):
    """The commands beside a run."""

    makers: ClassVar[Mapping[str, Callable[[], Any]]] = {
        "resume": _resume,
        "sessions": _sessions,
        "replay": _replay,
        "demo": _demo,
        "setup": _setup,
    }
