"""The HTTP engine in each dialect, over real HTTP, in virtual time."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from datetime import timedelta
from email.utils import format_datetime

import pytest

from tests.llm.conftest import EngineMaker, ask, dialogue, events_of
from tests.llm.raw_server import RawServer, says, whole
from tests.support.model_server import Call, Chaos, ModelServer, Reply, status
from tests.support.model_server.reply import ChaosKind
from tests.support.virtual_time import EPOCH, VirtualClock
from yagent.llm.endpoint import Endpoint
from yagent.llm.engine import (
    CallOptions,
    Completed,
    ContextTooLong,
    ModelConfigurationError,
    ModelError,
    ModelGaveUp,
    RateLimited,
    ReasoningDelta,
    Retrying,
    Sent,
    TextDelta,
    TransientModelError,
)
from yagent.llm.http_engine import EngineSettings
from yagent.llm.inflight import InFlightGate
from yagent.llm.retry import RetrySettings
from yagent.protocol.messages import ToolResult, result_message

NO_RETRY = EngineSettings(retry=RetrySettings(max_retries=0))


async def test_a_reply_streams_and_completes(api_format: str, make_engine: EngineMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text="größer als gedacht", reasoning="let me see", piece=3)]})
    events = await events_of(dialogue(make_engine(api_format)))
    assert isinstance(events[0], Sent)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "größer als gedacht"
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "let me see"
    done = events[-1]
    assert isinstance(done, Completed)
    assert (done.message.text, done.finish, done.model) == ("größer als gedacht", "stop", "played-model")
    assert done.usage is not None
    assert done.usage.total_input is not None


async def test_a_conversation_goes_on_with_its_prefix_kept_on_one_connection(
    api_format: str, make_engine: EngineMaker, model_server: ModelServer
) -> None:
    lines = [Reply(text=f"step {n}", reasoning="hm", calls=[Call("read_file", {"path": f"f{n}"})]) for n in range(5)]
    model_server.play({"Director": [*lines, "done"]})
    opened = dialogue(make_engine(api_format))
    for _ in lines:
        done = (await events_of(opened))[-1]
        assert isinstance(done, Completed)
        opened.append(done.message)
        opened.append(result_message(*(ToolResult(call.id, call.name, f"text of {call.arguments}") for call in done.message.calls)))
    last = (await events_of(opened))[-1]
    assert isinstance(last, Completed)
    assert last.message.text == "done"
    assert (model_server.connections, model_server.kept, len(model_server.views)) == (1, 1.0, 6)


TROUBLES = [
    Chaos("reset_before_headers"),
    Chaos("reset_mid_stream"),
    Chaos("close_mid_stream"),
    Chaos("reset_mid_character"),
    Chaos("end_without_mark"),
    Chaos("hang_before_headers"),
    Chaos("hang_mid_stream"),
    Chaos("error_in_stream"),
    Chaos("error_in_stream", share=0.0, code=429),
    Chaos("error_in_stream", code=529, message="Overloaded"),
    status(408),
    status(409),
    status(429),
    status(500),
    status(503, body=b"<html>Service Unavailable</html>"),
    status(529),
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: f"{trouble.kind}-{trouble.status}-{trouble.code}")
async def test_trouble_is_tried_again_and_what_came_before_is_void(
    trouble: Chaos, api_format: str, make_engine: EngineMaker, model_server: ModelServer
) -> None:
    text = "Wörter, die nur einmal kommen dürfen. " * 5
    model_server.play({"Director": ["here"]})
    engine = make_engine(api_format)
    await ask(engine, "other")  # with a server that was reached before there is patience
    model_server.play({"Director": [Reply(text=text, chaos=(trouble, trouble))]})
    events = await events_of(dialogue(engine))
    retries = [event for event in events if isinstance(event, Retrying)]
    assert [event.attempt for event in retries] == [1, 2]
    assert sum(isinstance(event, Sent) for event in events) == 3
    after = events[events.index(retries[-1]) :]
    assert "".join(event.text for event in after if isinstance(event, TextDelta)) == text
    assert isinstance(events[-1], Completed)
    assert events[-1].message.text == text


@pytest.mark.parametrize("kind", ["keep_alives", "open_after_end", "wrong_content_type"])
async def test_oddities_that_deliver_are_no_trouble(
    kind: ChaosKind, api_format: str, make_engine: EngineMaker, model_server: ModelServer
) -> None:
    trouble = Chaos(kind, seconds=170.0, count=4)
    model_server.play({"Director": [Reply(text="good", chaos=(trouble,))]})
    assert (await ask(make_engine(api_format))).message.text == "good"
    assert len(model_server.exchanges) == 1


async def test_what_never_gets_better_ends_with_the_last_error(
    api_format: str, make_engine: EngineMaker, model_server: ModelServer
) -> None:
    model_server.play({"Director": [Reply(text="x", chaos=(status(500),) * 9)]})
    with pytest.raises(TransientModelError, match=r"played: .*500.*6 attempts failed\."):
        await ask(make_engine(api_format))
    assert len(model_server.exchanges) == 6


async def test_a_server_that_never_replied_is_tried_once_more_and_then_told_with_what_to_check(
    make_engine: EngineMaker, model_server: ModelServer, clock: VirtualClock
) -> None:
    model_server.play({"Director": [Reply(text="x", chaos=(Chaos("reset_before_headers"),) * 9)]})
    started = clock.now()
    with pytest.raises(TransientModelError, match=r" 2 attempts failed\. Check the network, a proxy, and the base URL http://127"):
        await ask(make_engine())
    assert (len(model_server.exchanges), 10 <= clock.now() - started < 13) == (2, True)


async def test_retries_that_are_off_send_one_request(api_format: str, make_engine: EngineMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text="x", chaos=(status(500),))]})
    with pytest.raises(TransientModelError):
        await ask(make_engine(api_format, NO_RETRY))
    assert len(model_server.exchanges) == 1


@pytest.mark.parametrize(
    "trouble", [status(500), Chaos("reset_before_headers"), Chaos("close_mid_stream"), Chaos("error_in_stream")], ids=lambda it: it.kind
)
async def test_a_short_time_limit_leaves_no_room_for_a_second_request(
    trouble: Chaos, make_engine: EngineMaker, model_server: ModelServer, clock: VirtualClock
) -> None:
    model_server.play({"Director": [Reply(text="x", chaos=(trouble,))]})
    started = clock.now()
    with pytest.raises(TransientModelError, match="only 5 s of the call's time limit are left"):
        await ask(make_engine(settings=EngineSettings(timeout=5.0)))
    assert (len(model_server.exchanges), clock.now() - started < 1) == (1, True)


async def test_the_time_limit_covers_a_stream_that_trickles(
    make_engine: EngineMaker, model_server: ModelServer, clock: VirtualClock
) -> None:
    model_server.play({"Director": [Reply(text="word " * 200, pace=100.0)]})
    started = clock.now()
    with pytest.raises(TransientModelError, match="longer than its time limit in all"):
        await ask(make_engine())
    assert clock.now() - started == pytest.approx(900)


@pytest.mark.parametrize(
    ("headers", "least"),
    [
        ({"retry_after": "2"}, 2.0),
        ({"retry_after": format_datetime(EPOCH + timedelta(seconds=60), usegmt=True)}, 59.0),
        ({"retry_after_ms": "1500"}, 1.5),
        ({}, 10.0),
    ],
)
async def test_a_wait_the_server_asked_for_is_kept(
    headers: dict[str, str], least: float, make_engine: EngineMaker, model_server: ModelServer
) -> None:
    refused = status(429, body=None, **headers)
    model_server.play({"Director": [Reply(text="x", chaos=(refused, refused))]})
    await ask(make_engine())
    gaps = [later.at - earlier.at for earlier, later in zip(model_server.exchanges, model_server.exchanges[1:], strict=False)]
    if "GMT" in str(headers):
        gaps = gaps[:1]  # the second answer names the same moment, which has passed
    assert all(gap >= least for gap in gaps), gaps


async def test_a_wait_that_is_too_long_is_not_begun(make_engine: EngineMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text="x", chaos=(status(429, retry_after="7200"),))]})
    with pytest.raises(RateLimited, match="asks to wait 7200 s"):
        await ask(make_engine())


async def test_a_wait_is_left_at_once_when_cancelled(make_engine: EngineMaker, model_server: ModelServer, clock: VirtualClock) -> None:
    model_server.play({"Director": [Reply(text="x", chaos=(status(429, retry_after="60"),))]})
    call = asyncio.ensure_future(ask(make_engine()))
    await asyncio.sleep(5)
    started = clock.now()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert clock.now() - started < 0.5


QUOTA = json.dumps({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}).encode()
LENGTH = json.dumps({"error": {"message": "prompt is too long: 1200 tokens > 1000 maximum", "type": "invalid_request_error"}}).encode()


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (status(429, body=QUOTA), ModelGaveUp),
        (status(400, body=LENGTH), ContextTooLong),
        (status(413), ContextTooLong),
        (status(401), ModelConfigurationError),
        (status(403), ModelConfigurationError),
        (status(404), ModelConfigurationError),
        (status(400), ModelConfigurationError),
    ],
)
async def test_what_another_try_cannot_help_is_asked_once(
    trouble: Chaos, kind: type[ModelError], api_format: str, make_engine: EngineMaker, model_server: ModelServer
) -> None:
    model_server.play({"Director": [Reply(text="x", chaos=(trouble,) * 3)]})
    with pytest.raises(kind):
        await ask(make_engine(api_format))
    assert len(model_server.exchanges) == 1


async def test_a_refused_key_is_named_by_its_source_and_never_shown(make_engine: EngineMaker, model_server: ModelServer) -> None:
    model_server.key = "sk-right-0123456"
    for key, said in (("sk-canary-0123", "The key came from the variable PLAYED_API_KEY"), ("", "No key was sent")):
        with pytest.raises(ModelConfigurationError, match=said) as caught:
            await ask(make_engine(key=key))
        assert "canary" not in str(caught.value)
    model_server.play({"Director": ["in"]})
    assert (await ask(make_engine(key="sk-right-0123456"))).message.text == "in"


async def test_a_missing_model_is_named_with_the_address(make_engine: EngineMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text="x", chaos=(status(404),))]})
    with pytest.raises(ModelConfigurationError, match=r"'played-model' at http://127\.0\.0\.1:\d+/v1/chat/completions"):
        await ask(make_engine())


async def test_a_web_page_is_a_wrong_address_at_first_and_a_bad_moment_later(make_engine: EngineMaker, model_server: ModelServer) -> None:
    page = Chaos("html_page")
    model_server.play({"Director": [Reply(text="a", chaos=(page,))]})
    engine = make_engine()
    with pytest.raises(ModelConfigurationError, match="web page"):
        await ask(engine)
    assert (await ask(engine)).message.text == "a"
    model_server.play({"Director": [Reply(text="b", chaos=(page,))]})
    assert (await ask(engine, "other")).message.text == "b"


UNSUPPORTED = [
    {
        "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "type": "invalid_request_error",
        "param": "max_tokens",
        "code": "unsupported_parameter",
    },
    {
        "message": "Unsupported value: 'temperature' does not support 0.2 with this model.",
        "param": "temperature",
        "code": "unsupported_value",
    },
]


@pytest.mark.parametrize("error", UNSUPPORTED, ids=lambda error: str(error["param"]))
async def test_a_parameter_the_server_names_is_changed_once_and_remembered(
    error: dict[str, str], make_engine: EngineMaker, model_server: ModelServer
) -> None:
    refused = status(400, body=json.dumps({"error": error}).encode())
    engine = make_engine()
    opened = dialogue(engine)
    model_server.play({"Director": [Reply(text="one", chaos=(refused,))]})
    first = (await events_of(opened, CallOptions(max_output_tokens=100, temperature=0.2)))[-1]
    assert isinstance(first, Completed)
    assert len(model_server.exchanges) == 2
    assert model_server.exchanges[0].raw != model_server.exchanges[1].raw
    model_server.play({"Director": ["two"]})
    other = await events_of(dialogue(engine, "another"), CallOptions(max_output_tokens=100, temperature=0.2))
    assert isinstance(other[-1], Completed)
    assert len(model_server.exchanges) == 3


async def test_no_more_calls_at_once_than_the_gate_lets_through(make_engine: EngineMaker, model_server: ModelServer) -> None:
    async def script(_view: object) -> Reply:
        return Reply(text="x" * 100, pace=1.0, chaos=())

    model_server.script = script
    engine = make_engine()
    await asyncio.gather(*(ask(engine, f"task {n}") for n in range(20)))
    assert (model_server.peak_in_flight, model_server.connections) == (8, 8)


async def test_a_retry_keeps_its_slot_and_takes_no_second_one(
    make_engine: EngineMaker, model_server: ModelServer, gate: InFlightGate
) -> None:
    model_server.script = lambda view: Reply(text="x", chaos=(status(500),))
    call = asyncio.ensure_future(ask(make_engine()))
    await asyncio.sleep(5)
    assert gate.in_flight == 1
    await call
    assert gate.in_flight == 0


async def test_waiting_for_a_slot_does_not_count_against_the_time_limit(
    make_engine: EngineMaker, model_server: ModelServer, gate: InFlightGate, clock: VirtualClock
) -> None:
    model_server.script = lambda view: Reply(text="x")
    engine = make_engine(settings=EngineSettings(timeout=5.0))
    async with gate.slot(), gate.slot(), gate.slot(), gate.slot(), gate.slot(), gate.slot(), gate.slot(), gate.slot():
        call = asyncio.ensure_future(ask(engine))
        await asyncio.sleep(100)
        assert not model_server.exchanges
    assert (await call).message.text == "x"


async def test_leaving_a_stream_early_frees_the_slot_and_closes_the_connection(
    make_engine: EngineMaker, model_server: ModelServer, gate: InFlightGate
) -> None:
    model_server.script = lambda view: Reply(text="word " * 100, pace=1.0)
    async with aclosing(dialogue(make_engine()).stream(CallOptions())) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    assert gate.in_flight == 0
    await asyncio.sleep(2)
    assert model_server.exchanges[0].left_early


async def test_a_whole_json_reply_is_taken_where_a_stream_was_asked_for(make_engine: EngineMaker) -> None:
    message = {"role": "assistant", "content": "whole"}
    body = {"id": "x", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    async with RawServer(says(whole(b"\n" + json.dumps(body).encode(), "200 OK", "content-type: application/json"))) as server:
        reply = await ask(make_engine(base_url=f"http://127.0.0.1:{server.port}/v1"))
    assert reply.message.text == "whole"


@pytest.mark.parametrize(
    ("api_format", "base", "path", "url"),
    [
        ("openai", "https://h/v1", "/chat/completions", "https://h/v1/chat/completions"),
        ("openai", "https://h/v1/", "/chat/completions", "https://h/v1/chat/completions"),
        ("openai", " https://h ", "/chat/completions", "https://h/v1/chat/completions"),
        ("openai", "https://h/api/paas/v4", "/chat/completions", "https://h/api/paas/v4/chat/completions"),
        ("openai", "https://h/openai", "/chat/completions", "https://h/openai/chat/completions"),
        ("openai", "https://h/v1/chat/completions", "/chat/completions", "https://h/v1/chat/completions"),
        ("openai", "https://h/v1/chat/completions", "/models", "https://h/v1/models"),
        ("openai", "https://h/chat/completions", "/chat/completions", "https://h/chat/completions"),
        ("openai", "https://h/v1?api-version=3", "/chat/completions", "https://h/v1/chat/completions?api-version=3"),
        ("responses", "https://h/v1/chat/completions", "/responses", "https://h/v1/responses"),
        ("anthropic", "https://h", "/messages", "https://h/v1/messages"),
        ("anthropic", "https://h/", "/messages", "https://h/v1/messages"),
        ("anthropic", "https://h/v1", "/messages", "https://h/v1/messages"),
        ("anthropic", "https://h/v1/messages", "/messages", "https://h/v1/messages"),
        ("anthropic", "https://h/anthropic", "/messages", "https://h/anthropic/v1/messages"),
        ("anthropic", "https://h/anthropic/v1/", "/models", "https://h/anthropic/v1/models"),
    ],
)
def test_an_address_is_understood_however_it_was_written(api_format: str, base: str, path: str, url: str) -> None:
    assert Endpoint("p", base, api_format).url(path) == url
