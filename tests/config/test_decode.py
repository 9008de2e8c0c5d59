"""What a file means: presence, zero, limits, words that are unknown, gone or not yet in effect."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from tests.config.support import decoded
from yagent.config import renamed
from yagent.config.declared import declared_in
from yagent.config.decode import Source
from yagent.config.problems import ConfigError
from yagent.config.schema import AGENTS, SECTIONS, TOOLS_WITH_ENGINE, Config, keys

# key → a value that differs from the default, as TOML, and what it becomes. A key without a line here fails a test.
CHANGED: dict[str, tuple[str, object]] = {
    "task_timeout": ('"1h"', 3600.0),
    "global.llm.use_provider": ('"p"', "p"),
    "agents.llm.use_provider": ('"p"', "p"),
    "tools.llm.use_provider": ('"p"', "p"),
    "tools.deferred.enabled": ("false", False),
    "tools.deferred.hot": ('["design"]', ("design",)),
    "agent.lang": ('"Chinese"', "Chinese"),
    "llm.ca_file": ('"/etc/ca.pem"', "/etc/ca.pem"),
    "agent.yolo": ('"full"', "full"),
    "agent.delegation_reminder": ('"never"', "never"),
    "agent.director_max_steps": ("7", 7),
    "agent.coding_max_steps": ("7", 7),
    "agent.repo_max_steps": ("7", 7),
    "agent.chat_max_steps": ("7", 7),
    "agent.devops_max_steps": ("7", 7),
    "agent.max_cost": ("1.5", 1.5),
    "agent.delegate_idle_timeout": ('"5s"', 5.0),
    "agent.delegate_total_timeout": ('"5s"', 5.0),
    "agent.max_parallel_readonly_tools": ("1", 1),
    "agent.max_parallel_delegations": ("1", 1),
    "llm.timeout": ('"5s"', 5.0),
    "llm.header_timeout": ('"5s"', 5.0),
    "llm.chunk_timeout": ('"5s"', 5.0),
    "llm.max_retries": ("0", 0),
    "llm.step_retries": ("0", 0),
    "llm.max_in_flight_requests": ("3", 3),
    "shell.pass_env": ('["CI_TOKEN"]', ("CI_TOKEN",)),
    "resume.enable": ("false", False),
    "resume.replay_token_budget": ("5000", 5000),
    "resume.max_replay_messages": ("7", 7),
    "resume.degrade_on_workspace_change": ('"block"', "block"),
    "resume.checkpoint_workspace": ("false", False),
    "compression.enable_context_compression": ("false", False),
    "compression.context_compression_threshold": ("9000", 9000),
    "compression.tool_result_keep_tokens": ("50", 50),
    "compression.enable_ultimate_compression": ("false", False),
    "compression.ultimate_compression_keep_plans": ("3", 3),
    "blackboard.index_max_notes": ("5", 5),
    "blackboard.index_line_chars": ("80", 80),
    "blackboard.summary_max_runes": ("100", 100),
    "blackboard.ttl": ('"24h"', 86400.0),
    "blackboard.max_notes_per_board": ("9", 9),
    "permissions.allow": ('["shell(ls *)"]', ("shell(ls *)",)),
    "permissions.ask": ('["edit(**)"]', ("edit(**)",)),
    "permissions.deny": ('["tool(run_bash)"]', ("tool(run_bash)",)),
}


def value_of(config: Config, key: str) -> object:
    section, _, name = key.rpartition(".")
    holder = getattr(config, section.replace(".", "_")) if section else config
    return getattr(holder, name)


def plain_keys() -> list[str]:
    return [key.path for key in keys() if "<" not in key.path]


def test_the_sections_hold_no_key_that_the_table_of_keys_lacks() -> None:
    named = set(SECTIONS.values())
    for item in fields(Config):
        value = getattr(Config(), item.name)
        if is_dataclass(value):
            assert type(value) in named


@pytest.mark.parametrize("key", plain_keys())
def test_every_key_has_its_default_when_absent_and_its_value_when_present(key: str) -> None:
    text, expected = CHANGED[key]
    section, _, name = key.rpartition(".")
    result = decoded(f"{f'[{section}]' if section else ''}\n{name} = {text}\n")
    default = next(row.default for row in keys() if row.path == key)
    assert value_of(decoded("").config, key) == value_of(Config(), key) == default
    assert value_of(result.config, key) == expected != default
    assert result.sources == {key: Source("file", "c.toml")}
    assert result.notices == ()


@pytest.mark.parametrize(
    ("key", "zero", "expected"),
    [
        ("task_timeout", "0", None),
        ("agent.max_cost", "0", None),
        ("agent.director_max_steps", "0", 100),
        ("agent.director_max_steps", "-1", 100),
        ("agent.coding_max_steps", "0", 150),
        ("agent.repo_max_steps", "0", 50),
        ("agent.chat_max_steps", "-5", 50),
        ("agent.devops_max_steps", "0", 50),
        ("agent.delegate_idle_timeout", '"0"', None),
        ("agent.delegate_total_timeout", "0", None),
        ("agent.max_parallel_readonly_tools", "0", 4),
        ("agent.max_parallel_readonly_tools", "99", 8),
        ("agent.max_parallel_delegations", "-1", 2),
        ("agent.lang", '" "', "English"),
        ("llm.timeout", "0", None),
        ("llm.header_timeout", '"0"', None),
        ("llm.chunk_timeout", "0", None),
        ("llm.max_in_flight_requests", "0", None),
        ("tools.deferred.hot", "[]", ()),
        ("permissions.deny", "[]", ()),
        ("resume.replay_token_budget", "0", 0),
        ("resume.replay_token_budget", "-1", 0),
        ("resume.max_replay_messages", "0", 0),
        ("resume.max_replay_messages", "-1", 2000),
        ("resume.degrade_on_workspace_change", '"blok"', "warn"),
        ("compression.context_compression_threshold", "0", 0),
        ("compression.context_compression_threshold", "-1", 0),
        ("compression.tool_result_keep_tokens", "0", 200),
        ("compression.tool_result_keep_tokens", "-1", 200),
        ("compression.ultimate_compression_keep_plans", "-1", 0),
        ("blackboard.index_max_notes", "0", 0),
        ("blackboard.index_max_notes", "-1", 12),
        ("blackboard.index_line_chars", "0", 0),
        ("blackboard.index_line_chars", "-1", 160),
        ("blackboard.summary_max_runes", "0", 1200),
        ("blackboard.summary_max_runes", "-1", 1200),
        ("blackboard.ttl", "0", None),
        ("blackboard.ttl", '"0"', None),
        ("blackboard.max_notes_per_board", "0", 200),
        ("blackboard.max_notes_per_board", "-1", 200),
    ],
)
def test_zero_is_not_absence(key: str, zero: str, expected: object) -> None:
    section, _, name = key.rpartition(".")
    assert value_of(decoded(f"{f'[{section}]' if section else ''}\n{name} = {zero}").config, key) == expected


def test_a_provider_takes_every_entry_whatever_it_is_called() -> None:
    text = """
    [global.llm.providers."bedrock-x"]
    model = "m"
    api_base_url = "https://h/v1/"
    api_key = "k"
    api_key_env = "K"
    api_format = "anthropic"
    context_window = 1000
    temperature = 1
    max_tokens = 5
    reasoning_effort = "high"
    price_input = 0
    price_output = 1.5
    price_cache_read = 0.1
    price_cache_write = 2
    """
    result = decoded(text)
    section = result.config.global_llm.providers["bedrock-x"]
    expected: dict[str, Any] = {
        "model": "m",
        "api_base_url": "https://h/v1",
        "api_key_env": "K",
        "api_format": "anthropic",
        "context_window": 1000,
        "temperature": 1.0,
        "max_tokens": 5,
        "reasoning_effort": "high",
        "price_input": 0.0,
        "price_output": 1.5,
        "price_cache_read": 0.1,
        "price_cache_write": 2.0,
    }
    assert {name: getattr(section, name) for name in expected} == expected
    assert section.api_key
    assert section.api_key.reveal() == "k"
    assert set(expected) | {"api_key"} == set(declared_in(type(section)))
    assert result.notices == ()
    assert "global.llm.providers.bedrock-x.model" in result.sources


@pytest.mark.parametrize("name", ["temperature", "max_tokens", "context_window"])
def test_zero_for_a_provider_means_not_set(name: str) -> None:
    section = decoded(f"[global.llm.providers.p]\n{name} = 0").config.global_llm.providers["p"]
    assert getattr(section, name) is None


def test_every_agent_and_tool_can_have_a_provider_and_no_other() -> None:
    agents = "".join(f"{name}.use_provider = 'p-{name}'\n" for name in AGENTS)
    tools = "".join(f"[tools.llm.{name}]\nuse_provider = 'p-{name}'\n" for name in TOOLS_WITH_ENGINE)
    result = decoded(f"[agents.llm]\n{agents}\n{tools}")
    assert result.notices == ()
    assert dict(result.config.agents_llm.by_name) == {name: f"p-{name}" for name in AGENTS}
    assert dict(result.config.tools_llm.by_name) == {name: f"p-{name}" for name in TOOLS_WITH_ENGINE}
    [notice] = decoded("[agents.llm.codign]\nuse_provider = 'p'").notices
    assert "c.toml:1" in str(notice)
    assert "Did you mean agents.llm.coding?" in str(notice)


@pytest.mark.parametrize(
    ("key", "default"), [("agent.yolo", "off"), ("agent.delegation_reminder", "auto"), ("global.llm.providers.p.api_format", "openai")]
)
def test_an_unknown_word_is_told_and_the_default_used(key: str, default: str) -> None:
    section, _, name = key.rpartition(".")
    result = decoded(f"[{section}]\n{name} = 'blok'")
    [notice] = result.notices
    assert "c.toml:2" in str(notice)
    assert f"using {default}" in str(notice)
    assert key not in result.sources


def test_an_early_fault_does_not_keep_later_keys_from_being_read() -> None:
    result = decoded(
        "[agent]\nyolo = 'x'\nunknown = 1\nlang = 'French'\n[llm]\nmax_retries = 1\n[global.llm.providers.b]\napi_format='x'\nmodel='m'"
    )
    assert (result.config.agent.lang, result.config.llm.max_retries, result.config.global_llm.providers["b"].model) == ("French", 1, "m")
    assert len(result.notices) == 3


# A mirror of renamed.REMOVED_KEYS and REMOVED_PROVIDER_KEYS as a file that still has them all.
REMOVED = """
enable_streaming = true
auto_checkpoint = true
[app]
name = "x"
[codeseek.knowledge]
enabled = true
[codeindex.knowledge]
enabled = true
[enhanced_commander]
enable = true
[compression]
enable = true
[llm]
enable_streaming = true
[git_checkpoint]
auto_checkpoint = true
[browser]
headless = true
browser_path = "/x"
[global.llm.providers.p]
aws_region = "r"
aws_profile = "p"
model_provider = "m"
"""


def test_every_removed_key_is_named_once_with_what_replaces_it() -> None:
    notices = {notice.key: str(notice) for notice in decoded(REMOVED).notices if "no longer a setting" in str(notice)}
    patterns = {
        *(pattern for pattern in renamed.REMOVED_KEYS if not pattern.startswith("*.")),
        *(f"global.llm.providers.p.{name}" for name in renamed.REMOVED_PROVIDER_KEYS),
        "llm.enable_streaming",
        "git_checkpoint.auto_checkpoint",
    }
    assert notices.keys() == patterns
    hints = {**renamed.REMOVED_KEYS, **{f"global.llm.providers.p.{name}": hint for name, hint in renamed.REMOVED_PROVIDER_KEYS.items()}}
    assert all(hints[key] in text for key, text in notices.items() if key in hints)


def test_sections_of_later_versions_are_one_note_each_and_old_names_lead_to_new_ones() -> None:
    text = "".join(f"[{name}]\nsome = 1\nother = 2\n" for name in sorted(renamed.NOT_YET) if "." not in name)
    notices = decoded(
        text + "[agent]\nbrowser_max_steps = 1\n[llm]\nenable_fallback = true\n[[global.llm.providers.p.fallback_providers]]\na = 1"
    ).notices
    assert len(notices) == len([name for name in renamed.NOT_YET if "." not in name]) + 3
    assert all("no effect yet" in str(notice) for notice in notices)
    [notice] = decoded("[codeseek]\nenabled = true").notices
    assert "[codeindex]" in str(notice)
    assert decoded("[[mcp.servers]]\nname = 'x'").notices


def test_the_old_name_of_a_section_is_honoured_with_a_hint() -> None:
    result = decoded("[enhanced_commander]\nenable_context_compression = false\ntool_result_keep_tokens = 7")
    assert (result.config.compression.enable_context_compression, result.config.compression.tool_result_keep_tokens) == (False, 7)
    assert result.config.compression.enable_ultimate_compression
    assert set(result.sources) == {"compression.enable_context_compression", "compression.tool_result_keep_tokens"}
    [notice] = result.notices
    assert str(notice).endswith("c.toml:1: [enhanced_commander] is called [compression] now; write that name instead.")


def test_the_new_name_of_a_section_wins_over_the_old_one() -> None:
    text = (
        "[enhanced_commander]\ntool_result_keep_tokens = 7\nultimate_compression_keep_plans = 2\n[compression]\ntool_result_keep_tokens = 9"
    )
    result = decoded(text)
    assert (result.config.compression.tool_result_keep_tokens, result.config.compression.ultimate_compression_keep_plans) == (9, 2)
    assert set(result.sources) == {"compression.tool_result_keep_tokens", "compression.ultimate_compression_keep_plans"}


def test_a_mistake_under_the_old_name_is_told_as_it_is_written() -> None:
    notices = [str(notice) for notice in decoded("[enhanced_commander]\nultimate_compresion_keep_plans = 2").notices]
    assert any("Did you mean enhanced_commander.ultimate_compression_keep_plans?" in notice for notice in notices)
    with pytest.raises(ConfigError, match=r"enhanced_commander\.tool_result_keep_tokens is not usable"):
        decoded("[enhanced_commander]\ntool_result_keep_tokens = 'many'")


@pytest.mark.parametrize(("text", "guess"), [("[agnet]\nlang='x'", "agent"), ("[agent]\nlnag='x'", "agent.lang"), ("[zzz]\na=1", "")])
def test_an_unknown_key_is_told_with_the_nearest_name(text: str, guess: str) -> None:
    [notice] = decoded(text).notices
    assert ("Did you mean" in str(notice)) == bool(guess)
    assert guess in str(notice)
    assert decoded(text).config == Config()


@pytest.mark.parametrize(
    "text",
    [
        "[permissions]\ndenny = ['shell(rm *)']",
        "[permisions]\ndeny = ['shell(rm *)']",
        "[permission]\nx = 1",
        "deny = ['shell(rm *)']",
        "[agent]\ndeny = ['shell(rm *)']",
        "[agent]\nlang = 'x'\npermissions.deny = ['shell(rm *)']",
        "[rules]\ndeny = ['shell(rm *)']",
        "[permissions]\ndeny = 'shell(rm *)'",
        "[permissions]\ndeny = ['rm *']",
        "[permissions]\ndeny = ['shell()']",
        "[permissions]\ndeny = ['shell(rm *']",
        "[permissions]\ndeny = ['shel(rm *)']",
        "[permissions]\ndeny = [1]",
        "[permissions]\nallow = ['']",
        "permissions = 'yes'",
        "[[permissions]]\ndeny = ['shell(rm *)']",
    ],
)
def test_nothing_that_could_be_a_permission_rule_falls_away(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        decoded(text)
    assert "c.toml, line" in caught.value.where


@pytest.mark.parametrize("key", plain_keys())
def test_a_value_of_the_wrong_kind_names_file_line_key_and_what_is_expected(key: str) -> None:
    section, _, name = key.rpartition(".")
    with pytest.raises(ConfigError) as caught:
        decoded(f"# comment\n{f'[{section}]' if section else ''}\n  {name} = [[1]]\n")
    assert caught.value.where == "c.toml, line 3, column 3"
    assert key in caught.value.what
    assert "expected" in caught.value.what
    assert len(str(caught.value).split("\n")) == 3


@pytest.mark.parametrize(
    "text", ["agent = 1", "[[agent]]\na=1", "[global]\nllm = 1", "[agents.llm]\ncoding = 'p'", "[global.llm]\nproviders = ['p']"]
)
def test_a_value_where_a_table_belongs_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="a table is expected"):
        decoded(text)


def test_control_characters_of_a_file_do_not_reach_the_terminal() -> None:
    [notice] = decoded('"\\u001b[31m" = 1').notices
    assert "\x1b" not in str(notice)
    with pytest.raises(ConfigError) as caught:
        decoded('[global.llm.providers."a\\nb\\u001b"]\nmodel = 1')
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value).split("\n")) == 3


@pytest.mark.parametrize(("value", "serial"), [("0", True), ("", False), ("false", False), ("00", False), (" 0", False), ("1", False)])
def test_only_exactly_zero_switches_concurrency_off(value: str, serial: bool) -> None:
    text = "[agent]\nmax_parallel_readonly_tools = 6\nmax_parallel_delegations = 3\n"
    plain, result = decoded(text), decoded(text, {"YAGENT_CONCURRENCY": value})
    expected = replace(plain.config.agent, max_parallel_readonly_tools=1, max_parallel_delegations=1) if serial else plain.config.agent
    assert result.config.agent == expected
    assert (result.sources["agent.max_parallel_delegations"].kind == "environment") == serial


@pytest.mark.parametrize(("value", "off"), [("0", True), ("", False), ("false", False), ("00", False), (" 0", False), ("1", False)])
def test_only_exactly_zero_switches_resuming_off(value: str, off: bool) -> None:
    result = decoded("[resume]\nenable = true\n", {"YAGENT_RESUME": value})
    assert result.config.resume == replace(Config().resume, enable=not off)
    assert (result.sources["resume.enable"].kind == "environment") == off


@pytest.mark.parametrize("text", ["", "[resume]", "[resume]\nautomatic = true"])
def test_a_section_without_a_known_key_is_the_default_and_its_strangers_are_named(text: str) -> None:
    result = decoded(text)
    assert result.config.resume == Config().resume
    assert ["resume.automatic" in str(notice) for notice in result.notices] == ([True] if "automatic" in text else [])


def test_a_section_with_one_known_key_keeps_the_defaults_of_the_rest() -> None:
    result = decoded("[resume]\nenable = false\nautomatic = true")
    assert result.config.resume == replace(Config().resume, enable=False)
