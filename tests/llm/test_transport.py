"""The carrier: connections kept or closed, silence measured, bodies bounded, failures named."""

from __future__ import annotations

import asyncio
import gzip
import re
import ssl
import traceback
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.llm.raw_server import RawServer, chunked, says, whole
from tests.support.model_server.connection import HttpRequest as Seen
from tests.support.virtual_time import VirtualClock
from yagent.llm.engine import ModelConfigurationError, ModelError, ModelGaveUp, TransientModelError
from yagent.llm.transport.failures import TRANSPORT_ERRORS, Place, translate
from yagent.llm.transport.http import BLOCK_BYTES, HttpClients, HttpReply, HttpRequest, HttpSettings

CERTIFICATES = Path(__file__).parent / "certificates"
AUTHORITY = str(CERTIFICATES / "authority.pem")
KEY = "sk-canary-0123456789"


def post(server: RawServer, *body: bytes, scheme: str = "http", host: str = "127.0.0.1") -> HttpRequest:
    """A request with a key."""
    return HttpRequest("POST", f"{scheme}://{host}:{server.port}/v1/x", {"authorization": f"Bearer {KEY}"}, body or (b"{}",))


async def read_all(reply: HttpReply) -> bytes:
    """The whole body."""
    parts = []
    while data := await reply.read():
        parts.append(data)
    return b"".join(parts)


async def fetch(clients: HttpClients, request: HttpRequest) -> bytes:
    """One exchange."""
    async with clients.send(request) as reply:
        return await read_all(reply)


async def read_to_the_end(clients: HttpClients, request: HttpRequest) -> None:
    """One exchange whose body is thrown away."""
    async with clients.send(request) as reply:
        while await reply.read():
            pass


def tls_server_context() -> ssl.SSLContext:
    """A certificate for model.test, localhost and 127.0.0.1, signed by an authority nobody trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem")
    return context


async def test_pieces_arrive_as_one_body_with_its_length(clock: VirtualClock) -> None:
    pieces = [b"a" * (BLOCK_BYTES - 1), b"bc", b"", b"d" * (2 * BLOCK_BYTES), b"e"]
    async with RawServer(says(whole(b"ok"))) as server, HttpClients(HttpSettings(), clock) as clients:
        assert await fetch(clients, post(server, *pieces)) == b"ok"
    assert server.requests[0].body == b"".join(pieces)
    assert server.requests[0].headers["content-length"] == str(len(b"".join(pieces)))
    assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_a_connection_is_kept_and_there_are_never_more_than_requests_in_flight(clock: VirtualClock) -> None:
    async with RawServer(says(chunked(b"data: 1\n\n"))) as server, HttpClients(HttpSettings(), clock) as clients:
        for _ in range(5):
            await fetch(clients, post(server))
        assert server.connections == 1
        for _ in range(3):
            await asyncio.gather(*(fetch(clients, post(server)) for _ in range(4)))
    assert server.connections == 4


async def test_a_server_that_never_closes_costs_a_tenth_of_a_second_and_its_connection(clock: VirtualClock) -> None:
    mark = b"data: [DONE]\n\n"
    async with RawServer(says(chunked(mark, end=False))) as server, HttpClients(HttpSettings(), clock) as clients:
        for _ in range(2):
            started = clock.now()
            async with clients.send(post(server)) as reply:
                assert await reply.read() == mark
                await reply.drain()
            assert clock.now() - started == pytest.approx(0.1, abs=0.01)
        await asyncio.sleep(0.01)
    assert (server.connections, server.left) == (2, 2)


async def test_a_late_end_within_the_tenth_keeps_the_connection(clock: VirtualClock) -> None:
    async def answer(_request: Seen, _reader: Any, writer: asyncio.StreamWriter) -> bool:
        writer.write(chunked(b"data: [DONE]\n\n", end=False))
        await asyncio.sleep(0.05)
        writer.write(b"0\r\n\r\n")
        return True

    async with RawServer(answer) as server, HttpClients(HttpSettings(), clock) as clients:
        for _ in range(2):
            async with clients.send(post(server)) as reply:
                await reply.read()
                await reply.drain()
    assert server.connections == 1


async def silent(_request: Seen, reader: asyncio.StreamReader, _writer: Any) -> None:
    """Says nothing until the client leaves."""
    await reader.read(1)


async def test_no_header_for_two_minutes_is_a_stall(clock: VirtualClock) -> None:
    started = clock.now()
    async with RawServer(silent) as server, HttpClients(HttpSettings(), clock) as clients:
        with pytest.raises(TransientModelError, match=r"no answer for 120 s"):
            await fetch(clients, post(server))
    assert clock.now() - started == pytest.approx(120)


async def test_no_chunk_for_three_minutes_is_a_stall_and_each_chunk_is_a_sign_of_life(clock: VirtualClock) -> None:
    async def answer(_request: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(chunked(end=False))
        for _ in range(4):
            await asyncio.sleep(170)
            writer.write(b"2\r\n:\n\r\n")
        await reader.read(1)

    started = clock.now()
    async with RawServer(answer) as server, HttpClients(HttpSettings(), clock) as clients:
        with pytest.raises(TransientModelError, match=r"no part of the reply for 180 s"):
            await fetch(clients, post(server))
    assert clock.now() - started == pytest.approx(4 * 170 + 180)


async def test_limits_that_are_off_wait_as_long_as_it_takes(clock: VirtualClock) -> None:
    async def answer(_request: Seen, _reader: Any, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(10_000)
        writer.write(whole(b"late"))
        return True

    settings = HttpSettings(header_timeout=None, chunk_timeout=None)
    async with RawServer(answer) as server, HttpClients(settings, clock) as clients:
        assert await fetch(clients, post(server)) == b"late"


async def test_cancellation_closes_the_socket_at_once(clock: VirtualClock) -> None:
    async with RawServer(silent) as server, HttpClients(HttpSettings(), clock) as clients:
        call = asyncio.ensure_future(fetch(clients, post(server)))
        await asyncio.sleep(1)
        started = clock.now()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.sleep(0.01)
        assert not server._tasks
    assert clock.now() - started < 0.5


@pytest.mark.parametrize("cut", [b"", b"HTTP/1.1 200", chunked(b"half", end=False), chunked(end=False) + b"40\r\nhalf of a chunk"])
async def test_a_connection_that_breaks_is_worth_another_try(cut: bytes, clock: VirtualClock) -> None:
    async with RawServer(says(cut, keep=False)) as server, HttpClients(HttpSettings(), clock) as clients:
        with pytest.raises(TransientModelError, match=r"127\.0\.0\.1") as caught:
            await fetch(clients, post(server))
    assert KEY not in str(caught.value)


async def test_nobody_listening_says_so_with_the_address(clock: VirtualClock) -> None:
    async with RawServer(silent) as server:
        port = server.port
    async with HttpClients(HttpSettings(), clock) as clients:
        with pytest.raises(TransientModelError, match=rf"No connection to http://127.0.0.1:{port}: Connection refused"):
            await fetch(clients, HttpRequest("POST", f"http://127.0.0.1:{port}/v1"))


async def test_a_redirect_is_not_followed_and_names_the_target(clock: VirtualClock) -> None:
    answer = says(whole(b"", "308 Permanent Redirect", "location: https://user:secret@elsewhere.test/v1"))
    async with RawServer(answer) as server, HttpClients(HttpSettings(), clock) as clients:
        with pytest.raises(ModelConfigurationError, match=r"redirects to https://\*\*\*@elsewhere\.test/v1") as caught:
            await fetch(clients, post(server))
    assert "secret" not in str(caught.value)


async def test_a_reply_compressed_unasked_is_read(clock: VirtualClock) -> None:
    body = b"data: x\n\n" * 100_000
    packed = gzip.compress(body)
    answer = says(chunked(*(packed[index : index + 100] for index in range(0, len(packed), 100)), headers="content-encoding: gzip\r\n"))
    async with RawServer(answer) as server, HttpClients(HttpSettings(), clock) as clients:
        assert await fetch(clients, post(server)) == body


async def test_a_bomb_is_given_up_and_an_error_page_is_cut(clock: VirtualClock) -> None:
    bomb = gzip.compress(bytes(300 * 1024 * 1024), compresslevel=1)
    async with RawServer(says(whole(bomb, "200 OK", "content-encoding: gzip"))) as server, HttpClients(HttpSettings(), clock) as clients:
        with pytest.raises(ModelGaveUp, match="128 MiB"):
            await read_to_the_end(clients, post(server))
        async with clients.send(post(server)) as reply:
            assert len(await reply.read_some()) == 64 * 1024


async def test_an_unknown_compression_is_given_up(clock: VirtualClock) -> None:
    async with RawServer(says(whole(b"x", "200 OK", "content-encoding: br"))) as server, HttpClients(HttpSettings(), clock) as clients:
        with pytest.raises(ModelGaveUp, match="'br'"):
            await fetch(clients, post(server))


async def test_a_broken_error_body_still_gives_what_arrived(clock: VirtualClock) -> None:
    cut = says(chunked(b"no such", end=False), keep=False)
    async with RawServer(cut) as server, HttpClients(HttpSettings(), clock) as clients, clients.send(post(server)) as reply:
        assert await reply.read_some() == b"no such"


async def test_an_error_body_that_never_ends_is_left_after_ten_seconds(clock: VirtualClock) -> None:
    async def answer(_request: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(chunked(b"no such", end=False))
        await reader.read(1)

    started = clock.now()
    async with RawServer(answer) as server, HttpClients(HttpSettings(), clock) as clients, clients.send(post(server)) as reply:
        assert await reply.read_some() == b"no such"
    assert clock.now() - started == pytest.approx(10)


@pytest.mark.parametrize(
    ("settings", "trusted"),
    [
        (HttpSettings(), False),
        (HttpSettings(ca_file=AUTHORITY), True),
        (HttpSettings(environ={"SSL_CERT_FILE": AUTHORITY}), True),
        (HttpSettings(environ={"REQUESTS_CA_BUNDLE": AUTHORITY}), True),
    ],
)
async def test_a_private_authority_is_trusted_where_it_is_named(settings: HttpSettings, trusted: bool, clock: VirtualClock) -> None:
    async with RawServer(says(whole(b"ok")), tls_server_context()) as server, HttpClients(settings, clock) as clients:
        request = post(server, scheme="https", host="localhost")
        if trusted:
            assert await fetch(clients, request) == b"ok"
            return
        with pytest.raises(ModelConfigurationError, match=r"not trusted.*the system's.*ca_file or in SSL_CERT_FILE"):
            await fetch(clients, request)


@pytest.mark.parametrize(("content", "reason"), [(None, "cannot be read"), (b"", "no certificate in PEM"), (b"not pem", "no certificate")])
async def test_a_bad_certificate_file_is_named_with_its_variable(
    content: bytes | None, reason: str, tmp_path: Path, clock: VirtualClock
) -> None:
    bundle = tmp_path / "bundle.pem"
    if content is not None:
        bundle.write_bytes(content)
    async with HttpClients(HttpSettings(environ={"SSL_CERT_FILE": str(bundle)}), clock) as clients:
        with pytest.raises(ModelConfigurationError, match=rf"bundle\.pem, named by SSL_CERT_FILE, .*{reason}"):
            await fetch(clients, HttpRequest("POST", "https://127.0.0.1:1/v1"))


async def test_plain_http_needs_no_certificates(clock: VirtualClock) -> None:
    settings = HttpSettings(environ={"SSL_CERT_FILE": "/nowhere.pem"})
    async with RawServer(says(whole(b"ok"))) as server, HttpClients(settings, clock) as clients:
        assert await fetch(clients, post(server)) == b"ok"


async def test_requests_to_other_hosts_go_through_the_proxy_and_loopback_never_does(clock: VirtualClock) -> None:
    async with RawServer(says(whole(b"by proxy"))) as proxy, RawServer(says(whole(b"direct"))) as server:
        environ = {"http_proxy": f"http://user:secret@127.0.0.1:{proxy.port}", "no_proxy": ".corp"}
        async with HttpClients(HttpSettings(environ=environ), clock) as clients:
            assert await fetch(clients, post(server)) == b"direct"
            assert await fetch(clients, HttpRequest("POST", "http://model.test/v1/x")) == b"by proxy"
    assert proxy.requests[0].path == "http://model.test/v1/x"
    assert proxy.requests[0].headers["proxy-authorization"].startswith("Basic ")


@pytest.mark.parametrize(("status", "kind"), [("407 Authentication Required", ModelConfigurationError), ("503 Busy", TransientModelError)])
async def test_a_proxy_that_refuses_is_named_without_its_password(status: str, kind: type[ModelError], clock: VirtualClock) -> None:
    async with RawServer(says(whole(b"", status))) as proxy:
        environ = {"HTTPS_PROXY": f"user:secret@127.0.0.1:{proxy.port}"}
        async with HttpClients(HttpSettings(environ=environ), clock) as clients:
            with pytest.raises(kind, match=rf"proxy http://\*\*\*@127\.0\.0\.1:{proxy.port}") as caught:
                await fetch(clients, HttpRequest("POST", "https://model.test/v1"))
    assert proxy.requests[0].path == "model.test:443"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "proxy", "said"),
    [
        ("ALL_PROXY", "socks5://user:secret@127.0.0.1:1", "SOCKS needs the package socksio"),
        ("all_proxy", "SOCKS5H://127.0.0.1:1", "SOCKS needs the package socksio"),
        ("HTTP_PROXY", "socks5://127.0.0.1:1", "SOCKS needs the package socksio"),
        ("http_proxy", ":::garbage", "not the address of an HTTP proxy"),
        ("http_proxy", "foo://user:secret@x", "not the address of an HTTP proxy"),
        ("http_proxy", "http://[half", "not the address of an HTTP proxy"),
        ("http_proxy", "http://proxy:99999", "not the address of an HTTP proxy"),
        ("http_proxy", "http://", "not the address of an HTTP proxy"),
    ],
)
async def test_a_proxy_that_cannot_be_used_names_its_variable(variable: str, proxy: str, said: str, clock: VirtualClock) -> None:
    async with HttpClients(HttpSettings(environ={variable: proxy}), clock) as clients:
        for trying in (clients.prepare("http://model.test/v1"), fetch(clients, HttpRequest("POST", "http://model.test/v1"))):
            with pytest.raises(ModelConfigurationError, match=rf"{said}.*unset {variable}, or add model\.test to NO_PROXY") as caught:
                await trying
            assert "secret" not in str(caught.value)


@pytest.mark.parametrize("excepting", [{"NO_PROXY": "model.test"}, {"HTTP_PROXY": "http://127.0.0.1:1"}])
async def test_an_unusable_proxy_that_does_not_apply_disturbs_nothing(excepting: dict[str, str], clock: VirtualClock) -> None:
    environ = {"ALL_PROXY": "socks5://127.0.0.1:1", "HTTPS_PROXY": "foo://x", **excepting}
    async with HttpClients(HttpSettings(environ=environ), clock) as clients:
        await clients.prepare("http://model.test/v1")
        with pytest.raises(TransientModelError, match="refused"):
            await fetch(clients, HttpRequest("POST", "http://127.0.0.1:1/v1"))


async def test_preparing_for_an_address_that_is_none_is_a_matter_of_configuration(clock: VirtualClock) -> None:
    async with HttpClients(HttpSettings(), clock) as clients:
        with pytest.raises(ModelConfigurationError, match="base URL"):
            await clients.prepare("http://[half")


@pytest.mark.parametrize("url", ["", "model.test/v1", "ftp://model.test", "http://", "http://model.test:abc", "http://[half"])
async def test_an_address_that_is_none_is_a_matter_of_configuration(url: str, clock: VirtualClock) -> None:
    async with HttpClients(HttpSettings(), clock) as clients:
        with pytest.raises(ModelConfigurationError, match="base URL"):
            await fetch(clients, HttpRequest("POST", url))


@pytest.mark.parametrize("key", ["sk-canary\r\nx: y", "sk-canary\n", "sk-canaré"])
async def test_a_key_no_header_can_carry_is_refused_without_being_shown(key: str, clock: VirtualClock) -> None:
    async with RawServer(says(whole(b"ok"))) as server, HttpClients(HttpSettings(), clock) as clients:
        with pytest.raises(ModelConfigurationError, match="characters HTTP does not allow") as caught:
            await fetch(clients, HttpRequest("POST", f"http://127.0.0.1:{server.port}/", {"authorization": f"Bearer {key}"}))
    assert "canar" not in "".join(traceback.format_exception(caught.value)).replace('"sk-canar', "").replace("key = ", "")


def library_errors() -> list[type[Exception]]:
    """Every exception httpx2 exports."""
    exported = [getattr(httpx2, name) for name in httpx2.__all__]
    return [item for item in exported if isinstance(item, type) and issubclass(item, Exception)]


@pytest.mark.parametrize("kind", library_errors(), ids=lambda kind: kind.__name__)
def test_every_error_of_the_library_has_a_meaning(kind: type[Exception]) -> None:
    error: Exception
    try:
        error = kind("words of the library")
    except TypeError:
        error = kind.__new__(kind)
    assert isinstance(error, TRANSPORT_ERRORS), f"{kind.__name__} would escape untranslated"
    meaning = translate(error, Place("http://model.test"))
    permanent = (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError)
    assert isinstance(meaning, ModelConfigurationError if issubclass(kind, permanent) else TransientModelError)


@pytest.mark.parametrize("handled", [ModelGaveUp("the cost limit"), KeyError("a key"), RuntimeError("our own trouble"), IndexError("pop")])
def test_what_was_being_handled_when_the_line_broke_is_no_cause_of_it(handled: Exception) -> None:
    error = httpx2.ReadError("")
    error.__context__ = handled  # the last words of a run are asked for while its end is handled
    assert str(translate(error, Place("http://model.test"))) == "The connection was lost to http://model.test."


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "is not proper HTTP."),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "is not proper HTTP."),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx", "is not proper HTTP: conflicting Content-Length headers."),
    ],
)
async def test_what_is_no_http_is_told_in_words_for_people(sent: bytes, told: str, clock: VirtualClock) -> None:
    async with RawServer(says(sent)) as server, HttpClients(HttpSettings(), clock) as clients:
        with pytest.raises(TransientModelError) as caught:
            await fetch(clients, post(server))
    assert told in str(caught.value)
    assert not re.search(r"bytearray|_SWITCH", str(caught.value))
