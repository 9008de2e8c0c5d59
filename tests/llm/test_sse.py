"""Bytes to events, wherever the bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.llm.engine import ModelGaveUp
from yagent.llm.sse import SseEvent, SseParser

STREAM = (
    '\ufeff:\n\n: keep-alive\r\n\r\nretry: 3000\n\nid: 7\nevent: message\ndata:{"a":"é😀"}\r\n\r\n'
    "data: first\ndata:  second\n\ndata:\n\ndata: old\r\rdata:[DONE]\n\n"
).encode()
EVENTS = [SseEvent("message", '{"a":"é😀"}'), SseEvent("", "first\n second"), SseEvent("", "old"), SseEvent("", "[DONE]")]


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_cuts_change_nothing(cuts: list[int]) -> None:
    parser, found = SseParser(), list[SseEvent]()
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(STREAM)], strict=True):
        found += parser.feed(STREAM[begin:end])
    assert found == EVENTS
    assert parser.end() == []


def test_byte_by_byte() -> None:
    parser = SseParser()
    assert [event for byte in STREAM for event in parser.feed(bytes([byte]))] == EVENTS


def test_an_event_type_lasts_for_one_event() -> None:
    assert SseParser().feed(b"event: error\ndata: 1\n\ndata: 2\n\n") == [SseEvent("error", "1"), SseEvent("", "2")]


def test_comments_are_no_events() -> None:
    assert SseParser().feed(b": ping\n\n:\n\n") == []


def test_the_last_event_may_lack_its_blank_line() -> None:
    parser = SseParser()
    assert parser.feed(b"data: [DONE]") == []
    assert parser.end() == [SseEvent("", "[DONE]")]


def test_invalid_utf8_is_replaced_not_fatal() -> None:
    assert SseParser().feed(b"data: a\xffb\n\n") == [SseEvent("", "a\ufffdb")]


def _feed_for_ever(parser: SseParser, piece: bytes) -> None:
    parser.feed(b"data: ")
    for _ in range(1000):
        parser.feed(piece)


@pytest.mark.parametrize("piece", [b"x" * 64, b"data: y\n" * 8])
def test_an_endless_event_is_refused(piece: bytes) -> None:
    with pytest.raises(ModelGaveUp, match="single stream event"):
        _feed_for_ever(SseParser(max_event_bytes=1000), piece)
