"""The one factory of HTTP clients: connections are kept, proxies and certificates are chosen once, silence is measured by the clock.

The library's client is left out: its transports alone give no cookies, no redirects and no reading of the environment behind our back.
"""

import ssl
import zlib
from bisect import bisect_left
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import field
from functools import lru_cache
from itertools import accumulate
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx2

from yagent._version import VERSION
from yagent.llm.engine import ModelConfigurationError, ModelGaveUp, TransientModelError
from yagent.llm.transport.failures import TRANSPORT_ERRORS, Place, stalled, translate
from yagent.llm.transport.routes import Certificates, Route, masked, route
from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.runtime.clock import Clock, Deadline

BLOCK_BYTES = 256 * 1024
ERROR_BODY_BYTES = 64 * 1024
REPLY_BYTES = 128 * 1024 * 1024
TURNS = 32  # of the event loop: as many as it takes to hear that a program has ended, and to start the next
_HEADER_VALUE = pattern(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?")
_REDIRECTS = {301, 302, 303, 307, 308}
_INFLATE = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """How the network is used. `environ` is where proxy and certificate variables are read; times in seconds, None for no limit.

    `keep_alive` is below the minute after which common balancers drop idle connections without a word. Source: decisions, "Timers" and
    "End of a stream".
    """

    ca_file: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    connect_timeout: float = 30.0
    header_timeout: float | None = 120.0
    chunk_timeout: float | None = 180.0
    drain_timeout: float = 0.1
    explanation_timeout: float = 10.0
    keep_alive: float = 55.0


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request whose body comes in pieces that are sent as they are. `headers` carry the credentials and are never shown."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Sequence[bytes] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long one exchange may wait: for each sign of life, and in all."""

    place: Place
    clock: Clock
    deadline: Deadline

    def at_most(self, silence: float | None) -> float | None:
        """Seconds the next wait may take."""
        left = self.deadline.remaining()
        if silence is None or left is None:
            return left if silence is None else silence
        return min(silence, left)

    def end_of(self, silence: float | None) -> float | None:
        """The moment at which a wait that begins now has to end."""
        return self.clock.deadline(silence).earlier(self.deadline).expires_at

    def passed(self, silence: float | None, waiting_for: str) -> TransientModelError:
        """The error of a wait that was too long."""
        if self.deadline.passed:
            return TransientModelError(f"The call to {self.place.shown} took longer than its time limit in all.")
        return stalled(self.place, silence, waiting_for)


class HttpReply:
    """A reply whose header has arrived. Header names are lower case."""

    def __init__(self, response: httpx2.Response, limits: Limits, settings: HttpSettings) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self._chunks = _body_of(response)
        self._limits = limits
        self._settings = settings
        self._inflate = _inflater(self.headers.get("content-encoding", ""), limits.place)
        self._received = 0

    async def read(self) -> bytes:
        """The next bytes of the body, decompressed; b"" at its end.

        Raises:
            TransientModelError: nothing came for `chunk_timeout`, the call's deadline passed, or the connection broke.
            ModelGaveUp: the body is larger than any reply can be.
        """
        try:
            async with self._limits.clock.timeout(self._limits.at_most(self._settings.chunk_timeout)):
                data = await self._next()
        except TimeoutError as error:
            raise self._limits.passed(self._settings.chunk_timeout, "part of the reply") from error
        except (*TRANSPORT_ERRORS, zlib.error) as error:
            raise translate(error, self._limits.place) from error
        self._received += len(data)
        if self._received > REPLY_BYTES:
            raise ModelGaveUp(f"The reply of {self._limits.place.shown} is larger than {REPLY_BYTES // 2**20} MiB; it cannot be used.")
        return data

    async def read_some(self, limit: int = ERROR_BODY_BYTES) -> bytes:
        """Up to `limit` bytes of the body: what arrived before it ended, broke or took too long. For replies that only explain."""
        parts, size = [], 0
        try:
            async with self._limits.clock.timeout(self._settings.explanation_timeout):
                while size < limit and (data := await self.read()):
                    parts.append(data)
                    size += len(data)
        except (TimeoutError, TransientModelError):
            pass  # the status is the news; a lost rest of its explanation is not
        return b"".join(parts)[:limit]

    async def drain(self) -> None:
        """After the protocol's end mark: read the HTTP end, so that the connection is kept; one that lingers is given up."""
        try:
            async with self._limits.clock.timeout(self._settings.drain_timeout):
                while await self._next():
                    pass
        except (TimeoutError, *TRANSPORT_ERRORS, zlib.error):
            pass  # the reply is complete; only the connection is lost, and it is closed on leaving

    async def _next(self) -> bytes:
        while True:
            if self._inflate is not None and self._inflate.unconsumed_tail:
                return self._inflate.decompress(self._inflate.unconsumed_tail, BLOCK_BYTES)
            raw = await anext(self._chunks, b"")
            if self._inflate is None or not raw:
                return raw
            if data := self._inflate.decompress(raw, BLOCK_BYTES):
                return data


class HttpClients:
    """All HTTP of a process. Use as `async with HttpClients(settings, clock) as clients`.

    A connection that is free is used again; a new one is opened only when none is, so there are never more than requests in flight.
    """

    def __init__(self, settings: HttpSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._transports: dict[Route, httpx2.AsyncHTTPTransport] = {}
        self._certificates = Certificates.choose(settings.ca_file, settings.environ)
        self._tls: ssl.SSLContext | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        transports, self._transports = list(self._transports.values()), {}
        for transport in transports:
            await transport.aclose()

    async def prepare(self, url: str) -> None:
        """Load and build what a first request to `url` takes, in pieces between which others have some turns; no connection is opened.

        Raises:
            ModelConfigurationError: see `send`.
        """
        _origin(url)
        way = route(url, self._settings.environ)
        self._transport(way)
        for _ in range(TURNS):
            await self._clock.sleep(0)
        async with httpx2.AsyncHTTPTransport(verify=self._context(way), trust_env=False):
            pass  # closing one loads the parts for asyncio, which a first connection would load otherwise

    @asynccontextmanager
    async def send(self, request: HttpRequest, deadline: Deadline | None = None) -> AsyncIterator[HttpReply]:
        """Send a request; the block has the reply. Leaving the block closes the connection unless the body was read to its end.

        No wait goes past `deadline`, the caller's own limit.

        Raises:
            TransientModelError: no connection, a lost one, or no header for `header_timeout` after the last bytes were taken.
            ModelConfigurationError: address, proxy, certificates or headers cannot work, or the server sends elsewhere.
        """
        origin = _origin(request.url)
        way = route(request.url, self._settings.environ)
        place = Place(origin, masked(way.proxy), self._certificates.shown)
        limits = Limits(place, self._clock, deadline or self._clock.deadline(None))
        response = await self._header(request, way, limits)
        try:
            if response.status_code in _REDIRECTS:
                raise _redirected(response, place)
            yield HttpReply(response, limits, self._settings)
        finally:
            await response.aclose()

    async def _header(self, request: HttpRequest, way: Route, limits: Limits) -> httpx2.Response:
        silence = self._settings.header_timeout
        try:
            async with self._clock.timeout(limits.at_most(silence)) as timer:
                body = _Body(request.body, lambda: timer.reschedule(limits.end_of(silence)))
                return await self._transport(way).handle_async_request(_wire_request(request, body, self._settings))
        except TimeoutError as error:
            raise limits.passed(silence, "answer") from error
        except TRANSPORT_ERRORS as error:
            raise translate(error, limits.place) from error

    def _transport(self, way: Route) -> httpx2.AsyncHTTPTransport:
        found = self._transports.get(way)
        if found is None:
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=self._settings.keep_alive)
            found = httpx2.AsyncHTTPTransport(
                verify=self._context(way), trust_env=False, limits=limits, proxy=httpx2.Proxy(way.proxy) if way.proxy else None
            )
            self._transports[way] = found
        return found

    def _context(self, way: Route) -> ssl.SSLContext:
        if way.secure or way.proxy.startswith("https:"):
            if self._tls is None:
                self._tls = self._certificates.context()
            return self._tls
        # Plain http needs no certificates; a context that trusts nobody costs nothing to build.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class _Body(httpx2.AsyncByteStream):
    """The pieces of a body in blocks: few system calls, and no second copy that grows with the conversation."""

    def __init__(self, pieces: Sequence[bytes], taken: Callable[[], None]) -> None:
        self._pieces = pieces
        self._taken = taken

    async def __aiter__(self) -> AsyncIterator[bytes]:
        ends = list(accumulate(map(len, self._pieces)))
        first = sent = 0
        while first < len(ends):
            after = bisect_left(ends, sent + BLOCK_BYTES, first) + 1
            yield b"".join(self._pieces[first:after])
            self._taken()
            first, sent = after, ends[min(after, len(ends)) - 1]


def _wire_request(request: HttpRequest, body: _Body, settings: HttpSettings) -> httpx2.Request:
    url = _parsed(request.url)
    headers = {
        "host": url.netloc.decode("ascii"),
        "user-agent": f"yagent/{VERSION}",
        "accept-encoding": "identity",
        **request.headers,
    }
    for name, value in headers.items():
        if not _HEADER_VALUE.fullmatch(value):
            # The library's own error would quote the value, which may be the key.
            raise ModelConfigurationError(f"The header {name!r} has characters HTTP does not allow: set it anew, as plain text.")
    if request.method != "GET":
        headers["content-length"] = str(sum(map(len, request.body)))
    extensions = {"timeout": {"connect": settings.connect_timeout}}
    return httpx2.Request(request.method, url, headers=headers, stream=body, extensions=extensions)


@lru_cache(maxsize=16)
def _parsed(url: str) -> httpx2.URL:
    return httpx2.URL(url)


def _body_of(response: httpx2.Response) -> AsyncIterator[bytes]:
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    return aiter(response.stream)


def _inflater(encoding: str, place: Place) -> "zlib._Decompress | None":
    """For servers that compress although `identity` was asked for."""
    encoding = encoding.strip().lower()
    if encoding in {"", "identity"}:
        return None
    if encoding not in _INFLATE:
        raise ModelGaveUp(f"{place.shown} compressed its reply as {encoding!r} although nobody asked; it cannot be read.")
    return zlib.decompressobj(_INFLATE[encoding])


def _redirected(response: httpx2.Response, place: Place) -> ModelConfigurationError:
    """Following would hand the key to an address nobody configured."""
    target = masked(response.headers.get("location", "another address"))
    return ModelConfigurationError(
        f"{place.shown} redirects to {target}: if that is right, make it the provider's base URL.", status=response.status_code
    )


def _origin(url: str) -> str:
    """Scheme, host and port, without credentials."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        parts, port = urlsplit(""), ""
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ModelConfigurationError(
            f"{masked(url)!r} is not an address that can be called: the base URL begins with http:// or https://."
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}"
