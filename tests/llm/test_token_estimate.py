"""Sizes from the kinds of characters. The expected numbers are those of o200k."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.llm.token_estimate import Size, estimate

CODE = '''def total(prices: list[Decimal], *, quantity: int = 1) -> Decimal:
    """The sum, rounded half up to cents."""
    result = sum((price * quantity for price in prices), start=Decimal(0))
    return result.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
'''
ENGLISH = "The function reads the file, checks whether each line is valid and reports every problem it finds with its line number. "
CHINESE = "这个函数读取文件，检查每一行是否有效，并报告它发现的每个问题及其行号。"
JSON = '{"id": 1042, "name": "totals", "tags": ["money", "rounding"], "price": 12.5, "active": true, "parent": null}\n'


def tokens(text: str) -> float:
    size = estimate(text)
    return size.plain + size.wide


@pytest.mark.parametrize(
    ("text", "real"),
    [(CODE, 67), (ENGLISH, 22), (CHINESE, 24), (JSON, 44)],
    ids=["code", "english", "chinese", "json"],
)
def test_an_uncalibrated_estimate_is_near(text: str, real: int) -> None:
    assert 0.75 < tokens(text) / real < 1.35


def test_other_scripts_are_counted_apart() -> None:
    assert estimate(ENGLISH).wide == 0
    assert estimate("检查每一行").plain == 0
    assert estimate("") == Size()


@pytest.mark.parametrize("text", ["0" * 3000, "f3" * 1500, "a" * 3000, "=" * 3000, "\n" * 3000, "é" * 3000, "🚀" * 1000, "한" * 1000])
def test_odd_texts_are_neither_free_nor_dearer_than_their_bytes(text: str) -> None:
    assert 0 < tokens(text) <= 1.3 * len(text.encode())


@given(st.text(max_size=300))
def test_any_text_has_a_size(text: str) -> None:
    assert (tokens(text) > 0) == (text.strip(" ") != "")


@given(st.text(max_size=200), st.text(max_size=200))
def test_two_texts_are_about_as_large_as_both_in_one(first: str, second: str) -> None:
    assert abs(tokens(first + "\n" + second) - tokens(first) - tokens(second)) < 6


def test_a_lone_surrogate_is_counted_too() -> None:
    assert tokens("name\udcff") > 0
