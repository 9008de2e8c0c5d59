"""Plain options give what Typer's own give, mistakes included."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.core import TyperCommand
from typer.main import get_command

from yagent.apps.cli.options import taking
from yagent.apps.cli.plain_options import NOT_PLAIN, PlainCommand, read_plain


@dataclass(frozen=True)
class Options:
    """One of each kind."""

    text: Annotated[str | None, typer.Option()] = None
    many: Annotated[list[str] | None, typer.Option()] = None
    path: Annotated[Path | None, typer.Option()] = None
    choice: Annotated[Literal["one", "two"], typer.Option()] = "one"
    count: Annotated[int | None, typer.Option(min=1, max=9)] = None
    limit: Annotated[int, typer.Option(min=1)] = 20
    money: Annotated[float | None, typer.Option(min=0)] = None
    flag: Annotated[bool, typer.Option("--flag")] = False


def outcome(kind: type[TyperCommand], arguments: list[str]) -> Any:
    """The values a command gets, or how its arguments are refused, and with which words."""
    found: list[Options] = []
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=kind)(taking(Options, lambda context, options: found.append(options)))
    try:
        get_command(app).main(arguments, standalone_mode=False)
    except typer.TyperException as refusal:
        return type(refusal), str(refusal)
    return found


@pytest.mark.parametrize(
    "line",
    [
        "", "--text x", "--text=", "--text -", "--many a --many b", "--path a/b", "--path=", "--choice two", "--choice three",
        "--count 1", "--count 9", "--count 0", "--count 10", "--count -3", "--count x", "--count 1.5", "--count ٣", "--count 007",
        "--limit 0", "--limit 3", "--money 1.5", "--money -1", "--money nan", "--flag", "--flag --flag", "--unknown", "--text",
        f"--count {'9' * 5000}", f"--limit {'9' * 5000}", "--limit 99999999999999999999", f"--money {'9' * 5000}",
    ],
)  # fmt: skip
def test_plain_options_give_what_typers_own_give_and_refuse_what_they_refuse(line: str) -> None:
    assert outcome(PlainCommand, line.split())[0] == outcome(TyperCommand, line.split())[0]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--choice three", "'three' is none of one, two."),
        ("--count x", "'x' is no whole number."),
        ("--count 1.5", "'1.5' is no whole number."),
        (f"--limit {'x' * 5000}", f"'{'x' * 40}' is no whole number."),
        ("--money 1,50", "'1,50' is no number."),
        ("--limit 0", "'0' should be greater than or equal to 1"),
        ("--count 10", "'10' should be less than or equal to 9"),
        ("--money nan", "'nan' should be greater than or equal to 0"),
    ],
)
def test_a_mistake_is_told_in_plain_words_with_what_was_given(line: str, told: str) -> None:
    assert outcome(PlainCommand, line.split())[1].endswith(told)


def test_what_is_not_plain_is_left_to_typer() -> None:
    assert read_plain(float, "1") is NOT_PLAIN
    assert read_plain(int, "-1") is NOT_PLAIN
    assert read_plain(Literal["a"], "b") is NOT_PLAIN
    assert read_plain(list[int], ["1"]) is NOT_PLAIN
