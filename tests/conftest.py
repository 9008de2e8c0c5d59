"""Every test: a home of its own, no keys and no proxies from outside, virtual time."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.fixtures import model_server as model_server
from tests.support.fixtures import sessions as sessions
from tests.support.fixtures import workspace as workspace
from tests.support.fixtures import yagent as yagent
from tests.support.processor_time import Watch
from tests.support.virtual_time import VirtualClock, VirtualTimeLoop

FOREIGN_VARIABLE = re.compile(r"YAGENT_.*|.*_API_KEY|.*_BASE_URL|(https?|all|no)_proxy", re.IGNORECASE)
HOME_VARIABLES = {
    "HOME": "",
    "YAGENT_HOME": ".yagent",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_CACHE_HOME": ".cache",
    "XDG_STATE_HOME": ".local/state",
}


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home directory; nothing of the developer's own environment reaches a test."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if FOREIGN_VARIABLE.fullmatch(name)]:
        monkeypatch.delenv(name)
    for name, place in HOME_VARIABLES.items():
        monkeypatch.setenv(name, str(home / place))
    return home


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark that gives a test the real event loop, and what watches over the time of those not marked slow."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:  # in the background of a script, or under nohup; what we start does not inherit this
            signal.signal(number, lambda _number, _frame: None)
    config.pluginmanager.register(Watch())
    # How long an example takes to make or to try says more of what else the machine does than of us; `Watch` sees what a test needs in all.
    settings.register_profile("unhurried", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("unhurried")
    config.addinivalue_line("markers", "real_time: runs on the real event loop, with `SystemClock`")


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Virtual time for every asynchronous test that does not ask for the real one."""
    if item.get_closest_marker("real_time"):
        return {"real": asyncio.SelectorEventLoop}
    return {"virtual": VirtualTimeLoop}


@pytest.fixture
def clock() -> VirtualClock:
    """The clock of the test's own loop; it jumps instead of waiting."""
    return VirtualClock()
