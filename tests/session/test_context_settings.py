"""From the configuration and the environment to the settings of the blackboard and of compression."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.config.support import decoded
from yagent.blackboard.settings import BlackboardSettings
from yagent.compression.threshold import CompressionSettings
from yagent.config.context_sections import BlackboardSection, CompressionSection
from yagent.config.declared import declared_in
from yagent.config.problems import ConfigError
from yagent.config.schema import Config
from yagent.runtime.paths import DataHome
from yagent.session.settings import blackboard_settings, compression_settings, notes_root

DATA = DataHome(Path("/home/u/.yagent"), Path("/home/u/.yagent"))
HOME = Path("/home/u")


def names(settings: type[Any]) -> set[str]:
    return {field.name for field in fields(settings)}


def test_the_keys_of_a_section_are_fields_of_its_rooms_settings() -> None:
    assert set(declared_in(CompressionSection)) == names(CompressionSettings)
    own = {"enabled", "artifacts", "artifact_tokens"}  # from the environment, and one that cannot be set
    assert set(declared_in(BlackboardSection)) | own == names(BlackboardSettings)


def test_an_empty_configuration_gives_the_defaults_of_the_rooms() -> None:
    assert compression_settings(Config()) == CompressionSettings()
    assert blackboard_settings(Config(), {}) == BlackboardSettings()


def test_what_is_configured_arrives() -> None:
    config = decoded("[compression]\ntool_result_keep_tokens = 7\n[blackboard]\nindex_max_notes = 0\nttl = 0").config
    assert compression_settings(config) == CompressionSettings(tool_result_keep_tokens=7)
    assert blackboard_settings(config, {}) == BlackboardSettings(index_max_notes=0, ttl=None)


@pytest.mark.parametrize(("value", "enabled"), [("0", False), ("", True), ("false", True), ("00", True), ("1", True)])
def test_notes_are_switched_off_by_exactly_zero(value: str, enabled: bool) -> None:
    assert blackboard_settings(Config(), {"YAGENT_BLACKBOARD": value}) == BlackboardSettings(enabled=enabled)


@pytest.mark.parametrize(("value", "kept"), [("1", False), ("", True), ("0", True), ("true", True)])
def test_artifacts_are_switched_off_by_exactly_one(value: str, kept: bool) -> None:
    assert blackboard_settings(Config(), {"YAGENT_ARTIFACT_DISABLE": value}) == BlackboardSettings(artifacts=kept)


@pytest.mark.parametrize(
    ("value", "place"),
    [(None, "/home/u/.yagent/notes"), ("", "/home/u/.yagent/notes"), ("/srv/notes", "/srv/notes"), ("~/notes", "/home/u/notes")],
)
def test_notes_are_kept_in_the_data_directory_or_where_the_environment_says(value: str | None, place: str) -> None:
    environ = {} if value is None else {"YAGENT_NOTES_ROOT": value}
    assert notes_root(environ, DATA, HOME) == Path(place)


@pytest.mark.parametrize(("value", "home"), [("notes", HOME), ("./notes", HOME), ("~other/notes", HOME), ("~/notes", None)])
def test_a_place_for_notes_that_is_not_certain_is_refused(value: str, home: Path | None) -> None:
    with pytest.raises(ConfigError, match="YAGENT_NOTES_ROOT is"):
        notes_root({"YAGENT_NOTES_ROOT": value}, DATA, home)
