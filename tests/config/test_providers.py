"""Who answers: precedence, keys bound to their endpoints, and what is said when nothing fits."""

import itertools
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.config.support import decoded, home_at, resolved
from yagent.config.declared import declared_in
from yagent.config.load import load
from yagent.config.problems import ConfigError, NoProvider
from yagent.config.providers import TUNING, ProviderChoice, ProviderOptions, Resolution, assigned_name, resolve
from yagent.config.schema import AGENTS, ProviderSection
from yagent.config.secret import SecretText
from yagent.config.vendors import VENDORS, ollama_url, origin_of, vendor_at

FILE = """
[global.llm]
use_provider = "a"
[global.llm.providers.a]
api_base_url = "http://a.test/v1"
api_key = "key-of-a"
model = "model-a"
[global.llm.providers.b]
api_base_url = "http://b.test/v1"
api_key_env = "B_KEY"
model = "model-b"
"""
YAGENT = {"YAGENT_BASE_URL": "http://y.test/v1", "YAGENT_API_KEY": "key-of-y", "YAGENT_MODEL": "model-y", "YAGENT_API_FORMAT": "responses"}
VENDOR = {"OPENAI_API_KEY": "key-of-openai", "DEEPSEEK_API_KEY": "key-of-deepseek"}


def key_of(choice: ProviderChoice) -> str | None:
    return choice.key.reveal() if choice.key else None


def told(resolution: Resolution) -> str:
    return "\n".join(map(str, resolution.notices))


# --- sections that only tune


PRICES = "price_input = 1.5\nprice_output = 2.5\ncontext_window = 9000\n"


@pytest.mark.parametrize(
    ("name", "environ", "url"),
    [
        ("environment", YAGENT, "http://y.test/v1"),
        ("openai", VENDOR, "https://api.openai.com/v1"),
        ("openai", {**VENDOR, "OPENAI_BASE_URL": "http://proxy.test/v1"}, "http://proxy.test/v1"),
    ],
)
@pytest.mark.parametrize("use", ["", "use_provider"])
def test_a_section_without_an_endpoint_tunes_the_one_that_variables_describe(
    tmp_path: Path, name: str, environ: Mapping[str, str], url: str, use: str
) -> None:
    chosen = f'[global.llm]\nuse_provider = "{name}"\n' if use and name != "environment" else ""
    found = resolved(tmp_path, f"{chosen}[global.llm.providers.{name}]\n{PRICES}", environ).default
    assert (found.name, found.base_url) == (name, url)
    assert (found.price_input, found.price_output, found.context_window) == (1.5, 2.5, 9000)


def test_a_section_that_only_tunes_is_no_provider_by_itself(tmp_path: Path) -> None:
    tuning = f"[global.llm.providers.deepseek]\n{PRICES}[global.llm.providers.environment]\n{PRICES}"
    with pytest.raises(NoProvider):
        resolved(tmp_path, tuning)
    assert resolved(tmp_path, tuning, VENDOR).default.price_input is None  # openai comes first
    [name] = {resolved(tmp_path, FILE + tuning, VENDOR | {"B_KEY": "k"}).default.name}
    assert name == "a"
    assert resolved(tmp_path, tuning, VENDOR, ProviderOptions("deepseek")).default.price_output == 2.5


def test_the_section_of_the_environment_gives_no_endpoint_away(tmp_path: Path) -> None:
    text = f"[global.llm.providers.environment]\napi_base_url = 'http://other.test/v1'\nmodel = 'm'\n{PRICES}"
    found = resolved(tmp_path, text, YAGENT).default
    assert (found.base_url, found.model, found.price_input) == ("http://y.test/v1", "model-y", 1.5)


# --- precedence


def test_an_option_beats_the_yagent_variables_which_beat_the_file_which_beats_the_vendors(tmp_path: Path) -> None:
    environ = {**YAGENT, **VENDOR, "B_KEY": "key-of-b"}
    by_option = resolved(tmp_path, FILE, environ, ProviderOptions("b", "model-o"))
    assert (by_option.default.base_url, by_option.default.model, key_of(by_option.default)) == ("http://b.test/v1", "model-o", "key-of-b")
    assert "YAGENT_BASE_URL" in told(by_option)
    by_yagent = resolved(tmp_path, FILE, environ)
    assert by_yagent.default.api_format == "responses"
    assert (by_yagent.default.base_url, by_yagent.default.model, key_of(by_yagent.default)) == ("http://y.test/v1", "model-y", "key-of-y")
    by_file = resolved(tmp_path, FILE, {**VENDOR, "B_KEY": "key-of-b"})
    assert (by_file.default.base_url, by_file.default.model, key_of(by_file.default)) == ("http://a.test/v1", "model-a", "key-of-a")
    by_vendor = resolved(tmp_path, "", VENDOR)
    assert (by_vendor.default.name, key_of(by_vendor.default)) == ("openai", "key-of-openai")


def test_yagent_variables_describe_a_provider_by_themselves_whatever_else_is_broken_or_set(tmp_path: Path) -> None:
    text = "[global.llm]\nuse_provider = 'absent'\n[agents.llm]\nuse_provider = 'absent too'\n"
    result = resolved(tmp_path, text, {"YAGENT_BASE_URL": "http://y.test/v1", **VENDOR})
    assert result.default.key is None
    assert result.default.model is None
    assert result.default.api_format == "openai"
    assert all(result.provider_for(agent) is result.default for agent in AGENTS)


def test_model_and_protocol_alone_adjust_the_default_provider(tmp_path: Path) -> None:
    adjusting = {"YAGENT_MODEL": "m", "YAGENT_API_FORMAT": "responses"}
    for text, name in ((FILE, "a"), ("", "openai")):
        result = resolved(tmp_path, text, {**VENDOR, **adjusting}).default
        assert (result.name, result.model, result.api_format) == (name, "m", "responses")
    assert resolved(tmp_path, "", {**VENDOR, **adjusting}, ProviderOptions(model="o")).default.model == "o"


def test_a_protocol_selects_the_vendors_that_speak_it(tmp_path: Path) -> None:
    environ = {**VENDOR, "ANTHROPIC_API_KEY": "k", "YAGENT_API_FORMAT": "anthropic"}
    assert resolved(tmp_path, "", environ).default.name == "anthropic"
    with pytest.raises(NoProvider, match="anthropic"):
        resolved(tmp_path, "", {**VENDOR, "YAGENT_API_FORMAT": "anthropic"})
    with pytest.raises(ConfigError, match="YAGENT_API_FORMAT"):
        resolved(tmp_path, "", {**VENDOR, "YAGENT_API_FORMAT": "opneai"})


@pytest.mark.parametrize("written", ["Responses", " RESPONSES "])
def test_the_protocol_of_the_environment_may_be_written_in_any_case(written: str, tmp_path: Path) -> None:
    assert resolved(tmp_path, "", {**YAGENT, "YAGENT_API_FORMAT": written}).default.api_format == "responses"


def test_a_key_without_a_place_to_go_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved(tmp_path, FILE, {"YAGENT_API_KEY": "canary"})
    assert "YAGENT_BASE_URL" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_variable_of_blanks_says_nothing(tmp_path: Path) -> None:
    result = resolved(tmp_path, FILE, dict.fromkeys(YAGENT, " \n") | {"OPENAI_API_KEY": ""})
    assert result.default.name == "a"
    with pytest.raises(NoProvider):
        resolved(tmp_path, "", {"OPENAI_API_KEY": " ", "DEEPSEEK_API_KEY": "your-key"})


# --- the file


@pytest.mark.parametrize("chosen", list(itertools.product([None, "p"], repeat=5)), ids=str)
def test_the_nearest_level_that_names_a_provider_wins(chosen: tuple[str | None, ...]) -> None:
    levels = ("tools.llm.design", "tools.llm", "agents.llm.coding", "agents.llm", "global.llm")
    named = {level: f"{level}-provider" for level, name in zip(levels, chosen, strict=True) if name}
    text = "".join(f"[{level}]\nuse_provider = '{name}'\n" for level, name in named.items())
    config = decoded(text).config
    assert assigned_name(config, "coding", "design") == next((named[level] for level in levels if level in named), None)
    assert assigned_name(config, "coding") == next((named[level] for level in levels[2:] if level in named), None)
    assert assigned_name(config, "repo") == next((named[level] for level in levels[3:] if level in named), None)


def test_agents_and_tools_get_their_own_provider_with_its_own_key(tmp_path: Path) -> None:
    text = FILE + "[agents.llm]\nrepo.use_provider = 'b'\n[tools.llm.design]\nuse_provider = 'deepseek'\n"
    result = resolved(tmp_path, text, {"B_KEY": "key-of-b", **VENDOR}, ProviderOptions(model="other"))
    found = {name: result.provider_for(*name) for name in [("director",), ("repo",), ("coding", "design"), ("repo", "thinking")]}
    assert {name: (choice.name, key_of(choice), choice.model) for name, choice in found.items()} == {
        ("director",): ("a", "key-of-a", "other"),
        ("repo",): ("b", "key-of-b", "model-b"),
        ("coding", "design"): ("deepseek", "key-of-deepseek", "deepseek-v4-pro"),
        ("repo", "thinking"): ("b", "key-of-b", "model-b"),
    }


def test_a_provider_that_only_an_agent_uses_is_checked_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved(tmp_path, FILE + "[agents.llm]\nrepo.use_provider = 'b'\n")
    assert "b" in caught.value.what
    assert "B_KEY" in caught.value.what
    assert "global.llm.providers.b.api_key_env" in caught.value.where


def test_a_provider_that_nobody_uses_is_not_checked(tmp_path: Path) -> None:
    assert resolved(tmp_path, FILE).default.name == "a"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[global.llm]\nuse_provider = 'opnai'", "Did you mean openai"),
        ("[global.llm.providers.p]\nmodel = 'm'", "no api_base_url"),
        ("[global.llm.providers.p]\napi_base_url='http://p'\n[global.llm.providers.q]\napi_base_url='http://q'", "2 providers (p, q)"),
        ("[global.llm]\nuse_provider='p'\n[global.llm.providers.p]\napi_base_url='http://p'\napi_key='sk-–x'", "EN DASH"),
    ],
)
def test_what_cannot_be_followed_is_said(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved(tmp_path, text, VENDOR)
    assert words in caught.value.what
    assert len(str(caught.value).split("\n")) == 3
    assert not isinstance(caught.value, NoProvider)


def test_the_only_finished_provider_needs_no_naming(tmp_path: Path) -> None:
    text = "[global.llm.providers.p]\napi_base_url='http://p'\n[global.llm.providers.q]\napi_base_url='http://q'\napi_key='your-key'"
    result = resolved(tmp_path, text)
    assert result.default.name == "p"
    assert "q still holds placeholders" in told(result)


@pytest.mark.parametrize("use", ["", "[global.llm]\nuse_provider = 'p'\n", "[global.llm]\nuse_provider = 'your-provider'\n"])
def test_a_file_of_placeholders_counts_as_none(tmp_path: Path, use: str) -> None:
    text = use + "[global.llm.providers.p]\napi_base_url='http://p'\napi_key='your-key'\n[permissions]\ndeny = ['shell(rm *)']"
    assert resolved(tmp_path, text, VENDOR).default.name == "openai"
    with pytest.raises(NoProvider, match="p still has placeholders"):
        resolved(tmp_path, text)
    assert decoded(text).config.permissions.deny == ("shell(rm *)",)


def test_no_key_is_needed(tmp_path: Path) -> None:
    for key in ("", "api_key = ''\n"):
        result = resolved(tmp_path, f"[global.llm.providers.p]\napi_base_url='http://localhost:8080/v1'\n{key}").default
        assert (result.key, result.key_source, result.model) == (None, "", None)


def test_everything_a_provider_can_set_reaches_the_choice(tmp_path: Path) -> None:
    assert set(TUNING) | {"model", "api_base_url", "api_key", "api_key_env", "api_format"} == set(declared_in(ProviderSection))
    text = "[global.llm.providers.p]\napi_base_url='http://p'\napi_format='anthropic'\nreasoning_effort='high'\n" + "".join(
        f"{name} = {number}\n" for number, name in enumerate(TUNING, 1) if name != "reasoning_effort"
    )
    choice = resolved(tmp_path, text).default
    assert choice.api_format == "anthropic"
    assert all(getattr(choice, name) == ("high" if name == "reasoning_effort" else number) for number, name in enumerate(TUNING, 1))


def test_a_variable_for_the_key_wins_over_a_literal_with_a_notice(tmp_path: Path) -> None:
    text = "[global.llm.providers.p]\napi_base_url='http://p'\napi_key='stale'\napi_key_env='P_KEY'"
    result = resolved(tmp_path, text, {"P_KEY": "fresh"})
    assert (key_of(result.default), result.default.key_source) == ("fresh", "P_KEY")
    assert "api_key and api_key_env" in told(result)


# --- vendors


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
def test_each_vendor_is_used_when_its_variable_is_the_only_one(tmp_path: Path, vendor: object) -> None:
    row = next(each for each in VENDORS if each is vendor)
    for name in row.key_variables:
        choice = resolved(tmp_path, "", {name: "k"}).default
        assert (choice.name, choice.base_url, choice.model, key_of(choice), choice.key_source) == (
            row.name,
            row.base_url,
            row.model,
            "k",
            name,
        )
        assert choice.api_format == row.formats[0]
    for name in row.url_variables:
        choice = resolved(tmp_path, "", {name: "http://other.test:81/v1"}).default
        assert (choice.name, choice.base_url, choice.key) == (row.name, "http://other.test:81/v1", None)
        assert (choice.model, choice.usual_model) == (None, row.model)


@given(st.sets(st.sampled_from([vendor for vendor in VENDORS if vendor.key_variables]), min_size=2))
def test_of_several_the_first_of_the_table_is_used_and_the_others_are_named(rows: set[object]) -> None:
    ordered = [vendor for vendor in VENDORS if vendor in rows]
    environ = {vendor.key_variables[0]: f"key-of-{vendor.name}" for vendor in reversed(ordered)}
    result = resolve_nothing_but(environ)
    assert (result.default.name, key_of(result.default)) == (ordered[0].name, f"key-of-{ordered[0].name}")
    text = told(result)
    assert all(vendor.key_variables[0] in text for vendor in ordered)
    assert "key-of-" not in text


def resolve_nothing_but(environ: Mapping[str, str]) -> Resolution:
    nowhere = home_at(Path("/nonexistent"))
    return resolve(load(None, environ=environ, home=nowhere), environ, ProviderOptions())


def test_names_and_places_of_the_table_are_unique() -> None:
    assert len({vendor.name for vendor in VENDORS}) == len(VENDORS)
    assert len({origin_of(vendor.base_url) for vendor in VENDORS}) == len(VENDORS)
    variables = [name for vendor in VENDORS for name in (*vendor.key_variables, *vendor.url_variables, *vendor.model_variables)]
    assert len(set(variables)) == len(variables)


def test_a_models_variable_is_honoured(tmp_path: Path) -> None:
    assert resolved(tmp_path, "", {"OPENAI_API_KEY": "k", "OPENAI_MODEL": "m"}).default.model == "m"


def test_a_url_that_is_none_names_its_variable(tmp_path: Path) -> None:
    for name in ("OPENAI_BASE_URL", "YAGENT_BASE_URL"):
        with pytest.raises(ConfigError, match=name):
            resolved(tmp_path, "", {name: "localhost:8080"})


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:9999", "http://127.0.0.1:9999/v1"),
        ("box", "http://box:11434/v1"),
        ("http://box:1/", "http://box:1/v1"),
        ("https://box.test/ollama/v1", "https://box.test:443/ollama/v1"),
        ("[::]:5", "http://127.0.0.1:5/v1"),
        ("[::1]:5", "http://[::1]:5/v1"),
    ],
)
def test_ollama_host_in_all_its_spellings(tmp_path: Path, host: str, url: str) -> None:
    assert ollama_url(host) == url
    assert resolved(tmp_path, "", {"OLLAMA_HOST": host}).default.base_url == url


@pytest.mark.parametrize("host", ["a b", "http://[", "box:port"])
def test_an_ollama_host_that_is_none_is_an_error_with_its_name(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigError, match="OLLAMA_HOST"):
        resolved(tmp_path, "", {"OLLAMA_HOST": host})


def test_nothing_at_all_is_three_lines_that_name_the_ways_out(tmp_path: Path) -> None:
    with pytest.raises(NoProvider) as caught:
        resolved(tmp_path)
    what, where, fix = str(caught.value).split("\n")
    assert "No model provider" in what
    assert "OPENAI_API_KEY" in where
    assert "yagent setup" in fix
    assert "yagent demo" in fix
    assert caught.value.exit_code == 2


def test_a_choice_shows_neither_its_key_nor_what_its_url_hides() -> None:
    choice = ProviderChoice(name="p", api_format="openai", base_url="http://user:canary@h.test:8/v1", key=SecretText("canary"))
    assert choice.host == "h.test:8"
    assert "canary" not in repr(choice)


def test_only_the_very_endpoint_of_a_vendor_is_the_vendors() -> None:
    own = vendor_at("https://API.openai.com:443/v2")
    assert own
    assert own.name == "openai"
    for url in (
        "http://api.openai.com/v1",
        "https://api.openai.com.evil.test",
        "https://api.openai.com:8443",
        "https://evil.test/api.openai.com",
        "https://api.openai.com@evil.test/v1",
    ):
        assert vendor_at(url) is None
