"""docs/tools.md holds the table that the registry gives."""

from pathlib import Path

from tests.tools.golden import assert_matches
from tests.tools.scopes import shipped_registry
from yagent.tools.parameters import schema_of
from yagent.tools.profiles import PROFILES
from yagent.tools.spec import AnySpec

PAGE = Path(__file__).parents[2] / "docs" / "tools.md"
BEGIN, END = "<!-- table: generated -->\n", "<!-- end of table -->\n"


def kind_of(spec: AnySpec) -> str:
    """How it runs beside others."""
    return "mutates" if spec.mutates else "serial" if spec.serial else "read-only"


def arguments_of(spec: AnySpec) -> str:
    """Its arguments, those that may be left out with a question mark."""
    schema = schema_of(spec.parameters)
    return ", ".join(f"`{name}`{'' if name in schema.get('required', ()) else '?'}" for name in schema["properties"])


def table() -> str:
    """One row per tool, in the order in which models see them."""
    lines = ["| tool | arguments | holders | effect | kind | frequency |", "|---|---|---|---|---|---|"]
    for spec in shipped_registry().specs:
        holders = ", ".join(name for name, profile in PROFILES.items() if profile.grants(spec))
        lines.append(f"| `{spec.name}` | {arguments_of(spec)} | {holders} | {spec.effect} | {kind_of(spec)} | {spec.frequency} |")
    return "\n".join(lines) + "\n"


def test_the_table_of_tools_is_what_the_registry_gives() -> None:
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin
    assert end
    assert_matches(PAGE, before + BEGIN + table() + END + after)


def test_every_tool_has_a_holder() -> None:
    assert [spec.name for spec in shipped_registry().specs if not any(profile.grants(spec) for profile in PROFILES.values())] == []
