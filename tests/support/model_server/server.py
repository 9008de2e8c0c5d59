"""The strict model server: HTTP on loopback, three dialects, every request checked."""

import asyncio
import inspect
import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from tests.support.model_server import rules_chat, rules_messages, rules_responses
from tests.support.model_server.connection import Connection, HttpRequest
from tests.support.model_server.conversations import Conversation, Memory, advance, shared_bytes
from tests.support.model_server.plan import Plan, plan, whole
from tests.support.model_server.reply import Reply
from tests.support.model_server.rules import Refused, parse_body
from tests.support.model_server.scripts import Cast, Role, Script, ScriptError
from tests.support.model_server.view import Dialect, RequestView, view_of
from tests.support.model_server.wire import error_body
from yagent.protocol.messages import Usage

_PATHS: dict[str, Dialect] = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
_BYTES_PER_TOKEN = 4


@dataclass(slots=True)
class Exchange:
    """One request and what became of it. Times are seconds of the loop (virtual in tests) and of the machine."""

    number: int
    connection: int
    path: str
    headers: Mapping[str, str]
    raw: bytes
    at: float
    received: float
    dialect: Dialect | None = None
    view: RequestView | None = None
    status: int = 0
    sent: int = 0
    trouble: str = ""
    left_early: bool = False
    ended: float = 0.0


@dataclass(frozen=True, slots=True)
class Violation:
    """A request that broke a rule."""

    rule: str
    message: str
    exchange: int


@dataclass(slots=True)
class ModelServer:
    """A played model behind a real socket. Use as `async with ModelServer(script) as server`.

    Anything that breaks a rule is answered as a real provider would and kept in `violations`; `check()` raises on them. `tolerate` names
    rules whose breaking is what the test is about. `key` "" accepts any key. `models` are listed by GET /models.
    """

    script: Script | None = None
    tolerate: Collection[str] = ()
    key: str = ""
    models: Collection[str] = ("played-model",)
    exchanges: list[Exchange] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    connections: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0
    memory: Memory = field(default_factory=Memory)
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if isinstance(self.script, Cast):
            self.script.close()

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """The base URL as a user would configure it, with `/v1`."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def views(self) -> list[RequestView]:
        """The model requests in the order they came."""
        return [exchange.view for exchange in self.exchanges if exchange.view is not None]

    @property
    def open_connections(self) -> int:
        """Connections that neither side has closed."""
        return len(self._tasks)

    @property
    def kept(self) -> float:
        """The worst conversation's share of kept prefix; 1.0 is what there has to be."""
        return min((conversation.kept for conversation in self.memory.conversations), default=1.0)

    def play(self, roles: Mapping[str | tuple[str, str], Role]) -> None:
        """Answer by roles; see `Cast`."""
        self.script = Cast(roles)

    def check(self) -> None:
        """Fail on what was not tolerated."""
        serious = [f"request {item.exchange}: [{item.rule}] {item.message}" for item in self.violations if item.rule not in self.tolerate]
        assert not serious, "the model server saw broken rules:\n" + "\n".join(serious)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = Connection(self.connections, reader, writer)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while (request := await connection.receive()) is not None:
                if not await self._exchange(connection, request):
                    break
        except asyncio.CancelledError:
            pass  # the server closes; asyncio's own callback cannot bear a cancelled handler
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client left; its exchange says so
        finally:
            connection.abort()
            self._tasks.discard(task)

    async def _exchange(self, connection: Connection, request: HttpRequest) -> bool:
        now = asyncio.get_running_loop().time()
        exchange = Exchange(len(self.exchanges), connection.number, request.path, request.headers, request.body, now, time.monotonic())
        self.exchanges.append(exchange)
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        try:
            answer = await self._answer(exchange, request)
            exchange.status = answer.status
            return await connection.perform(answer, exchange)
        finally:
            self.in_flight -= 1
            exchange.ended = asyncio.get_running_loop().time()

    async def _answer(self, exchange: Exchange, request: HttpRequest) -> Plan:
        path = request.path.split("?", 1)[0]
        if request.method == "GET" and path.endswith("/models"):
            return self._models(exchange)
        dialect = next((found for tail, found in _PATHS.items() if path.endswith(tail)), None)
        if dialect is None or request.method != "POST":
            return whole(404, "application/json", b'{"error":{"message":"Not Found","type":"invalid_request_error"}}')
        exchange.dialect = dialect
        if self.key and self.key not in _keys(request.headers):
            return whole(401, "application/json", error_body(dialect, 401, "Incorrect API key provided"))
        try:
            view = self._judge(dialect, exchange)
        except Refused as refusal:
            self.violations.append(Violation(refusal.rule, str(refusal), exchange.number))
            return whole(400, "application/json", error_body(dialect, 400, str(refusal)))
        return await self._reply(view, exchange)

    def _judge(self, dialect: Dialect, exchange: Exchange) -> RequestView:
        if "application/json" not in exchange.headers.get("content-type", ""):
            raise Refused("headers", "content-type must be application/json")
        body = parse_body(exchange.raw)
        view = view_of(dialect, body)
        if dialect == "chat":
            rules_chat.check(body)
        elif dialect == "responses":
            rules_responses.check(body, self.memory.signatures)
        else:
            rules_messages.check(body, exchange.headers, self.memory.signatures, self.memory.peek_paused(view))
        exchange.view = view
        return view

    async def _reply(self, view: RequestView, exchange: Exchange) -> Plan:
        conversation = self.memory.find(view)
        repeated = conversation.segments == view.segments and not conversation.settled
        usage_cached = shared_bytes(conversation, view)
        try:
            advance(conversation, view)
        except Refused as refusal:
            # Providers accept a changed past and charge for it, so the run goes on and the test fails at its end.
            self.violations.append(Violation(refusal.rule, str(refusal), exchange.number))
        try:
            reply = await self._next(conversation, view, repeated=repeated)
        except AssertionError as error:  # of a script, or of a check the script makes
            self.violations.append(Violation("script", str(error), exchange.number))
            return whole(400, "application/json", error_body(view.dialect, 400, f"script: {error}"))
        trouble = reply.chaos[conversation.attempt] if conversation.attempt < len(reply.chaos) else None
        exchange.trouble = trouble.kind if trouble else ""
        made = plan(view.dialect, reply, _usage(reply, view, usage_cached), exchange.number, trouble)
        conversation.settled = made.delivers
        conversation.attempt += 1
        self.memory.issue(reply)
        return made

    async def _next(self, conversation: Conversation, view: RequestView, *, repeated: bool) -> Reply:
        if repeated and conversation.reply is not None:
            return conversation.reply
        if self.script is None:
            raise ScriptError("the server has no script")
        said = self.script(view)
        conversation.reply = await said if inspect.isawaitable(said) else said
        conversation.attempt = 0
        return conversation.reply

    def _models(self, exchange: Exchange) -> Plan:
        listed = [{"id": name, "object": "model", "type": "model", "display_name": name} for name in self.models]
        exchange.status = 200
        body: dict[str, Any] = {"object": "list", "data": listed, "has_more": False}
        return whole(200, "application/json", json.dumps(body).encode(), delivers=True)


def _keys(headers: Mapping[str, str]) -> set[str]:
    return {headers.get("x-api-key", ""), headers.get("authorization", "").removeprefix("Bearer ")}


def _usage(reply: Reply, view: RequestView, cached: int) -> Usage | None:
    if reply.usage != "measured":
        return reply.usage
    total = sum(len(part.encode()) for part in view.segments) // _BYTES_PER_TOKEN
    words = len(reply.text) + len(reply.reasoning) + sum(len(str(item.arguments)) for item in reply.calls)
    return Usage(total, max(1, words // _BYTES_PER_TOKEN), cached // _BYTES_PER_TOKEN, None, len(reply.reasoning) // _BYTES_PER_TOKEN)
