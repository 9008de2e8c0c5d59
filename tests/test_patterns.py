"""A pattern is compiled when it is first used, and then is what `re.compile` gives."""

import re
from operator import attrgetter

import pytest

from yagent.patterns import pattern


def test_it_does_what_the_compiled_pattern_does() -> None:
    late, compiled = pattern(r"(?P<word>[a-z]+)-\d", re.IGNORECASE), re.compile(r"(?P<word>[a-z]+)-\d", re.IGNORECASE)
    for text in ("Ab-1 cd-2", "nothing", ""):
        assert late.sub(r"<\1>", text) == compiled.sub(r"<\1>", text)
        assert late.findall(text) == compiled.findall(text)
        assert bool(late.fullmatch(text)) == bool(compiled.fullmatch(text))
    assert (late.pattern, late.flags, late.groupindex) == (compiled.pattern, compiled.flags, compiled.groupindex)


def test_an_unknown_attribute_is_an_error() -> None:
    with pytest.raises(AttributeError, match="surch"):
        attrgetter("surch")(pattern("a"))


def test_nothing_is_compiled_before_it_is_used() -> None:
    broken = pattern("(")
    with pytest.raises(re.error, match="unterminated"):
        broken.search("")
