"""Write what follows from the config schema: the tables of docs/configuration.md and the packaged template. `--check` only compares."""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from yagent.config import values
from yagent.config.declared import Key
from yagent.config.schema import AGENTS, TOOLS_WITH_ENGINE, keys
from yagent.config.vendors import MODELS_AS_OF, VENDORS

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs" / "configuration.md"
TEMPLATE = ROOT / "src" / "yagent" / "config" / "template.toml"

EXAMPLES: dict[str, object] = {
    "global.llm.use_provider": "work",
    "global.llm.providers.work.model": "your-model",
    "global.llm.providers.work.api_base_url": "https://your-endpoint/v1",
    "global.llm.providers.work.api_key": "your-key",
    "global.llm.providers.work.api_key_env": "WORK_API_KEY",
    "global.llm.providers.work.price_input": 1.25,
    "global.llm.providers.work.price_output": 10.0,
    "global.llm.providers.work.price_cache_read": 0.125,
    "global.llm.providers.work.price_cache_write": 1.25,
    "agents.llm.use_provider": "work",
    "agents.llm.coding.use_provider": "work",
    "tools.llm.use_provider": "work",
    "tools.llm.design.use_provider": "work",
}


def key_tables() -> str:
    """One Markdown table per section."""
    lines: list[str] = []
    for section, rows in by_section():
        title = f"`[{section}]`" if section else "Top level"
        lines += [
            f"### {title}",
            "",
            "| key | value | default | zero, negative, absent | effect | consumed by |",
            "|---|---|---|---|---|---|",
        ]
        lines += [table_row(cells(row)) for row in rows]
        lines.append("")
    return "\n".join(lines).rstrip()


def table_row(texts: Iterable[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def cells(row: Key) -> tuple[str, ...]:
    """The cells of one key's row."""
    declared = row.declared
    kind = ", ".join(f"`{choice}`" for choice in declared.kind.choices) or declared.kind.name
    return f"`{row.path}`", kind, shown_default(row), declared.rule, declared.text, f"`{declared.consumer}`"


def shown_default(row: Key) -> str:
    """A default for people."""
    return "—" if row.default in (None, "", ()) else f"`{toml(row, row.default)}`"


def vendor_table() -> str:
    """The vendors in the order in which they are tried."""
    lines = [
        f"Default models are as of {MODELS_AS_OF}.",
        "",
        "| | `--provider` | vendor | key from | URL from | default URL | protocol | default model |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for number, vendor in enumerate(VENDORS, 1):
        names = (" or ".join(f"`{name}`" for name in group) or "—" for group in (vendor.key_variables, vendor.url_variables))
        formats = ", ".join(f"`{each}`" for each in vendor.formats)
        model = f"`{vendor.model}`" if vendor.model else "the only one it lists"
        row = (str(number), f"`{vendor.name}`", vendor.title, *names, f"`{vendor.base_url}`", formats, model)
        lines.append(table_row(row))
    return "\n".join(lines)


def template() -> str:
    """The whole file as comments: each key with its default, or with an example where it has none."""
    lines = ["# Configuration of yagent. Every setting is here with its default; take away the # before what you want to change.", ""]
    for pattern, rows in by_section():
        section = pattern.replace("<name>", "work").replace("<agent>", "coding").replace("<tool>", "design")
        if section:
            lines += [f"# [{section}]"]
        for row in rows:
            path = f"{section}.{row.path.rsplit('.', 1)[-1]}".lstrip(".")
            value = EXAMPLES.get(path, row.default)
            lines.append(f"# {path.rsplit('.', 1)[-1]} = {toml(row, value)}  # {row.declared.text.replace('`', '')}")
        lines.append("")
    return "\n".join(lines)


def toml(row: Key, value: object) -> str:
    """A value as the file has it."""
    if row.declared.kind is values.DURATION:
        return json.dumps(values.show_duration(value if isinstance(value, float) else None))
    if value is None:
        return "0"
    return json.dumps(list(value)) if isinstance(value, tuple) else json.dumps(value)


def by_section() -> list[tuple[str, list[Key]]]:
    """The keys of each section, in order."""
    sections: dict[str, list[Key]] = {}
    for row in keys():
        sections.setdefault(row.path.rpartition(".")[0], []).append(row)
    return list(sections.items())


def guide(text: str) -> str:
    """The guide with its generated parts renewed."""
    notes = f"`<name>` is any name, `<agent>` one of {listed(AGENTS)}, `<tool>` one of {listed(TOOLS_WITH_ENGINE)}.\n\n"
    for name, body in (("keys", notes + key_tables()), ("vendors", vendor_table())):
        start, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = f"{before}{start}\n{body}\n{end}{after}"
    return text


def listed(names: Iterable[str]) -> str:
    """Names in code style, with commas."""
    return ", ".join(f"`{name}`" for name in names)


def main() -> int:
    """0 when everything is up to date, or was made so."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when something is out of date")
    check = parser.parse_args().check
    stale = False
    for path, content in ((GUIDE, guide(GUIDE.read_text(encoding="utf-8"))), (TEMPLATE, template())):
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            stale = True
            print(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
            if not check:
                path.write_text(content, encoding="utf-8")
    return int(stale and check)


if __name__ == "__main__":
    sys.exit(main())
