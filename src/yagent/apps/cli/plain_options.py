"""Options whose values need no validation library.

Typer hands every value that is not a flag to pydantic, whose import takes longer than that of all our rooms. Here the plain cases are
decided at once: texts, lists of them, choices, counts and paths. Whatever else is given, a mistake first of all, remains Typer's to judge.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

NOT_PLAIN: Final = object()
SHOWN: Final = 40  # characters of a value that is no number
PLAIN_DIGITS: Final = 18  # the interpreter refuses to read numbers of thousands


class PlainOption(TyperOption):
    """An option that decides the plain cases by itself."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        """The value a command gets for what was given, None when nothing was."""
        plain = NOT_PLAIN if self.required else read_plain(self.type_descriptor.annotation, value)
        if isinstance(plain, int) and not (self.min or plain) <= plain <= (self.max or plain):
            plain = NOT_PLAIN
        if plain is NOT_PLAIN:
            try:
                return super().process_value(ctx, value)
            except typer.BadParameter as error:
                raise typer.BadParameter(mistake(self.type_descriptor.annotation, value, error.message), ctx=ctx, param=self) from None
        return plain if self.callback is None else self.callback(ctx, self, plain)


class PlainCommand(TyperCommand):
    """A command with such options."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, the help option too."""
        return _plain(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group of commands with such options of its own. Each is made when it is asked for; words that are no command are most likely a
    task."""

    makers: ClassVar[Mapping[str, Callable[[], Any]]] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the help."""
        return [*self.makers]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, None when there is none."""
        if cmd_name in self.makers and cmd_name not in self.commands:
            self.commands[cmd_name] = self.makers[cmd_name]()
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that `args` begin with; where there is none, the error says how a task is given."""
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-"):
            known = {option for parameter in self.get_params(ctx) for option in parameter.opts}
            close = [f"--{word}"] if f"--{word}" in known else get_close_matches(word, self.makers)
            meant = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            ctx.fail(f'No such command {word!r}.{meant} A task is given with -p: {ctx.command_path} -p "…"')
        return super().resolve_command(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, the help option too."""
        return _plain(super().get_params(ctx))


def read_plain(kind: Any, value: Any) -> Any:
    """What Typer would make of a value for an option of type `kind`; `NOT_PLAIN` when it has to be asked."""
    if value is None or value == () or (kind is str and isinstance(value, str)):
        return value
    if isinstance(value, str):
        return _read_text(kind, value)
    if kind == list[str] and isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return list(value)
    return value if kind is int and isinstance(value, int) else NOT_PLAIN


def mistake(kind: Any, value: Any, told: str) -> str:
    """What is wrong with a value for an option of type `kind`, where Typer `told` so much."""
    shown = repr(str(value)[:SHOWN])
    if get_origin(kind) is Literal:
        return f"{shown} is none of {', '.join(get_args(kind))}."
    reader, name = (int, "whole number") if kind in (int, int | None) else (float, "number")
    try:
        reader(str(value))
    except ValueError:
        return f"{shown} is no {name}." if kind in (int, float, int | None, float | None) else told
    return told.replace("Input should", f"{shown} should", 1)


def _read_text(kind: Any, text: str) -> Any:
    if kind is Path:
        return Path(text)
    if kind is int and text.isascii() and text.isdigit() and len(text) <= PLAIN_DIGITS:
        return int(text)
    return text if get_origin(kind) is Literal and text in get_args(kind) else NOT_PLAIN


def _plain(parameters: list[Any]) -> list[Any]:
    """The same parameters. Typer makes the options, and there is no place to tell it of which class."""
    for parameter in parameters:
        if type(parameter) is TyperOption:
            parameter.__class__ = PlainOption
    return parameters
