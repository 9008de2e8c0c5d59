"""What a record must be good for: the conversation it gives back is byte for byte the one that was sent, and a session goes on from it."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.llm.wire import FORMATS, chat_stream, messages_stream, responses_stream
from tests.support.command_line import CommandLine, Ended, ended, until
from tests.support.model_server import Call, Chaos, ModelServer, Reply, RequestView, call, hand_over
from tests.support.session import Sessions
from yagent.llm.dialects.port import Encoder, WireModel, WireSettings
from yagent.llm.dialects.table import dialect_for
from yagent.llm.engine import CallOptions, Head
from yagent.llm.quirks_table import quirks_for
from yagent.protocol.messages import Message, ModelIdentity
from yagent.rollout.reader import Account, read
from yagent.rollout.records import ResponseItem

READ = {"path": "notes.txt"}
SIGNATURES = {"QUJD": "", "REVG": "naïve — step \n", "ENC": ""}

THINKING = messages_stream(
    {"type": "thinking", "thinking": "", "signature": "QUJD"},
    {"type": "redacted_thinking", "data": "ZW5j"},
    {"type": "thinking", "thinking": "naïve — step \n", "signature": "REVG"},
    {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": READ},
    stop_reason="tool_use",
)
FUNCTION = {"name": "read_file", "arguments": json.dumps(READ)}
SIGNED = chat_stream(
    {"reasoning_content": "need the file"},
    {"tool_calls": [{"index": 0, "id": "functions.read_file:0", "type": "function", "function": FUNCTION,
                     "extra_content": {"google": {"thought_signature": "QUJDRA=="}}}]},
    finish_reason="tool_calls",
)  # fmt: skip
ITEMS = responses_stream(
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read_file", "arguments": json.dumps(READ)},
)
MALFORMED = Reply(text="é", calls=[Call("read_file", '{"path": "a'), Call("Read File", READ), Call("", "[1]")])
FIRST: dict[str, tuple[str, Reply]] = {
    "A09_A10 thinking": ("anthropic", Reply(raw=THINKING)),
    "A06_A24_A36 reasoning, extra fields and ids": ("openai", Reply(raw=SIGNED)),
    "A25 reasoning items": ("responses", Reply(raw=ITEMS)),
    **{f"A23_A37 what was malformed, {api_format}": (api_format, MALFORMED) for api_format in FORMATS},
}


def _messages(path: Path) -> list[Message]:
    """The conversation on a record, every line of which can be read."""
    account = Account()
    messages = [entry.record.message for entry in read(path, account) if isinstance(entry.record, ResponseItem)]
    assert account.count == 0, account.skipped
    return messages


def _encoder(api_format: str, system: str, provider: str = "environment", model: str = "played-model") -> Encoder:
    identity = ModelIdentity(provider, model, api_format)
    quirks = replace(quirks_for(api_format, "127.0.0.1", model), cache_marks=False)
    return dialect_for(api_format).encoder(Head("c", system), WireModel(identity, WireSettings(), quirks))


def _sent(encoder: Encoder, messages: list[Message]) -> list[Any]:
    for message in messages:
        encoder.append(message)
    body = json.loads(b"".join(encoder.body(CallOptions())))
    return list(body.get("input") or body["messages"])


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_marks(inner) for name, inner in value.items() if name != "cache_control"}
    return [_without_marks(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("api_format", "first"), FIRST.values(), ids=FIRST)
async def test_A06_A09_A10_A23_A24_A25_A36_A37_a_record_gives_back_the_conversation_that_was_sent(
    sessions: Sessions, model_server: ModelServer, api_format: str, first: Reply
) -> None:
    model_server.memory.signatures |= SIGNATURES
    model_server.play({"are the Director": [first, "one answer"]})
    async with sessions.open(api_format=api_format) as opened:
        assert (await opened.do("one")).answer == "one answer"
        model_server.play({"are the Director": ["two answers"]})
        assert (await opened.do("two")).answer == "two answers"
    (path,) = sessions.home.glob(".yagent/data/rollout/**/*.jsonl")
    last = model_server.views[-1]
    messages = _messages(path)
    assert messages[-1].text == "two answers"
    sent = last.body.get("input") or last.body["messages"]
    rebuilt = _sent(_encoder(api_format, last.system), messages[:-1])
    if api_format == "anthropic":
        rebuilt, sent = _in_blocks(rebuilt), _in_blocks(list(sent))
    assert json.dumps(rebuilt) == json.dumps(_without_marks(sent))


def _in_blocks(messages: list[Any]) -> list[Any]:
    """Content as a list, which is how marks make it."""
    return [
        {**each, "content": [{"type": "text", "text": each["content"]}] if isinstance(each["content"], str) else each["content"]}
        for each in messages
    ]


async def test_A10_A24_a_record_read_for_another_model_holds_nothing_that_only_the_first_can_read(
    sessions: Sessions, model_server: ModelServer
) -> None:
    model_server.memory.signatures |= SIGNATURES
    model_server.play({"are the Director": [FIRST["A09_A10 thinking"][1], "answer"]})
    async with sessions.open(api_format="anthropic") as opened:
        await opened.do("one")
    (path,) = sessions.home.glob(".yagent/data/rollout/**/*.jsonl")
    messages = [*_messages(path), Message("user", _messages(path)[0].parts)]
    for api_format, model in (("anthropic", "another"), ("openai", "played-model"), ("responses", "played-model")):
        raw = json.dumps(_sent(_encoder(api_format, "You are careful.", model=model), messages))
        assert not any(trace in raw for trace in ("QUJD", "ZW5j", "REVG", "na\\u00efve"))


# --- from here on: continuing


KILLED_AT: dict[str, tuple[Reply, Callable[[CommandLine, ModelServer], object]]] = {
    "while the model speaks": (Reply(text="half", chaos=[Chaos("hang_mid_stream")]), lambda line, server: server.in_flight),
    "in a tool": (
        Reply(calls=[Call("run_bash", {"command": "touch effect; sleep 60", "timeout": 90})]),
        lambda line, server: (line.workspace / "effect").exists(),
    ),
    "in the first of three": (
        Reply(
            calls=[
                Call("run_bash", {"command": "touch effect; sleep 60", "timeout": 90}),
                Call("read_file", READ),
                Call("run_bash", {"command": "touch second"}),
            ]
        ),
        lambda line, server: (line.workspace / "effect").exists(),
    ),
    "in the last of three": (
        Reply(
            calls=[
                Call("read_file", READ),
                Call("read_file", READ),
                Call("run_bash", {"command": "touch effect; sleep 60", "timeout": 90}),
            ]
        ),
        lambda line, server: (line.workspace / "effect").exists(),
    ),
}


async def _killed(yagent: CommandLine, server: ModelServer, moment: str, api_format: str = "openai") -> str:
    """Kill a run at that moment, as hard as can be; its session."""
    reply, when = KILLED_AT[moment]
    yagent.talks_to(server.url, api_format)
    server.play({"are the Director": [call("delegate_coding", task="work")], "are Coding": [reply]})
    process = await yagent.start("-p", "the first task", "-Y")
    await until(lambda: any(view.identity.startswith("You are Coding") for view in server.views) and when(yagent, server))
    process.send_signal(signal.SIGKILL)
    await ended(process)
    return _session(yagent)


def _records(yagent: CommandLine) -> list[Path]:
    return sorted(yagent.data.glob("data/rollout/**/*.jsonl"))


def _session(yagent: CommandLine) -> str:
    return str(json.loads(_records(yagent)[0].read_text().splitlines()[0])["payload"]["session"])


def _answered(view: RequestView) -> list[tuple[str, int]]:
    """How many results each call of a request has."""
    results = [result.call_id for entry in view.entries for result in entry.results]
    return [(seen.id, results.count(seen.id)) for entry in view.entries for seen in entry.calls]


@pytest.mark.real_time
@pytest.mark.slow
@pytest.mark.parametrize("moment", KILLED_AT)
async def test_J06_what_a_killed_run_leaves_can_be_read_and_holds_every_call_that_had_an_effect(
    yagent: CommandLine, model_server: ModelServer, moment: str
) -> None:
    await _killed(yagent, model_server, moment)
    told = {call_made.name for path in _records(yagent) for message in _messages(path) for call_made in message.calls}
    assert "delegate_coding" in told
    assert ("run_bash" in told) is (yagent.workspace / "effect").exists()
    assert not (yagent.workspace / "second").exists()
    for path in _records(yagent):
        results = [result.call_id for message in _messages(path) for result in message.results]
        assert len(results) == len(set(results))


async def resumed(yagent: CommandLine, server: ModelServer, *arguments: str) -> Ended:
    """Go on with a session; the model says that it does."""
    server.script = lambda view: hand_over("going on") if "are Coding" in view.identity else Reply(text="going on")
    result = await yagent.run("-p", "go on", "-Y", *arguments)
    assert (result.code, result.answer.strip()) == (0, "going on"), result.told
    return result


@pytest.mark.real_time
@pytest.mark.slow
@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("moment", KILLED_AT)
async def test_J06_A08_a_killed_session_goes_on_with_one_result_for_each_call_however_often(
    yagent: CommandLine, model_server: ModelServer, moment: str, api_format: str
) -> None:
    session = await _killed(yagent, model_server, moment, api_format)
    histories = []
    for _ in range(2):
        await resumed(yagent, model_server, "--resume", session)
        histories.append(_answered(model_server.views[-1]))
        assert all(count == 1 for _, count in histories[-1])
    assert histories[0] == histories[1][: len(histories[0])]
    assert not (yagent.workspace / "second").exists(), "nothing is executed by resuming"


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "the last line cut": (lambda data: data[:-1][: data[:-1].rfind(b"\n") + 38], "38 bytes skipped (damaged)"),
    "zero bytes behind": (lambda data: data + b"\0" * 4096, "4097 bytes skipped (zero bytes)"),
    "empty lines behind": (lambda data: data + b"\n\n\n", ""),
    "a character cut": (
        lambda data: data + '{"type":"response_item","payload":"é'.encode()[:-1],
        "37 bytes skipped (damaged)",
    ),
    "a bad line in the middle": (lambda data: data.replace(b"\n", b'\n{"type":"x"\n', 3), "line 2: 12 bytes skipped (damaged)"),
    "a line doubled": (lambda data: b"".join(line * 2 for line in data.splitlines(keepends=True)), "a second record 1 dropped"),
}


async def interrupted(yagent: CommandLine, server: ModelServer) -> str:
    """A task of one call that ended in order; its session."""
    server.play({"are the Director": [call("read_file", path="notes.txt"), "the first answer"]})
    result = await yagent.run("-p", "the first task", "--output", "json")
    assert result.code == 0
    return str(result.document["session"])


@pytest.mark.real_time
@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
async def test_J06_a_damaged_record_is_taken_up_with_a_notice(yagent: CommandLine, model_server: ModelServer, damage: str) -> None:
    session = await interrupted(yagent, model_server)
    (path,) = _records(yagent)
    damaged, notice = DAMAGE[damage]
    path.write_bytes(damaged(path.read_bytes()))
    result = await resumed(yagent, model_server, "--resume", session)
    assert "first task" in model_server.views[-1].task
    assert _answered(model_server.views[-1]) == [("call_0_0", 1)]
    assert f"The record of session {session}: {path.name}" in result.told or not notice
    assert notice in result.told
    assert ("skipped" in result.told or "dropped" in result.told) is bool(notice)


@pytest.mark.real_time
@pytest.mark.slow
@pytest.mark.parametrize("way", ["new words", "the newest, new words", "going on"])
async def test_J06_a_session_that_is_open_in_another_process_is_refused(yagent: CommandLine, model_server: ModelServer, way: str) -> None:
    model_server.script = lambda view: Reply(text="never", chaos=[Chaos("hang_before_headers")])
    first = await yagent.start("-p", "the first task")
    try:
        await until(lambda: model_server.in_flight)
        session = _session(yagent)
        (path,), before = _records(yagent), _records(yagent)[0].read_bytes()
        ways = {"new words": ("-p", "go on", "--resume", session), "going on": ("resume", session)}
        second = await yagent.run(*ways.get(way, ("-p", "go on", "--continue")))
        assert (second.code, second.answer) == (2, "")
        assert ("open in another process" if "newest" in way else f"Session {session} is open") in second.told
        assert _records(yagent) == [path]
        more = path.read_bytes().removeprefix(before)
        assert not {"session_continued", "session_resumed"} & {json.loads(line)["payload"].get("name") for line in more.splitlines()}
        assert len(model_server.exchanges) == 1
    finally:
        first.kill()
        await ended(first)


@pytest.mark.real_time
@pytest.mark.slow
@pytest.mark.parametrize("empty", [Reply(), Reply(reasoning="only thoughts")], ids=["nothing", "thoughts"])
async def test_A19_a_session_that_ended_without_a_word_goes_on(yagent: CommandLine, model_server: ModelServer, empty: Reply) -> None:
    model_server.script = lambda view: empty
    assert (await yagent.run("-p", "the first task", "--output", "json")).code == 75
    await resumed(yagent, model_server, "--resume", _session(yagent))
    assert "the first task" in model_server.views[-1].task


@pytest.mark.real_time
@pytest.mark.slow
async def test_A20_a_session_whose_server_stayed_away_goes_on(yagent: CommandLine, model_server: ModelServer) -> None:
    lost = [Chaos("reset_before_headers")] * 99
    model_server.play({"are the Director": [call("read_file", path="notes.txt"), Reply(text="x", chaos=lost)]})
    configured = yagent.data / "config/config.toml"
    configured.parent.mkdir(parents=True)
    configured.write_text("[llm]\nmax_retries = 0\nstep_retries = 0\n")
    assert (await yagent.run("-p", "the first task")).code == 75
    await resumed(yagent, model_server, "--resume", _session(yagent))
    assert _answered(model_server.views[-1]) == [("call_0_0", 1)]


@pytest.mark.real_time
@pytest.mark.slow
@pytest.mark.parametrize(("api_format", "first"), list(FIRST.values())[:3], ids=list(FIRST)[:3])
async def test_A06_A09_A10_A24_A25_what_only_the_provider_can_read_goes_back_to_it_after_a_resume(
    yagent: CommandLine, model_server: ModelServer, api_format: str, first: Reply
) -> None:
    model_server.memory.signatures |= SIGNATURES
    yagent.talks_to(model_server.url, api_format)
    model_server.play({"are the Director": [first, "the first answer"]})
    assert (await yagent.run("-p", "the first task")).code == 0
    await resumed(yagent, model_server, "--resume", _session(yagent))
    raw = json.dumps(model_server.views[-1].body)
    assert any(trace in raw for trace in ("REVG", "thought_signature", "ENC"))
