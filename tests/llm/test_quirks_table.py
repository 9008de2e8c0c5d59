"""The table: every row is reachable, every pattern compiles, strangers get defaults."""

from __future__ import annotations

import re

import pytest

from yagent.llm.quirks import Quirks
from yagent.llm.quirks_table import TABLE, quirks_for


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.api_format}/{row.host}/{row.model}")
def test_patterns_compile_and_call_id_replacements_are_legal(row: object) -> None:
    assert row in TABLE
    quirks = next(found.quirks for found in TABLE if found is row)
    rule = quirks.call_ids
    assert re.fullmatch(rule.pattern, rule.prefix + "0" * rule.digits)


@pytest.mark.parametrize(
    ("api_format", "host", "model", "name", "value"),
    [
        ("openai", "api.openai.com", "gpt-5.5", "system_role", "developer"),
        ("openai", "api.openai.com", "gpt-5.3-chat-latest", "system_role", "system"),
        ("openai", "myopenai.com", "gpt-5.5", "limit_parameter", "max_tokens"),
        ("openai", "api.openai.com", "o3-mini", "omit", frozenset({"temperature", "parallel_tool_calls"})),
        ("openai", "api.openai.com", "gpt-4.1", "replay", "never"),
        ("openai", "api.deepseek.com", "deepseek-reasoner", "replay", "with_calls"),
        ("openai", "127.0.0.1", "deepseek-ai/DeepSeek-R1", "replay", "never"),
        ("openai", "127.0.0.1", "deepseek-ai/DeepSeek-V3.2", "dsml", True),
        ("openai", "api.moonshot.cn", "kimi-k2-thinking", "replay", "always"),
        ("openai", "api.z.ai", "glm-4.5", "always", {}),
        ("openai", "generativelanguage.googleapis.com", "gemini-3-pro", "replay", "never"),
        ("openai", "localhost", "qwen3", "replay", "with_calls"),
        ("anthropic", "api.anthropic.com", "claude-sonnet-4-5", "turn_starts_with_thinking", True),
        ("anthropic", "api.anthropic.com", "claude-opus-4-7", "omit", frozenset({"temperature"})),
        ("anthropic", "api.moonshot.ai", "kimi-k2", "bearer", True),
        ("responses", "api.openai.com", "gpt-4.1", "omit", frozenset()),
    ],
)
def test_rows(api_format: str, host: str, model: str, name: str, value: object) -> None:
    assert getattr(quirks_for(api_format, host, model), name) == value


def test_strangers_get_the_defaults() -> None:
    assert quirks_for("openai", "models.example", "brand-new-9") == Quirks()
    assert quirks_for("unheard-of", "models.example", "m") == Quirks()
