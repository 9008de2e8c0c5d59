"""The one Typer application: which commands there are."""

import typer

from yagent._version import VERSION
from yagent.apps.cli import demo, replay, run, sessions, setup
from yagent.apps.cli.options import taking
from yagent.apps.cli.plain_options import PlainCommand, PlainGroup

EXIT_CODES = (
    "Exit codes: 0 answered, 1 failed, 2 wrong usage or configuration, 3 a limit was reached, 4 an approval was denied because nobody "
    "could give it, 75 the provider is unavailable for now, 130 and 143 stopped, 141 nobody read the output."
)


def application() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        name="yagent",
        cls=PlainGroup,
        help="A team of coding agents in your terminal.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=f"{EXIT_CODES} yagent {VERSION}",
    )
    app.callback(invoke_without_command=True)(taking(run.RunOptions, run.command))
    app.command("demo", cls=PlainCommand)(taking(demo.DemoOptions, demo.command))
    app.command("replay", cls=PlainCommand)(taking(replay.ReplayOptions, replay.command))
    app.command("setup")(setup.command)
    listing = typer.Typer(help="Look at recorded sessions.", rich_markup_mode=None, no_args_is_help=True)
    listing.command("list", cls=PlainCommand)(taking(sessions.ListOptions, sessions.list_command))
    listing.command("show", cls=PlainCommand)(taking(sessions.ShowOptions, sessions.show_command))
    app.add_typer(listing, name="sessions")
    return app
