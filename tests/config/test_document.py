"""Where things are in a TOML text."""

import itertools
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.config.document import dotted_path, expressions, line_of, show_path, split_lines

TEXT = """\
# top
task_timeout = "0"
a.b = 1

[ "quo.ted" . x ]   # header
list = [
  1, # one = 1
  "]", # [no.header]
]
text = '''
[fake]
key = 1
'''
inline = { p = { q = 1 }, r = 2 }
[[servers]]
name = "x = y # z"
[a.c]
"d e" = true"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("task_timeout",), 2),
        (("a", "b"), 3),
        (("quo.ted", "x"), 5),
        (("quo.ted", "x", "list"), 6),
        (("quo.ted", "x", "text"), 10),
        (("quo.ted", "x", "inline", "p", "q"), 14),
        (("servers",), 15),
        (("servers", "name"), 16),
        (("a", "c", "d e"), 18),
        (("fake",), None),
        (("a",), 3),
    ],
)
def test_the_line_of_an_entry(path: tuple[str, ...], line: int | None) -> None:
    assert line_of(TEXT, path) == line


def test_expressions_cover_every_entry_once_and_in_order() -> None:
    found = list(expressions(split_lines(TEXT)))
    assert [(each.start, each.end) for each in found] == sorted((each.start, each.end) for each in found)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))
    assert sum(each.is_header for each in found) == 3


@given(st.lists(st.text(min_size=1, alphabet=st.characters(exclude_categories=["Cs", "Cc"])), min_size=1, max_size=4))
def test_a_shown_path_is_read_back(path: list[str]) -> None:
    assert dotted_path(show_path(path)) == tuple(path)
    assert tomllib.loads(f"[{show_path(path)}]")


@given(st.text(alphabet=st.sampled_from("ab\n\r\u2028\x85\x0b ")))
def test_lines_end_at_line_feeds_only(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all("\n" not in line[:-1] for line in lines)
