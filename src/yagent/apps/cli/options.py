"""Options as a frozen dataclass: each annotated field is one option, so a command takes one value instead of twenty arguments.

What a class inherits comes after its own in the help.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar, cast, get_type_hints

import typer

Options = TypeVar("Options")


def taking(options: type[Options], command: Callable[[typer.Context, Options], None]) -> Callable[..., None]:
    """The function Typer wants: it has the fields of `options` for parameters and calls `command(context, options)`."""

    def entry(context: typer.Context, **values: Any) -> None:
        command(context, options(**values))

    hints = get_type_hints(options, include_extras=True)
    own_first = sorted(fields(cast(Any, options)), key=lambda each: each.name not in options.__annotations__)
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[each.name],
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
        )
        for each in own_first
    ]
    cast(Any, entry).__signature__ = inspect.Signature([context, *parameters])
    entry.__annotations__ = {"context": typer.Context, **hints}
    entry.__doc__ = command.__doc__
    return entry
