"""What reports say about estimates."""

import json
from pathlib import Path

import pytest

from tests.support.virtual_time import VirtualClock
from yagent.llm.token_calibration import Calibration, CalibrationStore, Fitting
from yagent.llm.token_estimate import Size


def learned(*observations: tuple[Size, int], known: Calibration | None = None) -> Calibration:
    fitting = Fitting(known or Calibration())
    for size, reported in observations:
        fitting.observe(size, reported)
    return fitting.calibration


def test_a_few_reports_are_enough() -> None:
    found = learned(*[(Size(plain=1000.0), 1300)] * 6)
    assert found.plain == pytest.approx(1.3, rel=0.06)
    assert (found.wide, found.seen) == (1.0, 6)


def test_scripts_are_told_apart_in_mixed_texts() -> None:
    mixed = [(Size(plain=900.0, wide=300.0), 900 + 600), (Size(plain=300.0, wide=900.0), 300 + 1800), (Size(plain=1000.0), 1000)]
    found = learned(*mixed * 12)
    assert found.plain == pytest.approx(1.0, rel=0.05)
    assert found.wide == pytest.approx(2.0, rel=0.05)


def test_what_is_exact_is_not_corrected() -> None:
    found = learned(*[(Size(plain=500.0, exact=500.0), 500 + 750)] * 20)
    assert found.plain == pytest.approx(1.5, rel=0.05)
    assert found.tokens(Size(exact=77.0)) == 77


def test_one_wrong_report_among_many_changes_little() -> None:
    right = [(Size(plain=1000.0), 1000)] * 20
    assert learned(*right, (Size(plain=1000.0), 4000)).plain == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("reported", [0, -50, 1, 100_000])
def test_a_report_that_cannot_be_about_this_text_is_left_out(reported: int) -> None:
    assert learned((Size(plain=1000.0), reported)) == Calibration()


def test_a_model_that_counts_otherwise_from_now_on_is_followed() -> None:
    found = learned(*[(Size(plain=1000.0), 1000)] * 50, *[(Size(plain=1000.0), 1400)] * 60)
    assert found.plain == pytest.approx(1.4, rel=0.07)


async def test_what_was_learned_is_there_in_the_next_run(tmp_path: Path, clock: VirtualClock) -> None:
    path = tmp_path / "data" / "tokens.json"
    store = CalibrationStore(path, clock)
    await store.load()
    assert store.get("a:b:c") == Calibration()
    store.put("a:b:c", Calibration(1.25, 0.75, 9))
    await store.save()
    again = CalibrationStore(path, clock)
    await again.load()
    assert again.get("a:b:c") == Calibration(1.25, 0.75, 9)
    assert path.stat().st_mode & 0o777 == 0o600


async def test_two_runs_keep_what_both_learned(tmp_path: Path, clock: VirtualClock) -> None:
    path = tmp_path / "tokens.json"
    first, second = CalibrationStore(path, clock), CalibrationStore(path, clock)
    first.put("one", Calibration(1.1, 1.0, 3))
    second.put("two", Calibration(1.2, 1.0, 4))
    await first.save()
    await second.save()
    assert set(json.loads(path.read_bytes())["models"]) == {"one", "two"}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"models": 3}', b'{"models": {"m": {}}}', b'{"models": {"m": {"plain": "x", "wide": 1, "seen": 1}}}', b"[" * 9999],
)
async def test_a_damaged_file_is_started_anew_with_a_word(
    content: bytes, tmp_path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokens.json"
    path.write_bytes(content)
    store = CalibrationStore(path, clock)
    await store.load()
    assert store.get("m") == Calibration()
    assert "started anew" in caplog.text
    store.put("m", Calibration(1.1, 1.0, 3))
    await store.save()
    assert json.loads(path.read_bytes())["models"]["m"]["seen"] == 3


async def test_a_place_that_cannot_be_written_stops_nothing(tmp_path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "data").write_text("a file where the directory should be")
    store = CalibrationStore(tmp_path / "data" / "tokens.json", clock)
    store.put("m", Calibration(1.1, 1.0, 3))
    await store.save()
    assert "was not saved" in caplog.text


async def test_senseless_factors_in_the_file_are_not_believed(tmp_path: Path, clock: VirtualClock) -> None:
    path = tmp_path / "tokens.json"
    path.write_text('{"models": {"m": {"plain": 900, "wide": -3, "seen": -1}}}')
    store = CalibrationStore(path, clock)
    await store.load()
    assert store.get("m") == Calibration(2.5, 0.4, 0)
