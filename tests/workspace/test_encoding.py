"""Which encoding bytes are in, and changing characters without touching other bytes."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.workspace.encoding import Document, EncodingError, first_lines, newline_style, recognise, split_lines


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("plain\n", "utf-8"),
        ("日本語 ünï\n", "utf-8"),
        ("[a]\nname=東京\n", "cp932"),
        ("名前は太郎です。住所は東京都", "cp932"),
        ("名前は太郎です。住所は東京都", "euc_jp"),
        ("[a]\nname=东京\n", "gb18030"),
        ("设置文件的标题", "gb18030"),
        ("設定檔案的標題，名稱", "big5"),
        ("안녕하세요 세계 제목=서울", "cp949"),
        ("// комментарий\nint a;", "cp1251"),
        ("Привет мир, это строка", "koi8_r"),
        ("Überraschung für die Größe", "cp1252"),
        ("/* Acme™ café */", "cp1252"),
        ("x = 'é'", "cp1252"),
        ("héllo wörld", "utf-16-le"),
        ("héllo wörld", "utf-16-be"),
    ],
)
def test_an_encoding_is_recognised_by_how_plausible_its_text_is(text: str, codec: str) -> None:
    encoding = recognise(text.encode(codec))
    assert encoding is not None
    assert encoding.codec == codec
    assert encoding.decode(text.encode(codec)) == text


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides(mark: bytes, codec: str) -> None:
    document = Document.of(mark + "é東\n".encode(codec))
    assert document is not None
    assert (document.encoding.codec, document.encoding.mark, document.text) == (codec, mark, "é東\n")


@pytest.mark.parametrize("data", [b"\x7fELF\0\0\1", b"a\0b", bytes(range(1, 9)) * 20, b"\xff\xfe\0"])
def test_what_is_no_text_is_said_to_be_none(data: bytes) -> None:
    assert recognise(data) is None


def test_a_utf8_file_with_a_broken_byte_stays_utf8_and_keeps_the_byte() -> None:
    document = Document.of("日本語です\n".encode() + b"\xe9 x\n")
    assert document is not None
    changed = document.replaced([(0, 1, "é")])
    assert changed.raw == "é本語です\n".encode() + b"\xe9 x\n"


def test_new_text_that_the_encoding_cannot_hold_is_refused() -> None:
    document = Document.of("name=東京\n".encode("cp932"))
    assert document is not None
    with pytest.raises(EncodingError, match=r"cp932.*cannot hold"):
        document.replaced([(0, 4, "😀")])


def test_lone_surrogates_never_become_bytes() -> None:
    document = Document.of(b"ascii\n")
    assert document is not None
    with pytest.raises(EncodingError):
        document.replaced([(0, 1, "\udce9")])


@pytest.mark.parametrize(
    ("text", "style"),
    [("", "none"), ("a", "none"), ("a\n", "lf"), ("a\r\n", "crlf"), ("a\rb", "cr"), ("a\r\nb\n", "mixed"), ("a\r\nb\r", "mixed")],
)
def test_line_endings_are_told_apart(text: str, style: str) -> None:
    assert newline_style(text) == style


@given(st.binary(max_size=400))
def test_any_bytes_that_count_as_text_come_back_as_the_same_bytes(data: bytes) -> None:
    document = Document.of(data)
    if document is not None:
        assert document.encoding.mark + document.encoding.encode(document.text) == data


@given(st.binary(max_size=200), st.data())
def test_a_replacement_changes_only_its_own_bytes(data: bytes, draw: st.DataObject) -> None:
    document = Document.of(data)
    if document is None or not document.text:
        return
    start = draw.draw(st.integers(0, len(document.text)))
    end = draw.draw(st.integers(start, len(document.text)))
    try:
        changed = document.replaced([(start, end, "X")])
    except EncodingError:
        return
    encode = document.encoding.encode
    assert changed.raw == document.encoding.mark + encode(document.text[:start]) + encode("X") + encode(document.text[end:])


@given(st.text(alphabet="ab\r\n", max_size=30), st.integers(min_value=1, max_value=12))
def test_the_first_lines_are_those_of_all_and_all_are_counted(text: str, number: int) -> None:
    style = newline_style(text)
    ends = "\r" if style == "cr" else "\n"
    whole = [line.removesuffix("\r") if style != "cr" else line for line in text.removesuffix(ends).split(ends)] if text else []
    assert split_lines(text, style) == whole
    assert first_lines(text, style, number) == (whole[:number], len(whole))
