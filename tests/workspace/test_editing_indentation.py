"""Edits whose search text is indented otherwise than the file: what becomes of the replacement, and line numbers of refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workspace.test_editing import apply, refused
from yagent.workspace.editing import Edit, EditError

LOOP = "def f():\n    for x in y:\n        if x:\n            continue\n        use(x)\n"


def test_a_replacement_with_the_file_s_indentation_stays_as_it_is_written() -> None:
    changed, notes = apply(LOOP, Edit("    use(x)", "        use(x, 1)\n        more()"))
    assert changed.decode() == LOOP.replace("        use(x)", "        use(x, 1)\n        more()")
    assert notes == ["matched 4 columns further in; the replacement has the file's indentation already and was written as it is"]


def test_a_replacement_indented_like_the_search_text_goes_with_it_and_the_note_says_how_far() -> None:
    changed, notes = apply(LOOP, Edit("    if x:\n        continue", "    if not x:\n        break"))
    assert changed.decode() == LOOP.replace("if x:", "if not x:").replace("continue", "break")
    assert notes == ["matched 4 columns further in; the replacement was indented likewise"]
    assert apply("if x:\n    y()\n", Edit("      y()", "      z()"))[1] == [
        "matched 2 columns further out; the replacement was indented likewise"
    ]
    assert apply("\tif x:\n\t\ty()\n", Edit("if x:\n\ty()", "if w:\n\ty()"))[1] == [
        "matched 1 tab further in; the replacement was indented likewise"
    ]


@pytest.mark.parametrize("replace", ["      use(y)\n      more()", "        more()\n    use(x)"])
def test_a_replacement_whose_indentation_can_be_read_in_no_way_or_in_two_is_refused(replace: str) -> None:
    text = refused(LOOP, Edit("    use(x)", replace))
    assert "line 5" in text
    assert "4 columns more" in text


def test_an_empty_replacement_has_no_indentation_to_doubt() -> None:
    assert apply(LOOP, Edit("if x:\n    continue\n", ""))[0].decode() == LOOP.replace("        if x:\n            continue\n", "")


def test_lines_that_stay_keep_their_trailing_whitespace_however_the_replacement_is_indented() -> None:
    file = "if a:\n    b()  \n    c()\n"
    assert apply(file, Edit("b()\nc()", "b()\nd()"))[0] == b"if a:\n    b()  \n    d()\n"
    assert apply(file, Edit("b()\nc()", "    b()\n    d()"))[0] == b"if a:\n    b()  \n    d()\n"


def test_one_line_found_inside_its_indentation_takes_further_lines_along() -> None:
    changed, notes = apply(LOOP, Edit("    use(x)", "    use(x)\n    more()"))
    assert changed.decode() == LOOP + "        more()\n"
    assert notes == ["matched 4 columns further in; the replacement was indented likewise"]


def test_text_inside_a_line_is_replaced_as_it_is_written() -> None:
    assert apply(LOOP, Edit("    use(x)", "        use(x)")) == (LOOP.replace("use(x)", "    use(x)").encode(), [])  # moved in on purpose
    assert apply(LOOP, Edit("  use(x)", "use(x)")) == (LOOP.replace("  use(x)", "use(x)").encode(), [])
    assert apply(LOOP, Edit("use(x)", "use(y)\n        more()")) == (LOOP.replace("use(x)", "use(y)\n        more()").encode(), [])
    assert apply("a  =  b  # c\n", Edit("  b", "    b2")) == (b"a  =    b2  # c\n", [])


DEPTHS = st.integers(0, 3).map(lambda depth: "  " * depth)


@given(st.lists(DEPTHS, min_size=1, max_size=4), st.lists(DEPTHS, min_size=1, max_size=4), DEPTHS, DEPTHS)
def test_a_replacement_is_shifted_only_when_it_shares_its_base_indentation_with_the_search_text(
    asked: list[str], written: list[str], file_base: str, search_base: str
) -> None:
    file = "".join(f"{file_base}{indent}old{number}\n" for number, indent in enumerate(asked))
    search = "\n".join(f"{search_base}{indent}old{number}" for number, indent in enumerate(asked))
    replace = "\n".join(f"{indent}new{number}" for number, indent in enumerate(written))
    try:
        changed = apply(f"start\n{file}", Edit(search, replace))[0].decode().removeprefix("start\n").removesuffix("\n").split("\n")
    except EditError:
        return
    piece = len(written) == 1 or not search.startswith(" ")
    if search in file and piece and written[0] != file_base + asked[0]:
        return  # a piece of a line, replaced as it is written
    moved = [line.index("n") - len(indent) for line, indent in zip(changed, written, strict=True)]
    assert set(moved) in ({0}, {len(file_base) - len(search_base)})
    shares_first = asked[0] + search_base == written[0]
    shares_least = min(asked) + search_base == min(written)
    assert set(moved) == {0} or shares_first or shares_least
    assert set(moved) == {0} or written[0] != file_base + asked[0]


def test_a_failed_edit_counts_the_lines_that_are_on_disk() -> None:
    assert "not found in f (2 lines)" in refused("one\ntwo\n", Edit("three", "3"))
    assert "not found in f (2 lines)" in refused("one\ntwo", Edit("three", "3"))
    assert "nearest are lines 2 to 2 " in refused("one\nsome words here\n", Edit("some words there\nand more", "x"))


def test_line_numbers_of_a_later_edit_are_those_on_disk() -> None:
    file = "head\nx = 1\ny = 2\nx = 1\n"
    longer = Edit("head", "head\n1\n2\n3")
    assert "(lines 2, 4)" in refused(file, longer, Edit("x = 1", "z"))
    assert "(lines 2, 4)" in refused(file, longer, Edit("y = 2", "y = 2\ny = 3"), Edit("x = 1", "z"))
    assert "nearest are lines 3 to 3 " in refused(file, longer, Edit("yy = 2", "z"))
    assert "(4 lines)" in refused(file, longer, Edit("yy = 2", "z"))


def test_a_place_that_an_earlier_edit_of_the_call_changed_is_called_so() -> None:
    text = refused("a = 1\nb = 2\n", Edit("b = 2", "b = 3"), Edit("b = 2", "b = 4"))
    assert "edit 2 of 2 failed; none of the edits was applied" in text
    assert "line 2" in text
    assert "an earlier edit of this call" in text
