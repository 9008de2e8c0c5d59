"""The bar of the token tables: nineteen of twenty predictions within 5 %."""

from pathlib import Path

import pytest
import tiktoken

from tests.llm.token_families import deepseek, o200k, rank_files
from tests.llm.token_tables import Errors, rendered, table
from tests.llm.token_texts import KINDS, Pieces
from tests.support.source_archives import Offline
from yagent.llm.token_ranks import exact_counter
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


@pytest.mark.real_time
@pytest.mark.online
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("model", "name"), [("gpt-4o", "o200k_base"), ("gpt-4", "cl100k_base")])
async def test_exact_counts_are_those_of_tiktoken(model: str, name: str, downloads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        ranks = rank_files(downloads)
    except Offline as reason:
        pytest.skip(str(reason))
    count = await exact_counter(model, (ranks,))
    assert count is not None
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(ranks))
    encoding = tiktoken.get_encoding(name)
    texts = [Pieces(kind, 3).take(8000, 9000) for kind in KINDS]
    texts += ["It's WE'LL naïve\u00a0 x\r\n\r\n\t  12345678 é̀ 🚀\u200d🚀 <|endoftext|> ///\n", " " * 200, "name\udcff"]
    assert [count(text) for text in texts] == [len(encoding.encode_ordinary(text)) for text in texts]


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
