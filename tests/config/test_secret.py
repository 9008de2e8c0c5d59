"""Keys: never shown, cleaned of what pasting adds."""

import copy
import logging
import pickle
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.config.problems import ConfigError
from yagent.config.secret import SecretText, clean_key, is_placeholder


@dataclass(frozen=True)
class Holder:
    key: SecretText


def test_a_secret_shows_itself_only_when_asked(caplog: pytest.LogCaptureFixture) -> None:
    secret = SecretText("canary")
    logging.getLogger("t").warning("key %s %r", secret, Holder(secret))
    shown = [
        str(secret),
        repr(secret),
        f"{secret}",
        f"{secret:>20}",
        repr([secret]),
        repr(Holder(secret)),
        caplog.text,
        repr(copy.deepcopy(secret)),
    ]
    assert "canary" not in "".join(shown)
    assert secret.reveal() == "canary"


def test_a_secret_is_not_pickled() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(SecretText("canary"))


def test_secrets_compare_by_value() -> None:
    assert SecretText("a") == SecretText("a")
    assert SecretText("a") != SecretText("b")
    assert SecretText("a") != "a"
    assert {SecretText("a"), SecretText("a")} == {SecretText("a")}
    assert not SecretText("")


UNSEEN = st.sampled_from([" ", "\n", "\r\n", "\t", "\u200b", "\ufeff", "\u00a0", "\u2060", "\x00"])


@given(
    st.lists(UNSEEN).map("".join),
    st.lists(UNSEEN).map("".join),
    st.sampled_from(["", '"', "'", "`"]),
    st.sampled_from(["", "Bearer ", "bearer\t"]),
)
def test_whatever_is_wrapped_around_a_key_comes_off(before: str, after: str, quote: str, word: str) -> None:
    raw = f"{before}{quote}{before}{word}{before}sk-canary{after}{quote}{after}"
    cleaned = clean_key(raw, "VAR")
    assert cleaned.key == SecretText("sk-canary")
    assert bool(cleaned.notices) == (raw != "sk-canary")
    assert "canary" not in str(cleaned)


def test_a_clean_key_needs_no_notice() -> None:
    assert clean_key("sk-abc_DEF.123+/=", "VAR").notices == ()


@pytest.mark.parametrize(
    "text",
    [
        "your-key",
        "your-key-here",
        "YOUR_API_KEY",
        "<your key>",
        "sk-xxxx",
        "sk-...",
        "$OPENAI_API_KEY",
        "${KEY}",
        "changeme",
        "[key]",
        "…",
        "xxx",
    ],
)
def test_placeholders(text: str) -> None:
    assert is_placeholder(text)
    assert clean_key(f'"{text}"', "VAR").key is None


@pytest.mark.parametrize("text", ["sk-proj-abc", "ollama", "EMPTY", "none", "x", "yourself", "AIzaSyX", "", "sk-ant-api03-xxxx-real"])
def test_real_looking_keys_are_no_placeholders(text: str) -> None:
    assert not is_placeholder(text)


@given(
    st.text(alphabet=st.characters(min_codepoint=0x100, max_codepoint=0x3000, categories=["Ll", "Lu", "Pd", "So"]), min_size=1, max_size=3)
)
def test_other_characters_are_refused_by_position_and_never_shown(strange: str) -> None:
    with pytest.raises(ConfigError) as caught:
        clean_key(f" sk-can{strange}ary", "VAR")
    text = str(caught.value)
    assert "number 8 of" in text
    assert "VAR" in text
    assert "can" + strange not in text
    assert "ary" not in text.replace("secondary", "")
