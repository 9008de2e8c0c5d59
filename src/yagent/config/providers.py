"""Which model endpoint answers whom: options of the run, then `YAGENT_*`, then the config file, then the vendors' own variables.

A key belongs to one provider and goes to that provider's endpoint only (case H-08). None is ever required: a server that wants one says so.
"""

import difflib
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final, NoReturn
from urllib.parse import urlsplit

from yagent.config import values
from yagent.config.load import Loaded
from yagent.config.problems import ConfigError, NoProvider, Notice
from yagent.config.schema import API_FORMATS, Config, ProviderSection
from yagent.config.secret import SecretText, clean_key, is_placeholder
from yagent.config.vendors import VENDORS, Vendor, ollama_url, origin_of, vendor_at, vendor_named
from yagent.records import dataclass

ENVIRONMENT: Final = "environment"  # the provider that `YAGENT_*` describe
BASE_URL: Final = "YAGENT_BASE_URL"
API_KEY: Final = "YAGENT_API_KEY"
MODEL: Final = "YAGENT_MODEL"
API_FORMAT: Final = "YAGENT_API_FORMAT"

# What a choice takes over from its section under the same name. A section that says nothing else tunes a provider that the vendor table or
# `YAGENT_*` describe.
TUNING: Final = (
    "context_window",
    "temperature",
    "max_tokens",
    "reasoning_effort",
    "price_input",
    "price_output",
    "price_cache_read",
    "price_cache_write",
)


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """What the command line says: `--provider` and `--model`."""

    provider: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderChoice:
    """One endpoint with everything needed to talk to it.

    `model` None means: ask the endpoint which models it has. Then the only one is taken, of several `usual_model` if it is among them;
    else the user must choose. Prices are US dollars per million tokens, None unknown.
    `key_source` names where the key came from ("" when there is no key), for messages such as the one on a 401.
    """

    name: str
    api_format: str
    base_url: str = field(repr=False)
    key: SecretText | None = None
    key_source: str = ""
    model: str | None = None
    usual_model: str | None = None
    source: str = ""
    context_window: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str = ""
    price_input: float | None = None
    price_output: float | None = None
    price_cache_read: float | None = None
    price_cache_write: float | None = None

    @property
    def host(self) -> str:
        """Host and port for people, without anything secret that a URL can hold."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or ""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Who is answered by which endpoint. `notices` say what was chosen without being asked for, and what was set aside."""

    config: Config
    default: ProviderChoice
    others: Mapping[str, ProviderChoice]
    notices: tuple[Notice, ...]
    is_forced: bool = False

    def provider_for(self, agent: str, tool: str | None = None) -> ProviderChoice:
        """The endpoint of an agent, or of a tool's own engine within that agent (B-15). A forced choice serves everybody."""
        name = None if self.is_forced else assigned_name(self.config, agent, tool)
        return self.others.get(name, self.default) if name else self.default


def assigned_name(config: Config, agent: str, tool: str | None = None) -> str | None:
    """The provider name of the nearest level that sets one: tool, all tools, agent, all agents, global (B-15)."""
    levels = (
        *((config.tools_llm.by_name.get(tool), config.tools_llm.use_provider) if tool else ()),
        config.agents_llm.by_name.get(agent),
        config.agents_llm.use_provider,
        config.global_llm.use_provider,
    )
    return next((name for name in levels if name), None)


def resolve(loaded: Loaded, environ: Mapping[str, str], options: ProviderOptions) -> Resolution:
    """Find the endpoint for everybody who may need one in this run.

    `--model`, else `YAGENT_MODEL`, replaces the model of the default provider wherever that one is used; agents with a provider
    of their own keep its model. `--provider`, or a `YAGENT_*` provider, serves every agent and tool.

    Raises:
        NoProvider: nothing says whom to talk to.
        ConfigError: something says so, but not in a way that can be followed.
    """
    finder = _Finder(loaded, environ)
    own = finder.from_yagent_variables() if options.provider is None else None
    if options.provider is not None:
        finder.set_aside_yagent_variables()
        default, is_forced = finder.named(options.provider, "--provider"), True
    elif own is not None:
        default, is_forced = own, True
    else:
        default, is_forced = finder.configured() or finder.from_vendor_variables(), False
    model = options.model or (None if options.provider else finder.variable(MODEL))
    if model:
        default = replace(default, model=model)
    others = {} if is_forced else finder.others(default)
    return Resolution(loaded.config, default, others, tuple(finder.notices), is_forced)


class _Finder:
    """One search; collects what there is to say about it."""

    def __init__(self, loaded: Loaded, environ: Mapping[str, str]) -> None:
        self.loaded = loaded
        self.environ = environ
        self.notices: list[Notice] = []

    @property
    def file(self) -> str:
        return str(self.loaded.path) if self.loaded.path else "(no configuration file)"

    def variable(self, name: str) -> str | None:
        """A variable that says something: set, and not only blanks."""
        return self.environ.get(name, "").strip() or None

    def note(self, about: str, text: str) -> None:
        self.notices.append(Notice(about, text))

    def key_from_variable(self, names: tuple[str, ...]) -> tuple[SecretText | None, str]:
        for name in names:
            if self.variable(name) is not None:
                cleaned = clean_key(self.environ[name], name)
                self.notices.extend(cleaned.notices)
                if cleaned.key is not None:
                    return cleaned.key, name
        return None, ""

    # --- YAGENT_*

    def api_format(self) -> str | None:
        wanted = (self.variable(API_FORMAT) or "").strip().lower() or None
        if wanted is not None and wanted not in API_FORMATS:
            raise ConfigError(
                f"{API_FORMAT} names no protocol.",
                where=f"Variable: {API_FORMAT}",
                fix=f"Set it to one of {', '.join(API_FORMATS)}, or unset it.",
            )
        return wanted

    def from_yagent_variables(self) -> ProviderChoice | None:
        """The provider that `YAGENT_*` describe by themselves; None when there is no URL (a model or a protocol alone adjust another's)."""
        url = self.variable(BASE_URL)
        if url is None:
            if self.variable(API_KEY) is not None:
                raise ConfigError(
                    f"{API_KEY} is set, but {BASE_URL} is not, so nothing says where that key belongs.",
                    where=f"Variable: {API_KEY}",
                    fix=f"Set {BASE_URL} too, or use the vendor's own variable, for example OPENAI_API_KEY.",
                )
            return None
        base_url = self.url(url, BASE_URL)
        key, key_source = self.key_from_variable((API_KEY,))
        if key is None:
            key, key_source = self.vendor_key(base_url)
        choice = ProviderChoice(
            name=ENVIRONMENT,
            api_format=self.api_format() or "openai",
            base_url=base_url,
            key=key,
            key_source=key_source,
            model=self.variable(MODEL),
            source=BASE_URL,
        )
        return self.tuned(choice)

    def set_aside_yagent_variables(self) -> None:
        present = [name for name in (BASE_URL, API_KEY, MODEL, API_FORMAT) if self.variable(name)]
        if present:
            self.note("--provider", f"--provider was given, so {', '.join(present)} had no effect.")

    # --- the config file

    def configured(self) -> ProviderChoice | None:
        """The file's default provider; None when it names none that is more than a template."""
        name = self.loaded.config.global_llm.use_provider
        providers = self.loaded.config.global_llm.providers
        tuning = [each for each, section in providers.items() if _only_tunes(each, section)]
        if name is not None and (name not in providers or name in tuning) and not is_placeholder(name):
            return self.adjusted(self.named(name, "global.llm.use_provider"))
        finished = [each for each, section in providers.items() if not section.is_unfinished and each not in tuning]
        for each in providers:
            if each not in (*finished, *tuning) and name in (None, each):
                self.note(f"global.llm.providers.{each}", f"{self.file}: provider {each} still holds placeholders and counts as not set.")
        if name in finished:
            return self.adjusted(self.named(name, "global.llm.use_provider"))
        if name in providers or not finished:
            return None
        if len(finished) > 1:
            raise ConfigError(
                f"The file has {len(finished)} providers ({', '.join(finished)}) and does not say which one to use.",
                where=f"File: {self.file}, global.llm.use_provider",
                fix=f'Write use_provider = "{finished[0]}" under [global.llm], or give --provider.',
            )
        return self.adjusted(self.named(finished[0], f"the only provider of {self.file}"))

    def adjusted(self, choice: ProviderChoice) -> ProviderChoice:
        return replace(choice, api_format=self.api_format() or choice.api_format)

    def named(self, name: str, source: str) -> ProviderChoice:
        """The provider called `name`: of the file, else a row of the vendor table."""
        section = self.loaded.config.global_llm.providers.get(name)
        vendor = vendor_named(name)
        if section is not None and (vendor is None or not _only_tunes(name, section)):
            return self.from_section(name, section, source)
        if vendor is not None:
            return self.from_vendor(vendor, source)
        known = (*self.loaded.config.global_llm.providers, *(vendor.name for vendor in VENDORS))
        nearest = difflib.get_close_matches(name, known, n=1)
        where = "Option: --provider" if source == "--provider" else f"File: {self.file}, {source}"
        raise ConfigError(
            f"There is no provider called {name}." + (f" Did you mean {nearest[0]}?" if nearest else ""),
            where=where,
            fix=f"Add [global.llm.providers.{name}] to {self.file}, or use one of: {', '.join(known)}.",
        )

    def from_section(self, name: str, section: ProviderSection, source: str) -> ProviderChoice:
        path = f"global.llm.providers.{name}"
        if section.is_unfinished:
            self.refuse(f"Provider {name} still holds placeholders.", path, "Write its real api_base_url, model and key there.")
        if section.api_base_url is None:
            self.refuse(f"Provider {name} has no api_base_url.", path, 'Write api_base_url = "https://…" there.')
        key, key_source = self.section_key(name, section)
        return ProviderChoice(
            name=name,
            api_format=section.api_format,
            base_url=section.api_base_url,
            key=key,
            key_source=key_source,
            model=section.model,
            source=source,
            **{each: getattr(section, each) for each in TUNING},
        )

    def section_key(self, name: str, section: ProviderSection) -> tuple[SecretText | None, str]:
        """The key of a provider of the file. One way to name it counts: the variable, the literal, else the vendor's own variable."""
        path = f"global.llm.providers.{name}"
        variable = section.api_key_env
        if variable is not None:
            key, source = self.key_from_variable((variable,))
            if key is None:
                self.refuse(
                    f"Provider {name} takes its key from {variable}, which is not set.",
                    f"{path}.api_key_env",
                    f"Set {variable}, or remove api_key_env.",
                )
            if section.api_key:
                self.note(f"{path}.api_key", f"{self.file}: provider {name} has api_key and api_key_env; the key comes from {variable}.")
            return key, source
        if section.api_key:
            cleaned = clean_key(section.api_key.reveal(), f"{path}.api_key")
            self.notices.extend(cleaned.notices)
            if cleaned.key is not None:
                return cleaned.key, f"{path}.api_key in {self.file}"
        return self.vendor_key(section.api_base_url or "")

    def others(self, default: ProviderChoice) -> dict[str, ProviderChoice]:
        """The providers that single agents and tools are given, by name; each is checked now, not in the middle of a task."""
        config = self.loaded.config
        wanted = {
            "agents.llm.use_provider": config.agents_llm.use_provider,
            "tools.llm.use_provider": config.tools_llm.use_provider,
            **{f"agents.llm.{agent}.use_provider": name for agent, name in config.agents_llm.by_name.items()},
            **{f"tools.llm.{tool}.use_provider": name for tool, name in config.tools_llm.by_name.items()},
        }
        found: dict[str, ProviderChoice] = {}
        for key, name in wanted.items():
            if name is not None and name != default.name and name not in found:
                found[name] = self.named(name, key)
        return found

    def refuse(self, what: str, path: str, fix: str) -> NoReturn:
        raise ConfigError(what, where=f"File: {self.file}, {path}", fix=fix)

    # --- the vendor table

    def from_vendor_variables(self) -> ProviderChoice:
        """The first row of the table that has a variable set; it says which, and which others were passed over."""
        wanted = self.api_format()
        rows = [vendor for vendor in VENDORS if self.variables_of(vendor) and (wanted is None or wanted in vendor.formats)]
        if not rows:
            raise self.no_provider(wanted)
        choice = self.adjusted(self.from_vendor(rows[0], self.variables_of(rows[0])[0]))
        others = [self.variables_of(vendor)[0] for vendor in rows[1:]]
        text = f"Using {rows[0].title} at {choice.host}, because {choice.source} is set."
        self.note(choice.source, text + (f" Also set: {', '.join(others)}; choose with --provider." if others else ""))
        return choice

    def variables_of(self, vendor: Vendor) -> list[str]:
        """The variables that make a row count: a key that is no placeholder, or a URL."""
        keys = [name for name in vendor.key_variables if (text := self.variable(name)) and not is_placeholder(text)]
        return keys + [name for name in vendor.url_variables if self.variable(name)]

    def from_vendor(self, vendor: Vendor, source: str) -> ProviderChoice:
        key, key_source = self.key_from_variable(vendor.key_variables)
        base_url = vendor.base_url
        changed = next((name for name in vendor.url_variables if self.variable(name)), None)
        if changed is not None:
            base_url = self.url(self.environ[changed], changed)
        is_own = origin_of(base_url) == origin_of(vendor.base_url)
        chosen = next((model for name in vendor.model_variables if (model := self.variable(name))), None)
        choice = ProviderChoice(
            name=vendor.name,
            api_format=vendor.formats[0],
            base_url=base_url,
            key=key,
            key_source=key_source,
            model=chosen or (vendor.model if is_own else None),
            usual_model=vendor.model,
            source=source,
        )
        return self.tuned(choice)

    def tuned(self, choice: ProviderChoice) -> ProviderChoice:
        """With what the file's section of this name says of windows, limits and prices."""
        section = self.loaded.config.global_llm.providers.get(choice.name, ProviderSection())
        said = {each: value for each in TUNING if (value := getattr(section, each)) not in (None, "")}
        return replace(choice, **said)

    def vendor_key(self, base_url: str) -> tuple[SecretText | None, str]:
        """The key for an endpoint that comes without one: the vendor's own variable, when the endpoint is the vendor's own."""
        vendor = vendor_at(base_url)
        if vendor is None:
            return None, ""
        key, source = self.key_from_variable(vendor.key_variables)
        if key is not None:
            self.note(source, f"The key for {urlsplit(base_url).hostname} comes from {source}.")
        return key, source

    def url(self, text: str, name: str) -> str:
        try:
            url = values.URL.read(ollama_url(text) if name == "OLLAMA_HOST" else text, None)
        except ValueError:
            url = None
        if url is None:
            fix = f"Set it to {values.URL.expected}, or unset it; it begins with http:// or https://."
            raise ConfigError(f"{name} is not a URL.", where=f"Variable: {name}", fix=fix)
        return url

    def no_provider(self, wanted: str | None) -> NoProvider:
        spoken = f" that speaks {wanted} ({API_FORMAT})" if wanted else ""
        unfinished = [name for name, section in self.loaded.config.global_llm.providers.items() if section.is_unfinished]
        file = f"the file's {', '.join(unfinished)} still has placeholders" if unfinished else "no file describes one"
        return NoProvider(
            f"No model provider{spoken} is configured: {file}, and no known key variable is set.",
            where=f"Looked at: {self.file}, {BASE_URL}, OPENAI_API_KEY, ANTHROPIC_API_KEY and the other variables of docs/configuration.md",
            fix=f"Run `yagent setup`, or set one of those variables, or see it work without any: `yagent demo`. A local server: {BASE_URL}=http://…/v1",
        )


def _only_tunes(name: str, section: ProviderSection) -> bool:
    """Whether a section describes no endpoint of its own, but tunes one that variables or the vendor table describe."""
    describes = section.api_base_url or section.api_key or section.api_key_env or section.model
    return not describes and (name == ENVIRONMENT or vendor_named(name) is not None)
