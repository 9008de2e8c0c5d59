"""What many guards look at is read before the first of them begins."""

import pytest

from tests.architecture.source_tree import sources


@pytest.fixture(scope="session", autouse=True)
def parsed() -> None:
    """Every file parsed: a second or two that belongs to no single test."""
    sources("src/yagent", "tests", "scripts")
