"""How single values are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.config import values


@pytest.mark.parametrize(
    ("raw", "seconds"),
    [
        ("60s", 60),
        ("20m", 1200),
        ("168h", 604800),
        ("0", 0),
        ("0s", 0),
        ("250ms", 0.25),
        ("1h30m", 5400),
        (" 2d ", 172800),
    ],
)
def test_durations(raw: object, seconds: float) -> None:
    assert values.duration_seconds(raw) == seconds


@pytest.mark.parametrize(
    "raw", ["", "60", 61, 1.5, -1, "-5s", "5 s", "5sec", "s", "1h 30m", True, False, None, ["5s"], "1e3s", "٣s", "5s\n6s"]
)
def test_what_is_no_duration_is_refused(raw: object) -> None:
    with pytest.raises(ValueError, match=r".*"):
        values.duration_seconds(raw)


@given(st.integers(0, 10**7).map(lambda number: number / 4))
def test_a_duration_is_shown_so_that_it_is_read_back(seconds: float) -> None:
    assert values.duration_seconds(values.show_duration(seconds)) == pytest.approx(seconds, abs=1e-3)


@pytest.mark.parametrize("raw", [0, 0.0])
def test_the_number_zero_is_a_duration(raw: float) -> None:
    assert values.duration_seconds(raw) == 0


@pytest.mark.parametrize(("raw", "expected"), [(0, None), (7, 7)])
def test_a_count_for_which_zero_means_none(raw: int, expected: int | None) -> None:
    assert values.OPTIONAL_COUNT.read(raw, 8) == expected


@pytest.mark.parametrize("raw", [-1, True, "8", 0.0, None])
def test_what_is_no_count_is_refused(raw: object) -> None:
    with pytest.raises(ValueError, match=r".*"):
        values.OPTIONAL_COUNT.read(raw, 8)


@pytest.mark.parametrize(("raw", "expected"), [(1, 1), (0, 4), (-3, 4), (8, 8), (9, 8), (10**9, 8)])
def test_parallel_limits_are_capped(raw: int, expected: int) -> None:
    assert values.PARALLEL.read(raw, 4) == expected


@pytest.mark.parametrize("raw", [float("nan"), float("inf"), -0.5, True, "1"])
def test_an_amount_is_a_finite_number(raw: object) -> None:
    with pytest.raises(ValueError, match=r".*"):
        values.OPTIONAL_AMOUNT.read(raw, None)


def test_a_price_of_zero_is_a_price() -> None:
    assert values.PRICE.read(0, None) == 0.0


@pytest.mark.parametrize("raw", ["example.com/v1", "ftp://a/b", "https://", "https://a b/", "http://h:port/", "http://[::1", 5])
def test_what_is_no_url_is_refused(raw: object) -> None:
    with pytest.raises(ValueError, match=r".*"):
        values.URL.read(raw, None)


def test_a_url_loses_its_last_slash() -> None:
    assert values.URL.read(" http://localhost:8080/v1/ ", None) == "http://localhost:8080/v1"
