"""Every key of the config file, once: its type, default, what zero and absence mean, what it does and which room consumes it.

Loading, validation, docs/configuration.md and template.toml all follow from the fields below and in
`context_sections`; no default is written elsewhere.
Only keys with a consumer are here (B-10). Durations are seconds; None is "off", "no limit" or "not set" as each rule says.
"""

from collections.abc import Mapping
from dataclasses import Field, field, fields
from types import MappingProxyType
from typing import Any, Final

from yagent.config import values
from yagent.config.context_sections import BlackboardSection, CompressionSection, ResumeSection
from yagent.config.declared import DEFAULT_AT_ZERO, Declared, Key, key
from yagent.config.secret import SecretText, is_placeholder
from yagent.records import dataclass

API_FORMATS: Final = ("openai", "responses", "anthropic")
AGENTS: Final = ("director", "coding", "repo", "chat", "devops", "browser", "meta")
TOOLS_WITH_ENGINE: Final = ("micro_agent", "thinking", "deepthinking", "design")

_ABSENT_INHERITS: Final = "absent: inherit"
_CAPPED: Final = "1: one after another; 0 or less: the default; more than 8: 8"
_OFF_AT_ZERO: Final = "0: off"
_UNKNOWN_PRICE: Final = "0: free of charge; absent: the catalogue's price, else unknown"


def _empty_mapping() -> Any:
    return field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSection:
    """`[global.llm.providers.<name>]`: one model behind one endpoint."""

    model: str | None = key(
        values.NAME,
        None,
        "absent: the only model that the endpoint lists",
        "Model id, as the endpoint spells it.",
        consumer="llm.engine",
    )
    api_base_url: str | None = key(
        values.URL, None, "required", "Base URL of the endpoint, without the path of a single call.", consumer="llm.transport"
    )
    api_key: SecretText | None = field(
        default=None,
        metadata={
            "key": Declared(
                values.SECRET,
                "a placeholder such as `your-key`: not set; empty or absent: the vendor's variable if the URL is the vendor's, else none",
                "The key itself.",
                "llm.transport",
            )
        },
    )
    api_key_env: str | None = key(
        values.VARIABLE,
        None,
        "named but not set in the environment: an error; wins over `api_key`",
        "Name of the environment variable that holds the key.",
        consumer="llm.transport",
    )
    api_format: str = key(
        values.one_of(*API_FORMATS),
        "openai",
        "unknown: a notice and the default",
        "Protocol: `openai` (Chat Completions), `responses` (OpenAI Responses) or `anthropic` (Messages).",
        consumer="llm.dialects",
    )
    context_window: int | None = key(
        values.OPTIONAL_COUNT, None, "0 or absent: from the catalogue", "Tokens the model can hold.", consumer="llm.catalog"
    )
    temperature: float | None = key(
        values.OPTIONAL_AMOUNT, None, "0 or absent: the field is not sent", "Sampling temperature.", consumer="llm.dialects"
    )
    max_tokens: int | None = key(
        values.OPTIONAL_COUNT,
        None,
        "0 or absent: not sent, or the catalogue's limit where the protocol requires one",
        "Most tokens of one reply.",
        consumer="llm.dialects",
    )
    reasoning_effort: str = key(
        values.TEXT, "", "empty: the model's own default", "How much the model thinks, in its family's words.", consumer="llm.quirks"
    )
    price_input: float | None = key(values.PRICE, None, _UNKNOWN_PRICE, "US dollars per million input tokens.", consumer="llm.catalog")
    price_output: float | None = key(values.PRICE, None, _UNKNOWN_PRICE, "US dollars per million output tokens.", consumer="llm.catalog")
    price_cache_read: float | None = key(
        values.PRICE, None, _UNKNOWN_PRICE, "US dollars per million input tokens read from a cache.", consumer="llm.catalog"
    )
    price_cache_write: float | None = key(
        values.PRICE, None, _UNKNOWN_PRICE, "US dollars per million input tokens written to a cache.", consumer="llm.catalog"
    )

    @property
    def is_unfinished(self) -> bool:
        """Whether something in it is still the placeholder of a template; such a provider counts as not there."""
        texts = (self.model, self.api_base_url, self.api_key.reveal() if self.api_key else None)
        return any(text is not None and is_placeholder(text) for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalLlmSection:
    """`[global.llm]`."""

    use_provider: str | None = key(
        values.NAME,
        None,
        "absent: the only provider of the file; required when there are several",
        "The provider used where nothing more special is said: a `[global.llm.providers.<name>]`, or a name of the vendor table.",
        consumer="llm.engine",
    )
    providers: Mapping[str, ProviderSection] = _empty_mapping()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentSection:
    """`[agents.llm]` and `[tools.llm]`: a provider for all of them, and for single ones by name."""

    use_provider: str | None = key(
        values.NAME, None, _ABSENT_INHERITS, "The provider of every agent (or tool) without one of its own.", consumer="llm.engine"
    )
    by_name: Mapping[str, str] = _empty_mapping()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedAssignment:
    """`[agents.llm.<agent>]` and `[tools.llm.<tool>]`."""

    use_provider: str | None = key(values.NAME, None, _ABSENT_INHERITS, "The provider of this one agent (or tool).", consumer="llm.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredSection:
    """`[tools.deferred]`: tools that are declared by name first and loaded when wanted."""

    enabled: bool = key(
        values.FLAG,
        default=True,
        rule="false: every tool is declared in full from the start",
        text="Keep rarely used tools cold.",
        consumer="tools.surface",
    )
    hot: tuple[str, ...] = key(
        values.TEXTS, (), "empty: none", "Names of tools that are declared in full all the same.", consumer="tools.surface"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSection:
    """`[agent]`: how agents work, and how far."""

    lang: str = key(
        values.TEXT, "English", "empty: the default", "Language of answers and of the values of thoughts.", consumer="agents.director"
    )
    yolo: str = key(
        values.one_of("off", "yolo", "full"),
        "off",
        "unknown: a notice and the default; `-y` and `-Y` win",
        "What runs without asking: `off`, `yolo` (inside the workspace), `full`.",
        consumer="workspace.permissions",
    )
    delegation_reminder: str = key(
        values.one_of("auto", "always", "never"),
        "auto",
        "unknown: a notice and the default",
        "When the Director is reminded to delegate: `auto` (open items in its plan, or code in its answer), `always`, `never`.",
        consumer="agents.director",
    )
    director_max_steps: int = key(
        values.COUNT, 100, DEFAULT_AT_ZERO, "Steps the Director may take in a task; `--max-steps` wins.", consumer="agents.loop"
    )
    coding_max_steps: int = key(values.COUNT, 150, DEFAULT_AT_ZERO, "Steps of one Coding delegation.", consumer="agents.roles")
    repo_max_steps: int = key(values.COUNT, 50, DEFAULT_AT_ZERO, "Steps of one Repo delegation.", consumer="agents.roles")
    chat_max_steps: int = key(values.COUNT, 50, DEFAULT_AT_ZERO, "Steps of one Chat delegation.", consumer="agents.roles")
    devops_max_steps: int = key(values.COUNT, 50, DEFAULT_AT_ZERO, "Steps of one DevOps delegation.", consumer="agents.roles")
    max_cost: float | None = key(
        values.OPTIONAL_AMOUNT, None, "0 or absent: no limit; `--max-cost` wins", "US dollars one task may cost.", consumer="agents.loop"
    )
    delegate_idle_timeout: float | None = key(
        values.DURATION,
        60.0,
        _OFF_AT_ZERO,
        "A delegation in which nothing at all happens for this long ends.",
        consumer="agents.delegation",
    )
    delegate_total_timeout: float | None = key(
        values.DURATION, 1200.0, _OFF_AT_ZERO, "A delegation gets one last step to hand over after this long.", consumer="agents.delegation"
    )
    max_parallel_readonly_tools: int = key(
        values.PARALLEL, 4, _CAPPED, "Read-only tool calls of one batch that run at the same time.", consumer="tools.batch"
    )
    max_parallel_delegations: int = key(
        values.PARALLEL, 2, _CAPPED, "Read-only delegations that run at the same time.", consumer="agents.delegation"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSection:
    """`[llm]`: how long to wait for a model, and how often to try. Waiting for a slot never counts."""

    timeout: float | None = key(values.DURATION, 900.0, _OFF_AT_ZERO, "Longest one model call may take in all.", consumer="llm.engine")
    header_timeout: float | None = key(values.DURATION, 120.0, _OFF_AT_ZERO, "Longest wait for a reply to begin.", consumer="llm.transport")
    chunk_timeout: float | None = key(
        values.DURATION, 180.0, _OFF_AT_ZERO, "Longest silence in the middle of a reply.", consumer="llm.transport"
    )
    ca_file: str = key(
        values.TEXT,
        "",
        "empty: `SSL_CERT_FILE`, `SSL_CERT_DIR`, `REQUESTS_CA_BUNDLE`, then the system's own",
        "A PEM file of certificate authorities to trust.",
        consumer="llm.transport",
    )
    max_retries: int = key(values.RETRIES, 5, "0: none", "How often a failed model call is tried again.", consumer="llm.retry")
    step_retries: int = key(
        values.RETRIES, 2, "0: none", "How often an agent repeats a step whose model call failed for good.", consumer="agents.loop"
    )
    max_in_flight_requests: int | None = key(
        values.OPTIONAL_COUNT,
        8,
        "0: no limit; absent: the default",
        "Model calls of this process at the same time.",
        consumer="llm.inflight",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellSection:
    """`[shell]`."""

    pass_env: tuple[str, ...] = key(
        values.VARIABLES,
        (),
        "empty: none",
        "Variables that commands see although their names look secret; `--pass-env` adds to them.",
        consumer="workspace.shell",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionSection:
    """`[permissions]`: deny beats ask beats allow. A rule that cannot be read stops the start: it never falls away."""

    allow: tuple[str, ...] = key(
        values.RULES,
        (),
        "empty: none",
        "What runs without asking, beside what does anyway; `--allow` adds to it.",
        consumer="workspace.permissions",
    )
    ask: tuple[str, ...] = key(
        values.RULES, (), "empty: none", "What asks although it would run; `--ask` adds to it.", consumer="workspace.permissions"
    )
    deny: tuple[str, ...] = key(
        values.RULES, (), "empty: none", "What is refused in every mode; `--deny` adds to it.", consumer="workspace.permissions"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole configuration with every default filled in. `Config()` is what no file at all means."""

    task_timeout: float | None = key(
        values.DURATION, None, "0 or absent: no limit; `--timeout` wins", "Longest a whole task may take.", consumer="agents.loop"
    )
    global_llm: GlobalLlmSection = field(default_factory=GlobalLlmSection)
    agents_llm: AssignmentSection = field(default_factory=AssignmentSection)
    tools_llm: AssignmentSection = field(default_factory=AssignmentSection)
    tools_deferred: DeferredSection = field(default_factory=DeferredSection)
    agent: AgentSection = field(default_factory=AgentSection)
    llm: LlmSection = field(default_factory=LlmSection)
    shell: ShellSection = field(default_factory=ShellSection)
    resume: ResumeSection = field(default_factory=ResumeSection)
    compression: CompressionSection = field(default_factory=CompressionSection)
    blackboard: BlackboardSection = field(default_factory=BlackboardSection)
    permissions: PermissionSection = field(default_factory=PermissionSection)


SECTIONS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        "": Config,
        "global.llm": GlobalLlmSection,
        "global.llm.providers.<name>": ProviderSection,
        "agents.llm": AssignmentSection,
        "agents.llm.<agent>": NamedAssignment,
        "tools.llm": AssignmentSection,
        "tools.llm.<tool>": NamedAssignment,
        "tools.deferred": DeferredSection,
        "agent": AgentSection,
        "llm": LlmSection,
        "shell": ShellSection,
        "resume": ResumeSection,
        "compression": CompressionSection,
        "blackboard": BlackboardSection,
        "permissions": PermissionSection,
    }
)


def keys() -> tuple[Key, ...]:
    """Every key there is, in the order of the reference."""
    return tuple(
        Key(f"{prefix}.{item.name}".lstrip("."), item.default, item.metadata["key"])
        for prefix, section in SECTIONS.items()
        for item in _declared_fields(section)
    )


def _declared_fields(section: type[Any]) -> list[Field[Any]]:
    return [item for item in fields(section) if "key" in item.metadata]
