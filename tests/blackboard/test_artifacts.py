"""Artifacts: over the budget a text goes to disk whole, and only ids of ours lead there."""

import asyncio
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.virtual_time import VirtualClock
from yagent.blackboard.artifacts import ArtifactNotKept, Artifacts, Kept, NoSuchArtifact, is_artifact_id, summary
from yagent.blackboard.settings import BlackboardSettings
from yagent.protocol.handoff import Handoff


def words(text: str) -> int:
    """A counter of tokens."""
    return len(text.split())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where artifacts go; it does not exist yet."""
    return tmp_path / "data" / "artifacts"


def files(place: Path) -> list[Path]:
    """What was stored."""
    return sorted(place.iterdir()) if place.exists() else []


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def artifacts_in(place: Path, clock: VirtualClock, **settings: Any) -> Artifacts:
    return Artifacts(place, clock, BlackboardSettings(**settings))


async def test_a_text_within_the_budget_stays_where_it_is(place: Path, clock: VirtualClock) -> None:
    for count in (499, 500):
        text = "word " * count
        assert await artifacts_in(place, clock).fit(text, None, words) == Kept(text)
    assert files(place) == []


async def test_a_text_over_the_budget_is_stored_whole_and_stands_as_summary_and_id(place: Path, clock: VirtualClock) -> None:
    text = "word " * 501
    artifacts = artifacts_in(place, clock)
    kept = await artifacts.fit(text, Handoff("Five hundred words."), words)
    (file,) = files(place)
    assert file.name == kept.artifact
    assert re.fullmatch(r"20260101-000000-[0-9a-f]{8}", file.name)
    assert file.read_text() == text == await artifacts.read(kept.artifact)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert kept.text == f'Five hundred words.\n[{len(text)} characters in all: read_artifact {{"artifact_id": "{kept.artifact}"}}]'


async def test_switched_off_nothing_is_too_long(place: Path, clock: VirtualClock) -> None:
    text = "word " * 9000
    assert await artifacts_in(place, clock, artifacts=False).fit(text, None, words) == Kept(text)
    assert files(place) == []


def test_the_summary_is_the_conclusion_else_the_beginning_word_for_word() -> None:
    assert summary("  The text\nitself. ", Handoff("Short."), 1200) == "Short."
    assert summary("  The text\nitself. ", Handoff("  "), 1200) == "The text\nitself."
    assert summary("  The text\nitself. ", None, 1200) == "The text\nitself."
    assert summary("好" * 1300, None, 1200) == "好" * 1199 + "…"
    assert summary("x", Handoff("y" * 1200), 1200) == "y" * 1200


@given(st.from_regex(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}", fullmatch=True), st.sampled_from("/\\.\0\n ٣Ａ~"), st.integers(0, 25))
def test_an_id_with_anything_in_it_that_does_not_belong_there_is_refused(text: str, strange: str, position: int) -> None:
    assert is_artifact_id(text) or not text.isascii()
    assert not is_artifact_id(text[:position] + strange + text[position:])


@pytest.mark.parametrize(
    "wanted",
    ["../../x", "/etc/passwd", "", ".", "20260101-000000-0123ABCD", "20260101-000000-0123abcd\n", "٢٠٢٦٠١٠١-000000-0123abcd", "secret"],
)
async def test_what_is_no_id_is_refused_although_a_file_is_there(place: Path, clock: VirtualClock, wanted: str) -> None:
    put(place / "secret", "hidden")
    put(place.parent.parent / "x", "hidden")
    with pytest.raises(NoSuchArtifact, match="is not the id of an artifact"):
        await artifacts_in(place, clock).read(wanted)


async def test_an_id_that_leads_nowhere_is_told(place: Path, clock: VirtualClock) -> None:
    with pytest.raises(NoSuchArtifact, match="There is no artifact 20260101-000000-0123abcd"):
        await artifacts_in(place, clock).read("20260101-000000-0123abcd")


async def test_artifacts_of_one_moment_do_not_meet(place: Path, clock: VirtualClock) -> None:
    artifacts = artifacts_in(place, clock)
    ids = await asyncio.gather(*(artifacts.store(f"text {number}") for number in range(8)))
    assert [await artifacts.read(each) for each in ids] == [f"text {number}" for number in range(8)]


async def test_any_text_comes_back_as_it_was(place: Path, clock: VirtualClock) -> None:
    artifacts = artifacts_in(place, clock)
    for text in ("\r\n\x00\u2028", "\ud800 alone", "", "好"):
        assert await artifacts.read(await artifacts.store(text)) == text


async def test_a_store_that_cannot_be_written_says_so(place: Path, clock: VirtualClock) -> None:
    put(place, "a file where the directory should be")
    with pytest.raises(ArtifactNotKept, match="could not be kept in"):
        await artifacts_in(place, clock).fit("word " * 501, None, words)
