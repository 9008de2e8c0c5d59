"""Foreign text made safe to show."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.protocol.visible import has_hidden, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b]52;c;x\x07", "\\x1b]52;c;x\\x07"),
        ("\x1b[2J\r\x9b1m\x7f\0", "\\x1b[2J\\x0d\\x9b1m\\x7f\\x00"),
        ("a\u202eb\u2066c", "a\\u{202e}b\\u{2066}c"),
        ("a\u200bb\u00adc\ufeff", "a\\u{200b}b\\u{ad}c\\u{feff}"),
        ("a\u2028b", "a\\u{2028}b"),
        ("\U000e0041", "\\u{e0041}"),
        ("rm\u00a0-rf", "rm\\u{a0}-rf"),
        ("\udc80", "\\u{dc80}"),
        ("日本語 한국어 Ünïcödé Ελληνικά кириллица עברית العربية", "日本語 한국어 Ünïcödé Ελληνικά кириллица עברית العربية"),
        ("👩\u200d💻 🏳️\u200d🌈 ✓ ─│", "👩\u200d💻 🏳️\u200d🌈 ✓ ─│"),
    ],
)
def test_what_could_act_hide_or_reorder_is_written_out_and_letters_are_not(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "a\u202eb",
        "a\u200bb",
        "\u2066",
        "a\u00adb",
        "a\u2028b",
        "\U000e0041",
        "rm\u00a0-rf",
        "p\u0430ypal.com",
        "g\u03bfogle",
        "a\x1bb",
        "a\rb",
        "a\u200db",
    ],
)
def test_text_that_could_be_taken_for_another_is_flagged(text: str) -> None:
    assert has_hidden(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ls -la",
            "echo 日本語",
            "echo привет мир",
            "echo Ελλάδα",
            "naïve café",
            "👩\u200d💻 done",
            "echo עברית",
            "🏴\U000e0067\U000e0062\U000e007f",
        ),
        *("touch файл.txt", "grep -r ошибка src/", "می\u200cخواهم", "µs Ω", "a\tb\nc"),
    ],
)
def test_ordinary_text_of_any_script_is_not_flagged(text: str) -> None:
    assert not has_hidden(text)


@given(st.text())
def test_what_is_shown_never_controls_a_terminal(text: str) -> None:
    assert not any(unicodedata.category(character) == "Cc" and character not in "\n\t" for character in visible(text))


@given(st.text(), st.integers(min_value=0, max_value=50))
def test_pieces_of_a_stream_are_shown_like_the_whole(text: str, cut: int) -> None:
    assert visible(text[:cut]) + visible(text[cut:]) == visible(text)
