"""Cases H-01, H-03, H-06, H-08, H-12 of the real world, as far as they concern reading, choosing and writing the configuration."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.config.support import home_at, loaded, resolved
from tests.support.virtual_time import VirtualClock
from yagent.config.decode import decode
from yagent.config.edit import AppendItem, SetKey, apply, write
from yagent.config.load import LARGEST_FILE, load, parse
from yagent.config.problems import ConfigError
from yagent.config.providers import ProviderOptions
from yagent.runtime.paths import DataHome

DENY = "[permissions]\ndeny = ['shell(rm *)']\n"
ROOT = Path(__file__).parents[2]

BROKEN: dict[str, bytes] = {
    "unclosed quote": b'[agent]\nlang = "x\n' + DENY.encode(),
    "duplicate key": b"task_timeout = '1h'\ntask_timeout = '2h'\n" + DENY.encode(),
    "utf-16": DENY.encode("utf-16"),
    "not a number": b"[agent]\ndirector_max_steps = 'abc'\n" + DENY.encode(),
    "list instead of table": b"agent = []\n" + DENY.encode(),
    "negative time-out": b"[llm]\ntimeout = '-5s'\n" + DENY.encode(),
    "text instead of rules": b"[permissions]\ndeny = 'yes'\n",
    "text instead of permissions": b"permissions = 'yes'\n",
    "cut in the middle of a rule": DENY.encode()[:-8],
    "too large": DENY.encode() + b"#" * LARGEST_FILE,
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_H01_a_broken_file_stops_the_start_in_three_lines_and_is_left_as_it_is(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, data)
    assert len(str(caught.value).splitlines()) == 3
    assert caught.value.exit_code == 2
    assert "config.toml" in caught.value.where
    assert (tmp_path / "home/config/config.toml").read_bytes() == data


@pytest.mark.parametrize(
    "data", [b"", b"\xef\xbb\xbf" + DENY.encode(), DENY.replace("\n", "\r\n").encode(), DENY.replace(" = ", "\t=\t").encode()]
)
def test_H01_forms_that_are_not_broken_keep_their_rules(tmp_path: Path, data: bytes) -> None:
    assert loaded(tmp_path, data).config.permissions.deny == (("shell(rm *)",) if data else ())


@given(st.binary(max_size=60), st.integers(0, len(DENY)))
def test_H01_no_damage_anywhere_makes_a_rule_vanish_without_a_word(junk: bytes, position: int) -> None:
    data = DENY.encode()[:position] + junk + DENY.encode()[position:]
    try:
        text = data.decode()
        result = decode(parse(text, Path("c")), text=text, origin="c", environ={})
    except (ConfigError, UnicodeDecodeError):
        return
    written = [line.split("#")[0] for line in text.split("\n")]
    assert result.config.permissions.deny or result.notices or not any("deny" in line and "rm" in line for line in written)


@pytest.mark.parametrize(
    "raw",
    [
        "sk-canary\n",
        "sk-canary\r\n",
        " sk-canary",
        '"sk-canary"',
        "'sk-canary'\n",
        "Bearer sk-canary",
        "\u200bsk-canary",
        "\ufeffsk-canary",
        "sk-\ncanary",
    ],
)
def test_H03_a_key_as_people_paste_it_is_sent_clean_and_never_shown(tmp_path: Path, raw: str) -> None:
    text = apply(
        "",
        [
            SetKey(("global", "llm", "providers", "p"), "api_base_url", "http://p"),
            SetKey(("global", "llm", "providers", "p"), "api_key", raw),
        ],
    )
    for result in (resolved(tmp_path, "", {"OPENAI_API_KEY": raw}), resolved(tmp_path, text)):
        assert result.default.key
        assert result.default.key.reveal() == "sk-canary"
        assert any("Taken off" in str(notice) for notice in result.notices)
        assert "canary" not in repr(result)
        assert "canary" not in "".join(map(str, result.notices))


@pytest.mark.parametrize("raw", ["", " ", "\n", '""', "your-key-here", "\u200b"])
def test_H03_an_empty_key_and_a_placeholder_count_as_missing(tmp_path: Path, raw: str) -> None:
    result = resolved(tmp_path, "", {"OPENAI_API_KEY": raw, "DEEPSEEK_API_KEY": "k"})
    assert (result.default.name, result.default.key) in {("deepseek", result.default.key), ("openai", None)}


def test_H03_another_character_is_refused_by_its_position(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved(tmp_path, "", {"OPENAI_API_KEY": "sk–canary"})
    assert "number 3 of 9" in str(caught.value)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("home", [None, Path("/dev/null/home"), Path(""), Path("relative")], ids=str)
def test_H06_an_odd_home_runs_with_defaults(home: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = DataHome.from_environment({}, home)
    assert not load(None, environ={}, home=place).exists
    assert place.problem


async def test_H06_the_target_of_a_link_is_updated_and_the_link_stays(tmp_path: Path, clock: VirtualClock) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_text(DENY)
    home = home_at(tmp_path)
    home.config_file.parent.mkdir()
    home.config_file.symlink_to(target)
    await write(home.config_file, [SetKey(("agent",), "lang", "French")], clock=clock)
    assert home.config_file.is_symlink()
    assert target.read_text().startswith(DENY)
    result = load(None, environ={}, home=home)
    assert (result.config.agent.lang, result.config.permissions.deny) == ("French", ("shell(rm *)",))


FILE_WITH_TWO = (
    "[global.llm]\nuse_provider='a'\n[global.llm.providers.a]\napi_base_url='http://a.test'\napi_key='canary-of-a'\n"
    "[global.llm.providers.b]\napi_base_url='http://b.test'\napi_key_env='B_KEY'\n[agents.llm]\nrepo.use_provider='b'\n"
)
EVERY_KEY = {
    "B_KEY": "canary-of-b",
    "OPENAI_API_KEY": "canary-of-openai",
    "ANTHROPIC_API_KEY": "canary-of-anthropic",
    "API_KEY": "canary-of-nobody",
}


@pytest.mark.parametrize(
    ("text", "extra", "option", "agent", "goes_to"),
    [
        (FILE_WITH_TWO, {}, None, "director", ("a.test", "canary-of-a")),
        (FILE_WITH_TWO, {}, None, "repo", ("b.test", "canary-of-b")),
        (FILE_WITH_TWO, {}, "b", "director", ("b.test", "canary-of-b")),
        (FILE_WITH_TWO, {}, "anthropic", "repo", ("api.anthropic.com", "canary-of-anthropic")),
        (FILE_WITH_TWO, {"YAGENT_BASE_URL": "http://y.test"}, None, "repo", ("y.test", None)),
        (FILE_WITH_TWO, {"YAGENT_BASE_URL": "http://y.test", "YAGENT_API_KEY": "canary-of-y"}, None, "repo", ("y.test", "canary-of-y")),
        (FILE_WITH_TWO, {"YAGENT_BASE_URL": "http://y.test", "YAGENT_API_KEY": "canary-of-y"}, "b", "repo", ("b.test", "canary-of-b")),
        ("", {}, None, "director", ("api.openai.com", "canary-of-openai")),
        (
            "[global.llm.providers.p]\napi_base_url='https://api.anthropic.com'",
            {},
            None,
            "chat",
            ("api.anthropic.com", "canary-of-anthropic"),
        ),
        ("[global.llm.providers.openai]\napi_base_url='https://evil.test/v1'", {}, None, "chat", ("evil.test", None)),
        ("[global.llm.providers.p]\napi_base_url='http://api.openai.com/v1'", {}, None, "chat", ("api.openai.com", None)),
    ],
)
def test_H08_a_key_goes_to_its_own_provider_only(
    tmp_path: Path, text: str, extra: dict[str, str], option: str | None, *, agent: str, goes_to: tuple[str, str | None]
) -> None:
    choice = resolved(tmp_path, text, {**EVERY_KEY, **extra}, ProviderOptions(option)).provider_for(agent)
    assert (choice.host, choice.key.reveal() if choice.key else None) == goes_to
    assert bool(choice.key_source) == bool(goes_to[1])
    assert "canary" not in choice.key_source


RULE_TEXTS = st.text(min_size=1, max_size=20, alphabet=st.sampled_from("ab\"'\\\n#]}=,C:\\new\\tmp😀\t\r[")).map(
    lambda text: f"shell({text})"
)


@given(st.lists(RULE_TEXTS, max_size=3))
def test_H12_a_rule_whatever_is_in_it_is_only_a_rule(rules: list[str]) -> None:
    old = "# mine\n[permissions] # rules\nallow = ['shell(ls)']  # first\nunknown = [\"#\"]\n[agent]\nlang = 'x'\n"
    new = apply(old, [AppendItem(("permissions",), "allow", rule) for rule in rules])
    document = parse(new, Path("c"))
    assert document == {
        "permissions": {"allow": list(dict.fromkeys(["shell(ls)", *rules])), "unknown": ["#"]},
        "agent": {"lang": "x"},
    }
    untouched = [line for line in old.split("\n") if not line.startswith("allow")]
    assert [line for line in new.split("\n") if line in untouched] == untouched
    assert len(new.split("\n")) == len(old.split("\n"))


@pytest.mark.parametrize("value", ['"', "\\", "a\nb", "#", "'", "C:\\new\\tmp", "😀", "]", "\r\n", "\x7f", "\u2028", "a\tb", ""])
def test_H12_every_value_is_read_back_as_it_was_written(value: str) -> None:
    for old in ("", "[agent]\nlang = 'x' # c\n", "[agent]\r\n", "agent = { lang = 'x' }\n", "agent.lang = 'x'\n"):
        assert parse(apply(old, [SetKey(("agent",), "lang", value)]), Path("c"))["agent"]["lang"] == value


@pytest.mark.slow
def test_H12_H07_rules_added_by_many_processes_at_once_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(DENY + "# the end\n")
    code = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from yagent.config.edit import AppendItem, write\nfrom yagent.runtime.clock import SystemClock\n"
        "asyncio.run(write(Path(sys.argv[1]), [AppendItem(('permissions',), 'allow', f'shell(x{sys.argv[2]})')], clock=SystemClock()))"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), str(number)], env=environ) for number in range(6)]
    assert [process.wait() for process in running] == [0] * 6
    document = parse(path.read_text(), path)
    assert sorted(document["permissions"]["allow"]) == [f"shell(x{number})" for number in range(6)]
    assert document["permissions"]["deny"] == ["shell(rm *)"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["config.toml", "config.toml.lock"]
