"""The suite itself: nothing of the developer's own machine reaches a test."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from hypothesis import HealthCheck, settings


def test_the_home_directory_is_a_fresh_temporary_one(isolated_home: Path) -> None:
    assert Path.home() == isolated_home
    assert isolated_home != Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert list(isolated_home.iterdir()) == []
    assert os.environ["YAGENT_HOME"].startswith(str(isolated_home))


def test_no_key_or_proxy_comes_from_outside() -> None:
    assert [name for name in os.environ if name.upper().endswith(("_API_KEY", "_BASE_URL", "_PROXY"))] == []


def test_no_example_fails_because_the_machine_is_slow() -> None:
    assert settings.default is not None
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check
