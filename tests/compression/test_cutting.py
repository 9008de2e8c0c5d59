"""Texts cut to a size."""

from hypothesis import given
from hypothesis import strategies as st

from tests.compression.sizes import FourCharacters, lines
from yagent.compression.cutting import first_part, last_part

COUNT = FourCharacters().count


def test_what_fits_stays_as_it_is() -> None:
    assert first_part("short", 2, COUNT) == last_part("short", 2, COUNT) == "short"


def test_a_cut_falls_between_lines_where_one_ends_near() -> None:
    text = lines(500)
    assert first_part(text, 100, COUNT).splitlines() == text.splitlines()[:20]
    assert last_part(text, 100, COUNT).splitlines() == text.splitlines()[-20:]


def test_a_huge_text_costs_what_is_kept_of_it() -> None:
    counter = FourCharacters()
    last_part("x" * 5_000_000, 200, counter.count)
    assert counter.looked_at < 20_000


@given(text=st.text(max_size=400), tokens=st.integers(0, 60))
def test_a_part_fits_and_is_a_part(text: str, tokens: int) -> None:
    beginning, end = first_part(text, tokens, COUNT), last_part(text, tokens, COUNT)
    assert COUNT(beginning) <= tokens
    assert COUNT(end) <= tokens
    assert text.startswith(beginning)
    assert text.endswith(end)
