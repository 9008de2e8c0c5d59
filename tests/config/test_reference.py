"""The guide and the template say what the schema says: no more, no less."""

import re
import tomllib
from pathlib import Path

import pytest

from scripts.gen_config_docs import GUIDE, TEMPLATE, guide, template
from tests.config.support import decoded
from yagent.config.schema import Config, keys
from yagent.config.vendors import VENDORS

TEXT = GUIDE.read_text(encoding="utf-8")
SETTING = re.compile(r"# (\[|[a-z_]+ = )")


def uncommented() -> str:
    return re.sub(r"^# (?=\[|[a-z_]+ = )", "", TEMPLATE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_generated_parts_are_up_to_date() -> None:
    assert guide(TEXT) == TEXT, "run scripts/gen_config_docs.py"
    assert template() == TEMPLATE.read_text(encoding="utf-8"), "run scripts/gen_config_docs.py"


def test_the_guide_has_a_row_for_every_key_and_no_other() -> None:
    rows = re.findall(r"^\| `([a-z_.<>]+)` \|", TEXT, flags=re.MULTILINE)
    assert sorted(rows) == sorted(key.path for key in keys())


def test_the_guide_has_every_vendor_in_the_order_in_which_they_are_tried() -> None:
    assert re.findall(r"^\| \d+ \| `([a-z]+)` \|", TEXT, flags=re.MULTILINE) == [vendor.name for vendor in VENDORS]


@pytest.mark.parametrize("key", keys(), ids=lambda key: key.path)
def test_every_key_says_what_it_does_what_zero_means_and_who_consumes_it(key: object) -> None:
    row = next(each for each in keys() if each == key)
    declared = row.declared
    assert all((declared.text.endswith("."), declared.rule, declared.consumer, declared.kind.expected))


def test_every_consumer_is_a_room_of_the_package() -> None:
    rooms = {"agents", "blackboard", "compression", "llm", "session", "tools", "workspace"}
    assert {key.declared.consumer.split(".")[0] for key in keys()} <= rooms


def test_the_template_as_it_ships_sets_nothing() -> None:
    assert tomllib.loads(TEMPLATE.read_text(encoding="utf-8")) == {}


def test_the_template_has_every_key_with_its_default_and_nothing_unknown() -> None:
    result = decoded(uncommented())
    assert result.notices == ()
    named = {key.path.replace("<name>", "work").replace("<agent>", "coding").replace("<tool>", "design") for key in keys()}
    assert set(result.sources) == named
    config = result.config
    for name in ("task_timeout", "tools_deferred", "agent", "llm", "shell", "resume", "compression", "blackboard", "permissions"):
        assert getattr(config, name) == getattr(Config(), name)


def test_a_template_whose_comments_were_only_taken_away_counts_as_no_provider() -> None:
    assert decoded(uncommented()).config.global_llm.providers["work"].is_unfinished


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", TEXT, flags=re.DOTALL))
def test_the_examples_of_the_guide_are_valid(block: str) -> None:
    assert decoded(block).notices == ()


def test_the_template_is_beside_the_code_that_reads_it() -> None:
    assert Path(__file__).parents[2] / "src/yagent/config/template.toml" == TEMPLATE
