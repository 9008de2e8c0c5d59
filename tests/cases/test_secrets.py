"""Secrets: whatever way a key came in, nothing a run says or leaves behind holds it."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.llm.wire import FORMATS
from tests.support.command_line import CommandLine
from tests.support.model_server import Agent, Chaos, ModelServer, Reply, hand_over, status
from tests.support.session import Sessions
from yagent.errors import YagentError
from yagent.llm.endpoint import Endpoint, credentials_in

SHAPES = {
    "known shape": "sk-canary-7f3a9c51e2d84b60",
    "hexadecimal": "9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    "words": "correct.horse+battery/staple==",
    "short": "qv7x!zk",
}


def _by_yagent_variable(yagent: CommandLine, url: str, key: str) -> None:
    yagent.environment = {"YAGENT_BASE_URL": url, "YAGENT_MODEL": "played-model", "YAGENT_API_KEY": key}


def _by_vendor_variable(yagent: CommandLine, url: str, key: str) -> None:
    yagent.environment = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": url, "YAGENT_MODEL": "played-model"}


def _configured(yagent: CommandLine, url: str, lines: str) -> None:
    place = yagent.data / "config/config.toml"
    place.parent.mkdir(parents=True)
    place.write_text(
        f'[global.llm]\ndefault = "own"\n[global.llm.providers.own]\napi_base_url = "{url}"\nmodel = "played-model"\n{lines}\n'
    )
    place.chmod(0o600)
    yagent.environment = {}


def _by_literal(yagent: CommandLine, url: str, key: str) -> None:
    _configured(yagent, url, f"api_key = '{key}'")


def _by_named_variable(yagent: CommandLine, url: str, key: str) -> None:
    _configured(yagent, url, 'api_key_env = "ODD_NAME"')
    yagent.environment = {"ODD_NAME": key}


def _by_query(yagent: CommandLine, url: str, key: str) -> None:
    _configured(yagent, f"{url}?key={key}", "")


def _by_query_variable(yagent: CommandLine, url: str, key: str) -> None:
    yagent.environment = {"YAGENT_BASE_URL": f"{url}?code={key}", "YAGENT_MODEL": "played-model"}


def _by_userinfo(yagent: CommandLine, url: str, key: str) -> None:
    yagent.environment = {"YAGENT_BASE_URL": url.replace("://", f"://user:{key}@"), "YAGENT_MODEL": "played-model"}


WAYS: dict[str, Callable[[CommandLine, str, str], None]] = {
    "YAGENT_API_KEY": _by_yagent_variable,
    "a vendor's variable": _by_vendor_variable,
    "the config": _by_literal,
    "a variable the config names": _by_named_variable,
    "the query of the address": _by_query,
    "the query of an address in a variable": _by_query_variable,
    "the user of the address": _by_userinfo,
}


def _assert_unseen(key: str, said: bytes, left: Path, *but: Path) -> None:
    """Neither said nor left, in plain or in the forms text takes on its way."""
    forms = {key.encode(), json.dumps(key)[1:-1].encode()}
    for form in forms:
        assert form not in said, said[max(0, said.find(form) - 200) : said.find(form) + 60]
        found = [path for path in left.rglob("*") if path.is_file() and path not in but and form in path.read_bytes()]
        assert not found, found


def _shown(way: str, key: str) -> str:
    """The key as it stands in an address."""
    return key.replace("/", "%2F").replace("+", "%2B") if "address" in way else key


async def _run(yagent: CommandLine, way: str, key: str, url: str, *arguments: str) -> bytes:
    """Run a task with no patience; all it said."""
    WAYS[way](yagent, url, _shown(way, key))
    if not (yagent.data / "config/config.toml").exists():
        (yagent.data / "config").mkdir(parents=True)
        (yagent.data / "config/config.toml").touch(0o600)
    with (yagent.data / "config/config.toml").open("a") as file:
        file.write("\n[llm]\nmax_retries = 1\nstep_retries = 0\n")
    result = await yagent.run("-p", "go", *arguments)
    return result.out + result.err


ECHOES = [
    (way, shape, code, output)
    for number, way in enumerate(WAYS)
    for shape, code, output in [
        ("hexadecimal", 401, "text"),
        ("words", (404, 400, 500)[number % 3], "stream-json"),
        ("known shape" if number % 2 else "short", (400, 500, 404)[number % 3], "json"),
    ]
]


@pytest.mark.real_time
@pytest.mark.slow
@pytest.mark.parametrize(("way", "shape", "code", "output"), ECHOES)
async def test_a_server_that_echoes_the_key_does_not_get_it_shown(
    yagent: CommandLine, model_server: ModelServer, way: str, shape: str, code: int, output: str
) -> None:
    key, shown = SHAPES[shape], _shown(way, SHAPES[shape])
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {key} ({shown}). Bearer {key}!", "type": f"t_{key}"}}).encode()
    model_server.script = lambda view: Reply(text="never", chaos=[status(code, body=body, retry_after="0")] * 99)
    said = await _run(yagent, way, key, model_server.url, *(("--output", output) if output != "text" else ()))
    assert model_server.exchanges
    for form in {key, shown}:
        _assert_unseen(form, said, yagent.home, yagent.data / "config/config.toml")
    assert b"Incorrect API key" in said, "the rest of the server's words is kept"


@pytest.mark.real_time
@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
async def test_a_command_never_sees_the_key_and_nothing_of_a_good_run_holds_it(
    yagent: CommandLine, model_server: ModelServer, way: str
) -> None:
    key = SHAPES["words"]

    async def coding(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command="env; tr '\\0' '\\n' < /proc/self/environ; ls -R ~/.yagent"))

    async def director(agent: Agent) -> str:
        return await agent.call("delegate_coding", task="look")

    model_server.play({"are the Director": director, "are Coding": coding})
    said = await _run(yagent, way, key, model_server.url, "-Y", "--output", "stream-json")
    assert b'"exit_code": 0' in said or b'"exit_code":0' in said
    for form in {key, _shown(way, key)}:
        _assert_unseen(form, said, yagent.home, yagent.data / "config/config.toml")
        assert all(form.encode() not in exchange.raw for exchange in model_server.exchanges)


@pytest.mark.parametrize("trouble", ["error_in_stream", "html_page", "reset_mid_stream", "status"])
@pytest.mark.parametrize("api_format", FORMATS)
async def test_no_kind_of_failure_tells_the_key(sessions: Sessions, model_server: ModelServer, api_format: str, trouble: Any) -> None:
    key = SHAPES["hexadecimal"]
    chaos = Chaos(trouble, message=f"no {key} here", body=f"<p>{key}</p>".encode() if trouble == "status" else None)
    model_server.script = lambda view: Reply(text="half", chaos=[chaos] * 99)
    environ = {**sessions.environment(api_format), "YAGENT_API_KEY": key}
    async with sessions.open(environ=environ) as opened:
        result = await opened.do("go")
    assert result.error
    _assert_unseen(key, repr((result, opened.events)).encode(), sessions.home)


async def _echoing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that answers every request with 401 and all of the request."""
    head = await reader.readuntil(b"\r\n\r\n")
    body = json.dumps({"error": {"message": head.decode("latin-1")}}).encode()
    writer.write(b"HTTP/1.1 401 No\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
    await writer.drain()
    writer.close()


@pytest.mark.parametrize("key", [None, SHAPES["hexadecimal"][::-1]])
@pytest.mark.parametrize("model", [None, "m"])
@pytest.mark.parametrize("api_format", FORMATS)
async def test_a_server_that_sends_the_whole_request_back_gets_nothing_of_it_shown(
    sessions: Sessions, api_format: str, model: str | None, key: str | None
) -> None:
    password, token = "correct-horse", SHAPES["hexadecimal"]
    async with await asyncio.start_server(_echoing, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        environ = {**sessions.environment(api_format), "YAGENT_BASE_URL": f"http://user:{password}@127.0.0.1:{port}/v1?token={token}"}
        environ |= {"YAGENT_API_KEY": key} if key else {}
        environ = {name: value for name, value in environ.items() if model or name != "YAGENT_MODEL"}
        told = ""
        try:
            async with sessions.open(environ=environ) as opened:
                told = repr((await opened.do("go"), opened.events))
        except YagentError as failure:
            told = str(failure)
    assert "401" in told
    basic = base64.b64encode(f"user:{password}".encode()).decode()
    for secret in filter(None, (password, token, key, basic)):
        _assert_unseen(secret, told.encode(), sessions.home)


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "all_proxy"])
async def test_the_password_of_a_proxy_is_not_told(sessions: Sessions, variable: str) -> None:
    key = SHAPES["hexadecimal"]
    environ = {
        "HOME": str(sessions.home), "PATH": "/usr/bin:/bin", "YAGENT_BASE_URL": "https://model.invalid/v1", "YAGENT_MODEL": "m",
        variable: f"http://user:{key}@127.0.0.1:9",
    }  # fmt: skip
    async with sessions.open(environ=environ) as opened:
        result = await opened.do("go")
    assert "127.0.0.1:9" in result.error
    _assert_unseen(key, repr((result, opened.events)).encode(), sessions.home)


async def test_user_and_password_of_an_address_are_sent_as_such_where_there_is_no_key(
    sessions: Sessions, model_server: ModelServer
) -> None:
    model_server.script = lambda view: Reply(text="ok")
    url = model_server.url.replace("://", "://me:p%40ss@")
    for more, expected in (({}, "Basic bWU6cEBzcw=="), ({"YAGENT_API_KEY": "sk-0123456789"}, "Bearer sk-0123456789")):
        async with sessions.open(environ={**sessions.environment(), "YAGENT_BASE_URL": url, **more}) as opened:
            assert (await opened.do("go")).answer == "ok"
        assert model_server.exchanges[-1].headers["authorization"] == expected


def test_what_only_names_something_is_no_secret_of_an_address() -> None:
    assert credentials_in("https://host/v1?api-version=2024-10-21&deployment=gpt-large") == ()
    assert "K%2BY-1234" in credentials_in("https://host/v1?x=1&api_key=K%2BY-1234")
    assert "K+Y-1234" in credentials_in("https://host/v1?x=1&api_key=K%2BY-1234")
    assert credentials_in("not an address at all [") == ()


def test_a_key_that_a_shortened_text_cuts_in_two_is_hidden_too() -> None:
    endpoint = Endpoint("own", "https://host/v1", key=lambda: SHAPES["hexadecimal"])
    for length in range(6, 32):
        assert endpoint.without_secrets(f"wrong key {SHAPES['hexadecimal'][:length]}…") == "wrong key [key removed]"
    assert endpoint.without_secrets("wrong key 9f8e7…") == "wrong key 9f8e7…"
