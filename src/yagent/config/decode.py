"""From a parsed document to a `Config`: every key is looked at, presence decides, no early return skips anything (B-05, B-08)."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Literal, NoReturn, TypeVar, cast

from yagent.config import renamed
from yagent.config.context_sections import BlackboardSection, CompressionSection, ResumeSection
from yagent.config.declared import Declared, declared_in
from yagent.config.document import line_of, show_path
from yagent.config.problems import ConfigError, Notice
from yagent.config.schema import (
    AGENTS,
    TOOLS_WITH_ENGINE,
    AgentSection,
    AssignmentSection,
    Config,
    DeferredSection,
    GlobalLlmSection,
    LlmSection,
    NamedAssignment,
    PermissionSection,
    ProviderSection,
    ShellSection,
)
from yagent.config.switches import concurrency_enabled, resume_enabled
from yagent.records import dataclass

Section = TypeVar("Section")
Table = Mapping[str, object]

_RULE_LISTS: Final = ("allow", "ask", "deny")
_TABLES: Final = (
    *("global", "agents", "tools", "agent", "llm", "shell", "resume", "permissions"),
    *("compression", "enhanced_commander", "blackboard"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value comes from: `detail` names the file, the variable or the option; it never holds the value."""

    kind: Literal["default", "file", "environment", "option"]
    detail: str = ""

    def __str__(self) -> str:
        return self.detail or self.kind


@dataclass(frozen=True, slots=True)
class Decoded:
    """`sources` holds the keys that something set; a key that is not in it has its default."""

    config: Config
    sources: Mapping[str, Source]
    notices: tuple[Notice, ...]


def decode(document: Table, *, text: str, origin: str, environ: Mapping[str, str]) -> Decoded:
    """The configuration that `document` describes.

    `text` is what it was parsed from and `origin` the name of the file: both are for messages only.
    Raises ConfigError for a value of the wrong kind, and for anything that could make a permission rule fall away.
    """
    reader = _Reader(text, origin)
    config = reader.config(document)
    if not concurrency_enabled(environ):
        config = replace(config, agent=replace(config.agent, max_parallel_readonly_tools=1, max_parallel_delegations=1))
        serial = Source("environment", "YAGENT_CONCURRENCY")
        reader.sources |= {"agent.max_parallel_readonly_tools": serial, "agent.max_parallel_delegations": serial}
    if not resume_enabled(environ):
        config = replace(config, resume=replace(config.resume, enable=False))
        reader.sources["resume.enable"] = Source("environment", "YAGENT_RESUME")
    return Decoded(config, MappingProxyType(reader.sources), tuple(reader.notices))


class _Reader:
    """One reading of one document; collects what there is to say about it."""

    def __init__(self, text: str, origin: str) -> None:
        self.text = text
        self.origin = origin
        self.notices: list[Notice] = []
        self.sources: dict[str, Source] = {}

    def config(self, document: Table) -> Config:
        self.strangers(document, (), {*declared_in(Config), *_TABLES})
        values = self.values(Config, document, ())
        llm = {name: self.table(self.table(document, (), name), (name,), "llm") for name in ("global", "agents", "tools")}
        self.strangers(self.table(document, (), "global"), ("global",), {"llm"})
        self.strangers(self.table(document, (), "agents"), ("agents",), {"llm"})
        self.strangers(self.table(document, (), "tools"), ("tools",), {"llm", "deferred"})
        return Config(
            **values,
            global_llm=self.global_llm(llm["global"]),
            agents_llm=self.assignment(llm["agents"], ("agents", "llm"), AGENTS),
            tools_llm=self.assignment(llm["tools"], ("tools", "llm"), TOOLS_WITH_ENGINE),
            tools_deferred=self.section(
                DeferredSection, self.table(self.table(document, (), "tools"), ("tools",), "deferred"), "tools.deferred"
            ),
            agent=self.language(self.section(AgentSection, self.table(document, (), "agent"), "agent")),
            llm=self.section(LlmSection, self.table(document, (), "llm"), "llm"),
            shell=self.section(ShellSection, self.table(document, (), "shell"), "shell"),
            resume=self.section(ResumeSection, self.table(document, (), "resume"), "resume"),
            compression=self.renamed_section(CompressionSection, document, "compression", "enhanced_commander"),
            blackboard=self.section(BlackboardSection, self.table(document, (), "blackboard"), "blackboard"),
            permissions=self.section(PermissionSection, self.table(document, (), "permissions"), "permissions"),
        )

    def language(self, agent: AgentSection) -> AgentSection:
        return agent if agent.lang.strip() else replace(agent, lang=AgentSection().lang)

    def global_llm(self, table: Table) -> GlobalLlmSection:
        path = ("global", "llm")
        self.strangers(table, path, {"use_provider", "providers"})
        listed = self.table(table, path, "providers")
        providers = {name: self.provider(self.table(listed, (*path, "providers"), name), name) for name in listed}
        return GlobalLlmSection(**self.values(GlobalLlmSection, table, path), providers=MappingProxyType(providers))

    def provider(self, table: Table, name: str) -> ProviderSection:
        path = ("global", "llm", "providers", name)
        self.strangers(table, path, declared_in(ProviderSection))
        return ProviderSection(**self.values(ProviderSection, table, path))

    def assignment(self, table: Table, path: tuple[str, ...], names: tuple[str, ...]) -> AssignmentSection:
        self.strangers(table, path, {"use_provider", *names})
        by_name: dict[str, str] = {}
        for name in (name for name in names if name in table):
            inner = self.table(table, path, name)
            self.strangers(inner, (*path, name), {"use_provider"})
            provider = self.values(NamedAssignment, inner, (*path, name))["use_provider"]
            if provider is not None:
                by_name[name] = provider
        return AssignmentSection(**self.values(AssignmentSection, table, path), by_name=MappingProxyType(by_name))

    def section(self, section: type[Section], table: Table, prefix: str) -> Section:
        path = tuple(prefix.split("."))
        self.strangers(table, path, declared_in(section))
        return section(**self.values(section, table, path))

    def renamed_section(self, section: type[Section], document: Table, name: str, old_name: str) -> Section:
        """A section with what the file still sets under its old name; the new name wins where both set a key."""
        table, old = self.table(document, (), name), self.table(document, (), old_name)
        found = self.section(section, table, name)
        if old_name not in document:
            return found
        self.notices.append(Notice(old_name, f"{self.place((old_name,))}: [{old_name}] is called [{name}] now; write that name instead."))
        self.strangers(old, (old_name,), declared_in(section))
        values = self.values(section, old, (old_name,))
        for each in declared_in(section):
            source = self.sources.pop(f"{old_name}.{each}", None)
            if each in table or source is None:
                values[each] = getattr(found, each)
            else:
                self.sources[f"{name}.{each}"] = source
        return section(**values)

    def values(self, section: type[Any], table: Table, path: tuple[str, ...]) -> dict[str, Any]:
        """The declared keys of `section` as `table` sets them, defaults for the rest."""
        defaults = section()
        return {
            name: self.value(declared, table[name], (*path, name), getattr(defaults, name)) if name in table else getattr(defaults, name)
            for name, declared in declared_in(section).items()
        }

    def value(self, declared: Declared, raw: object, path: tuple[str, ...], default: object) -> object:
        dotted = show_path(path)
        try:
            value = declared.kind.read(raw, default)
        except ValueError:
            self.refuse(f"{dotted} is not usable: {declared.kind.expected} is expected here.", path)
        if declared.kind.choices and value not in declared.kind.choices:
            listed = ", ".join(declared.kind.choices)
            self.notices.append(Notice(dotted, f"{self.place(path)}: {dotted} is none of {listed}; using {default}."))
            return default
        self.sources[dotted] = Source("file", self.origin)
        return value

    def table(self, parent: Table, path: tuple[str, ...], name: str) -> Table:
        """The table `name` of `parent`, empty when it is absent."""
        value = parent.get(name, {})
        if not isinstance(value, dict):
            dotted = show_path((*path, name))
            self.refuse(f"{dotted} is not usable: a table is expected here, [{dotted}].", (*path, name))
        return cast("Table", value)

    def strangers(self, table: Table, path: tuple[str, ...], known: Iterable[str]) -> None:
        """Say something about each entry of `table` that is not known: gone, not yet in effect, or misspelled."""
        known = set(known)
        for name in table:
            if name not in known:
                self.stranger(table[name], (*path, name), known)

    def stranger(self, value: object, path: tuple[str, ...], known: set[str]) -> None:
        dotted, place = show_path(path), self.place(path)
        if hint := renamed.removed_hint(path):
            self.notices.append(Notice(dotted, f"{place}: {dotted} is no longer a setting: {hint}."))
            return
        if len(path) == 1 and (new := renamed.RENAMED_SECTIONS.get(path[0])):
            self.notices.append(Notice(dotted, f"{place}: [{dotted}] is called [{new}] now; it has no effect yet in this version."))
            self.removed_inside(value, path)
        elif renamed.is_not_yet(path):
            what = f"[{dotted}]" if isinstance(value, dict) else dotted
            self.notices.append(Notice(dotted, f"{place}: {what} has no effect yet in this version."))
            self.removed_inside(value, path)
        else:
            self.unknown(value, path, known)

    def removed_inside(self, value: object, path: tuple[str, ...]) -> None:
        for name, inner in value.items() if isinstance(value, dict) else ():
            if hint := renamed.removed_hint((*path, name)):
                dotted = show_path((*path, name))
                self.notices.append(Notice(dotted, f"{self.place((*path, name))}: {dotted} is no longer a setting: {hint}."))
            else:
                self.removed_inside(inner, (*path, name))

    def unknown(self, value: object, path: tuple[str, ...], known: set[str]) -> None:
        dotted = show_path(path)
        nearest = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.6)
        guess = f" Did you mean {show_path((*path[:-1], nearest[0]))}?" if nearest else ""
        if (
            "permissions" in (*path, *nearest)
            or path[-1] in _RULE_LISTS
            or (isinstance(value, dict) and not value.keys().isdisjoint(_RULE_LISTS))
        ):
            self.refuse(f"{dotted} is not a setting, and a permission rule must not get lost.{guess}", path)
        self.notices.append(Notice(dotted, f"{self.place(path)}: {dotted} is not a setting and has no effect.{guess}"))

    def place(self, path: tuple[str, ...]) -> str:
        line = line_of(self.text, path)
        return f"{self.origin}:{line}" if line else self.origin

    def refuse(self, what: str, path: tuple[str, ...]) -> NoReturn:
        line = line_of(self.text, path)
        where = f"{self.origin}, line {line}, column {self.column(line)}" if line else self.origin
        raise ConfigError(what, where=where, fix="Correct this entry or take it out; docs/configuration.md lists every setting.")

    def column(self, line: int) -> int:
        written = self.text.split("\n")[line - 1]
        return len(written) - len(written.lstrip()) + 1
