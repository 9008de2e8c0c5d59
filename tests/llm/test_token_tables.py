"""The bar of the token tables: nineteen of twenty predictions within 5 %."""

from pathlib import Path

import pytest

from tests.llm.token_families import deepseek, o200k
from tests.llm.token_tables import Errors, rendered, table
from tests.llm.token_texts import KINDS, Pieces
from tests.support.source_archives import Offline
from yagent.runtime.clock import SystemClock

BAR = 0.05


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the vocabularies are kept while this module runs."""
    return tmp_path_factory.mktemp("vocabularies")


@pytest.mark.real_time
@pytest.mark.online
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "is_exact"), [("o200k", True), ("o200k", False), ("deepseek", False)])
async def test_the_next_request_is_predicted_within_five_percent_at_p95(name: str, is_exact: bool, downloads: Path, tmp_path: Path) -> None:
    try:
        family = await o200k(downloads) if name == "o200k" else deepseek(downloads)
    except Offline as reason:
        pytest.skip(str(reason))
    found = await table(family, is_exact=is_exact, place=tmp_path, clock=SystemClock())
    assert {kind: later.at(0.95) <= BAR for kind, (_, later) in found.items()} == dict.fromkeys(KINDS, True)


def test_a_table_shows_the_errors() -> None:
    errors = Errors((0.5, -0.01, *[0.002] * 38), -0.03)
    assert errors.at(0.95) == 0.01
    assert rendered("o200k", {"code": (errors, errors)}).endswith("| code | 0.2% | 1.0% | 50.0% | -3.0% | 0.2% | 1.0% | 50.0% | -3.0% |")


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_are_the_same_for_a_seed_and_differ_between_seeds(kind: str) -> None:
    first, again, other = Pieces(kind, 1), Pieces(kind, 1), Pieces(kind, 2)
    taken = [first.take(100, 900) for _ in range(30)]
    assert taken == [again.take(100, 900) for _ in range(30)]
    assert taken != [other.take(100, 900) for _ in range(30)]
    assert all(piece.strip() and len(piece) <= 900 for piece in taken)
