"""Which file is read, and what happens when it cannot be."""

import os
from pathlib import Path

import pytest

from tests.config.support import home_at, loaded
from yagent.config.load import decode_raw, load, needs_setup
from yagent.config.problems import ConfigError
from yagent.config.schema import Config
from yagent.runtime.paths import DataHome


def test_without_a_file_everything_has_its_default_and_nothing_is_written(tmp_path: Path) -> None:
    result = load(None, environ={}, home=home_at(tmp_path / "absent"))
    assert (result.config, result.notices, result.exists) == (Config(), (), False)
    assert result.source("agent.lang").kind == "default"
    assert list(tmp_path.iterdir()) == []


def test_the_users_file_is_read_and_each_value_knows_its_source(tmp_path: Path) -> None:
    result = loaded(tmp_path, "[agent]\nlang = 'French'\n")
    assert result.exists
    assert result.path == tmp_path / "home/config/config.toml"
    assert str(result.source("agent.lang")) == str(result.path)
    assert result.source("agent.yolo").kind == "default"


def test_a_file_in_the_current_directory_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("config/config.toml", ".yagent/config/config.toml", "config.toml", ".env"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("[agent]\nlang = 'French'\n")
    monkeypatch.chdir(tmp_path)
    for home in (home_at(tmp_path / "other"), DataHome.from_environment({}, None), DataHome.from_environment({}, Path("relative"))):
        assert load(None, environ={}, home=home).config == Config()


def test_an_unknown_home_is_a_notice(tmp_path: Path) -> None:
    result = load(None, environ={}, home=home_at(Path(".yagent")))
    assert result.path is None
    [notice] = result.notices
    assert "home directory is unknown" in str(notice)


def test_a_given_path_is_exactly_that_file_and_never_created(tmp_path: Path) -> None:
    loaded(tmp_path, "[agent]\nlang = 'French'\n")
    other = tmp_path / "other.toml"
    with pytest.raises(ConfigError, match="does not exist"):
        load(other, environ={}, home=home_at(tmp_path / "home"))
    assert not other.exists()
    other.write_text("")
    assert load(other, environ={}, home=home_at(tmp_path / "home")).config.agent.lang == "English"


def test_a_link_to_nowhere_is_not_an_absent_file(tmp_path: Path) -> None:
    home = home_at(tmp_path)
    home.config_file.parent.mkdir()
    home.config_file.symlink_to(tmp_path / "dotfiles" / "config.toml")
    with pytest.raises(ConfigError, match="does not exist"):
        load(None, environ={}, home=home)


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"# only a comment", b"\r\n\r\n", b"\xef\xbb\xbf[agent]\r\nlang\t=\t'x'\r\n"])
def test_marks_tabs_and_line_ends_of_other_editors_are_fine(tmp_path: Path, data: bytes) -> None:
    result = loaded(tmp_path, data)
    assert result.notices == ()
    assert result.config.agent.lang == ("x" if b"lang" in data else "English")


@pytest.mark.parametrize(
    ("data", "place", "words"),
    [
        (b"[agent]\nlang = 'x\n", "line 2, column", "not valid TOML"),
        (b"[agent]\nlang = 'x'\nlang = 'y'\n", "line 3, column", "not valid TOML"),
        (b"[agent]\n[agent]\n", "line 2, column", "not valid TOML"),
        (b"[agent]\nlang = ", "line 2, column", "not valid TOML"),
        (b"a = '''x", "line 1, column", "not valid TOML"),
        ("[agent]\nlang = 'x'\n".encode("utf-16"), "line 1, column 1", "UTF-16"),
        ("[agent]\nlang = 'x'\n".encode("utf-16-le"), "line 1, column 1", "UTF-16"),
        (b"[agent]\nlang = 'x\0'\n", "line 2, column 10", "zero bytes"),
        (b"[agent]\nlang = '\xe9\xe8'\n", "line 2, column 9", "UTF-8"),
        (b"a = " + b"[" * 100_000, "", "nested"),
        (b"#" * 1_000_001, "", "larger"),
        (b"\x00", "line 1, column 1", "UTF-8"),
    ],
    ids=[
        "quote",
        "twice",
        "table twice",
        "no value",
        "open",
        "utf-16",
        "utf-16-le",
        "zero in text",
        "latin-1",
        "deep",
        "large",
        "zero byte",
    ],
)
def test_a_broken_file_is_three_lines_that_say_what_where_and_how(tmp_path: Path, data: bytes, place: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, data)
    assert caught.value.exit_code == 2
    what, where, fix = str(caught.value).split("\n")
    assert words in what
    assert str(tmp_path) in where
    assert place in where
    assert fix
    assert (tmp_path / "home/config/config.toml").read_bytes() == data


def test_a_directory_or_a_pipe_instead_of_a_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ConfigError, match="cannot be read"):
            load(path, environ={}, home=home_at(tmp_path))


def test_a_path_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    for path in (Path("a\x00b"), tmp_path / ("x" * 5000), Path("/dev/null/config.toml")):
        with pytest.raises(ConfigError):
            load(path, environ={}, home=home_at(tmp_path))


def test_dev_null_is_an_empty_configuration(tmp_path: Path) -> None:
    loaded(tmp_path, "[agent]\nlang = 'French'\n")
    assert load(Path("/dev/null"), environ={}, home=home_at(tmp_path / "home")).config == Config()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_an_error_and_an_unreadable_home_a_notice(tmp_path: Path) -> None:
    loaded(tmp_path, "[permissions]\ndeny = ['shell(rm *)']\n")
    home = home_at(tmp_path / "home")
    home.config_file.chmod(0)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(None, environ={}, home=home)
    home.config_file.parent.chmod(0)
    try:
        [notice] = load(None, environ={}, home=home).notices
        assert "No configuration file was read" in str(notice)
    finally:
        home.config_file.parent.chmod(0o700)


def test_a_file_that_others_can_change_is_told_with_or_without_a_key(tmp_path: Path) -> None:
    assert loaded(tmp_path, "[agent]\nlang = 'en'\n").notices == ()
    path = tmp_path / "home/config/config.toml"
    for mode in (0o666, 0o620, 0o602):
        path.chmod(mode)
        [notice] = load(path, environ={}, home=home_at(tmp_path)).notices
        assert "may change it: chmod 600" in str(notice)
    path.chmod(0o644)
    assert load(path, environ={}, home=home_at(tmp_path)).notices == ()


def test_a_key_that_others_can_read_is_told(tmp_path: Path) -> None:
    text = "[global.llm.providers.p]\napi_base_url = 'http://h'\napi_key = 'canary'\n"
    assert loaded(tmp_path, text).notices == ()
    path = tmp_path / "home/config/config.toml"
    path.chmod(0o644)
    [notice] = load(path, environ={}, home=home_at(tmp_path)).notices
    assert "chmod 600" in str(notice)
    assert "canary" not in str(notice)


def test_nothing_that_was_loaded_shows_a_key(tmp_path: Path) -> None:
    assert "canary" not in repr(loaded(tmp_path, "[global.llm.providers.p]\napi_key = 'canary'\n"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "fresh"),
        ("[agent]\nlang = 'x'", "fresh"),
        ("[global.llm.providers.p]\napi_base_url = 'http://h'\napi_key = 'your-key'", "placeholder"),
        ("[global.llm.providers.p]\napi_base_url = 'http://your-host/v1'\nmodel = 'your-model'", "placeholder"),
        ("[global.llm.providers.p]\napi_base_url = 'http://h'", None),
        ("[global.llm.providers.q]\napi_key = 'your-key'\n[global.llm.providers.p]\napi_base_url = 'http://h'\napi_key = 'sk'", None),
    ],
)
def test_what_setup_has_to_do(tmp_path: Path, text: str, reason: str | None) -> None:
    assert needs_setup(loaded(tmp_path, text)) == reason


def test_the_raw_document_is_had_from_a_file_that_does_not_validate(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("agent = 5\n")
    assert decode_raw(path) == {"agent": 5}


def test_a_number_of_thousands_of_digits_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a number that cannot be read"):
        loaded(tmp_path, f"[agent]\nmax_parallel_delegations = {'9' * 5000}\n")


def test_a_link_that_leads_nowhere_is_called_one(tmp_path: Path) -> None:
    loaded(tmp_path, "")
    path = tmp_path / "home/config/config.toml"
    path.unlink()
    path.symlink_to(tmp_path / "gone.toml")
    with pytest.raises(ConfigError, match="is a link to a file that does not exist") as caught:
        load(None, environ={}, home=home_at(tmp_path / "home"))
    assert "-c" not in str(caught.value)
