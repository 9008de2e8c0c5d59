"""The commands of `yagent sessions`."""

import typer

from yagent.apps.cli.options import taking
from yagent.apps.cli.plain_options import PlainCommand
from yagent.apps.cli.sessions import export, fork, listing, removal, story


def application() -> typer.Typer:
    """All of them."""
    app = typer.Typer(
        help="Recorded sessions: list, show, export, fork, rm.",
        rich_markup_mode=None,
        no_args_is_help=True,
        add_completion=False,
    )
    app.command("list", cls=PlainCommand)(taking(listing.ListOptions, listing.list_command))
    app.command("show", cls=PlainCommand)(taking(story.ShowOptions, story.show_command))
    app.command("export", cls=PlainCommand)(taking(export.ExportOptions, export.command))
    app.command("fork", cls=PlainCommand)(taking(fork.ForkOptions, fork.command))
    app.command("rm", cls=PlainCommand)(taking(removal.RemoveOptions, removal.command))
    return app
