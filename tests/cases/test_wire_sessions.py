"""Wire cases in whole sessions: real HTTP, the strict server, more than one task. What is stored decides whether a session lives on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.cases.interruptions import stopped
from tests.llm.wire import FORMATS, chat_stream, messages_stream, responses_stream
from tests.support.model_server import Agent, Call, Chaos, ModelServer, Reply, RequestView, call, hand_over, status
from tests.support.session import Opened, Sessions
from yagent.protocol.events import ToolCallStart
from yagent.protocol.stop import StopReason

READ = {"path": "notes.txt"}


def _started(opened: Opened, name: str, count: int = 1) -> Callable[[], bool]:
    return lambda: sum(each.name == name for each in opened.told(ToolCallStart)) >= count


def _items(view: RequestView) -> list[Any]:
    return list(view.body["input"] if view.dialect == "responses" else view.body["messages"])


def _without_marks(blocks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in block.items() if name != "cache_control"} for block in blocks]


@pytest.mark.parametrize("api_format", FORMATS)
async def test_A06_reasoning_goes_back_with_its_call_at_every_later_request(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    seen: list[list[str]] = []

    def script(view: RequestView) -> Reply:
        seen.append([entry.reasoning for entry in view.entries if entry.reasoning])
        if view.results or len(seen) > 4:
            return Reply(text=f"answer {len(seen)}")
        return Reply(reasoning="need the file", calls=[Call("read_file", READ)])

    model_server.script = script
    async with sessions.open(api_format=api_format) as opened:
        assert (await opened.do("one")).answer == "answer 2"
        assert (await opened.do("two")).exit_code == 0
    assert seen == [[], ["need the file"], ["need the file"], ["need the file"] * 2]


@pytest.mark.parametrize(
    ("complaint", "sent_again"),
    [
        ("messages[2]: property 'reasoning_content' is unsupported", False),
        ("Missing `reasoning_content` field in the assistant message at message index 2", True),
    ],
)
async def test_A06_a_server_that_refuses_or_demands_reasoning_is_heard_once_for_the_whole_session(
    sessions: Sessions, model_server: ModelServer, complaint: str, sent_again: bool
) -> None:
    model_server.tolerate = {"prefix"}
    refusals = 0

    def script(view: RequestView) -> Reply:
        nonlocal refusals
        asked = [message for message in view.body["messages"] if message.get("tool_calls")]
        fits = all(("reasoning_content" in message) is sent_again for message in asked)
        if not fits:
            refusals += 1
            return Reply(text="never", chaos=[status(400, body=json.dumps({"error": {"message": complaint}}).encode())] * 9)
        if view.results:
            return Reply(text="done")
        return Reply(reasoning="" if sent_again else "need the file", calls=[Call("read_file", READ)])

    model_server.script = script
    async with sessions.open() as opened:
        for prompt in ("one", "two"):
            assert (await opened.do(prompt)).answer == "done"
    assert refusals == 1


SLEEP = Call("delegate_coding", {"task": "sleep"})
THREE = {
    "first": (SLEEP, Call("read_file", READ), Call("read_file", READ)),
    "last": (Call("read_file", READ), Call("read_file", READ), SLEEP),
    "two run and one waits": tuple(Call("delegate_repo", {"task": f"look {number}"}) for number in (1, 2, 3)),
}


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("kind", THREE)
async def test_A08_after_an_interrupt_each_call_has_one_result_before_the_new_words(
    sessions: Sessions, model_server: ModelServer, api_format: str, kind: str
) -> None:
    model_server.play(
        {
            "are the Director": [Reply(text="Three at once.", calls=THREE[kind]), "I went on."],
            "are Repo": [Reply(text="never", chaos=[Chaos("hang_before_headers")])],
            "are Coding": [call("run_bash", command="sleep 30", timeout=60)],
        }
    )
    async with sessions.open(api_format=api_format, mode="full-yolo") as opened:
        waited_for = (lambda: model_server.in_flight == 2) if kind.startswith("two") else _started(opened, "run_bash")
        first = await stopped(opened, "go", waited_for)
        second = await opened.do("go on")
    assert (first.stop_reason, first.exit_code) == (StopReason.CANCELLED, 130)
    assert (second.answer, second.exit_code) == ("I went on.", 0)
    last = model_server.views[-1]
    asked = [seen.id for entry in last.entries for seen in entry.calls]
    assert len(asked) == 3
    assert [result.call_id for entry in last.entries for result in entry.results] == asked
    assert last.user_text.endswith("go on")
    shape = _items(last)
    if api_format == "anthropic":
        assert [block["type"] for block in shape[-1]["content"]] == ["tool_result"] * 3 + ["text"]
    elif api_format == "responses":
        assert [item.get("type") for item in shape[-4:]] == ["function_call_output"] * 3 + ["message"]
    else:
        assert [item["role"] for item in shape[-4:]] == ["tool"] * 3 + ["user"]
    texts = [result.text for entry in last.entries for result in entry.results]
    ran = [text for text in texts if "first line" in text]
    assert len(ran) == (2 if kind == "last" else 0), "what had ended keeps its own result"
    assert all("cancelled" in text or "Not run" in text for text in texts if text not in ran)


@pytest.mark.parametrize("api_format", FORMATS)
async def test_A08_a_session_interrupted_while_the_model_speaks_lives_on_however_often(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    model_server.tolerate = {"prefix"}  # words that were never answered become one message with the next ones

    def script(view: RequestView) -> Reply:
        if "go on" in view.user_text:
            return Reply(text="Here I am.")
        return Reply(text="half an answer", chaos=[Chaos("hang_mid_stream", share=0.7)])

    model_server.script = script
    async with sessions.open(api_format=api_format) as opened:
        for number in range(3):
            result = await stopped(opened, f"try {number}", lambda: model_server.in_flight)
            assert (result.stop_reason, result.answer) == (StopReason.CANCELLED, "")
        assert (await opened.do("go on")).answer == "Here I am."
    assert not any("half an answer" in entry.text for entry in model_server.views[-1].entries)


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("empty", [Reply(), Reply(text=" \n"), Reply(reasoning="only thoughts")], ids=["nothing", "blank", "thoughts"])
async def test_A19_a_model_that_returns_nothing_is_named_and_the_next_prompt_works(
    sessions: Sessions, model_server: ModelServer, api_format: str, empty: Reply
) -> None:
    def script(view: RequestView) -> Reply:
        return Reply(text="now I do") if "again" in view.user_text else empty

    model_server.tolerate = {"prefix"}
    model_server.script = script
    async with sessions.open(api_format=api_format) as opened:
        first = await opened.do("go")
        second = await opened.do("again")
    assert (first.answer, first.status, first.exit_code) == ("", "error", 75)
    assert "returned nothing" in first.error
    assert (second.answer, second.exit_code) == ("now I do", 0)
    assert all(entry.text.strip() or entry.calls for entry in model_server.views[-1].entries if entry.role == "assistant")


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        ({"path": "notes.txt", "edits": '[{"search":"first line","replace":"[1,2]"}]'}, "[1,2]\nsecond line\n"),
        ({"path": "notes.txt", "edits": [{"search": "first line", "replace": "{not json"}]}, "{not json\nsecond line\n"),
        ({"path": "notes.txt", "edits": '{"search":"first line","replace":"one"}'}, "one\nsecond line\n"),
        ({"path": "notes.txt", "edits": ['{"search":"first line","replace":"null"}']}, "null\nsecond line\n"),
        (json.dumps('{"path":"notes.txt","edits":[{"search":"first line","replace":"\\"quoted\\""}]}'), '"quoted"\nsecond line\n'),
        ({"path": "notes.txt", "edits": [{"search": "first line", "replace": "true", "all": "false"}]}, "true\nsecond line\n"),
    ],
)
async def test_A22_lists_and_objects_that_came_as_text_are_read_by_the_schema_and_words_stay_words(
    sessions: Sessions, model_server: ModelServer, api_format: str, arguments: Any, changed: str
) -> None:
    async def coding(agent: Agent) -> Reply:
        await agent.call("read_file", **READ)
        (result,) = await agent.calls(Call("search_replace_in_file", arguments))
        return hand_over(result.text)

    async def director(agent: Agent) -> str:
        return await agent.call("delegate_coding", task="edit")

    model_server.play({"are the Director": director, "are Coding": coding})
    async with sessions.open(api_format=api_format, mode="yolo") as opened:
        result = await opened.do("go")
    assert (sessions.workspace / "notes.txt").read_text() == changed, result.answer


MALFORMED = [
    '{"path": "a.txt"', "not json", "[1,2]", '"foo"', '{"path":"a.txt"}{"path":"b.txt"}', "{'path': 'a.txt'", "7", "nul",
    '{"path": "' + "x" * 3000, '{"path": "\\ud800"', "\x00", "```json\n{\"path\":\"a\"",
]  # fmt: skip


@pytest.mark.parametrize("api_format", FORMATS)
async def test_A23_malformed_arguments_get_an_error_result_and_the_session_goes_on(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    async def director(agent: Agent) -> str:
        for text in MALFORMED:
            alone = await agent.call("read_file", **READ)
            assert "first line" in alone
            beside = await agent.calls(Call("read_file", READ), Call("read_file", text), Call("read_file", READ))
            assert ["first line" in result.text for result in beside] == [True, False, True], text
            assert "not one JSON object" in beside[1].text, beside[1].text
            assert beside[1].is_error in (True, None)
        return "through"

    model_server.play({"are the Director": director})
    async with sessions.open(api_format=api_format) as opened:
        assert (await opened.do("go")).answer == "through"
        model_server.play({"are the Director": ["and on"]})
        assert (await opened.do("again")).answer == "and on"


SIGNED = {
    "tool_calls": [
        {
            "index": 0, "id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": json.dumps(READ)},
            "extra_content": {"google": {"thought_signature": "QUJDRA=="}},
        },
        {"index": 1, "id": "call_2", "type": "function", "function": {"name": "read_file", "arguments": json.dumps(READ)}},
    ]
}  # fmt: skip


async def test_A24_unknown_fields_of_a_call_go_back_unchanged_at_every_later_request(sessions: Sessions, model_server: ModelServer) -> None:
    def script(view: RequestView) -> Reply:
        for call_seen in (found for message in view.body["messages"] for found in message.get("tool_calls") or ()):
            expected = {"google": {"thought_signature": "QUJDRA=="}} if call_seen["id"] == "call_1" else None
            assert call_seen.get("extra_content") == expected
        if any(entry.calls for entry in view.entries):
            return Reply(text="done")
        return Reply(raw=chat_stream(SIGNED, finish_reason="tool_calls"))

    model_server.script = script
    async with sessions.open() as opened:
        assert (await opened.do("one")).answer == "done"
        assert (await opened.do("two")).answer == "done"


ITEMS: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "delegate_coding", "arguments": '{"task":"sleep"}'},
]


async def test_A25_an_interrupt_leaves_reasoning_its_call_and_one_output_together(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.memory.signatures["ENC"] = ""

    coding = [call("run_bash", command="sleep 30")]
    model_server.play({"are the Director": [Reply(raw=responses_stream(*ITEMS)), "on"], "are Coding": coding})
    async with sessions.open(api_format="responses", mode="yolo") as opened:
        await stopped(opened, "go", _started(opened, "run_bash"))
        assert (await opened.do("go on")).answer == "on"
    kinds = [item["type"] for item in _items(model_server.views[-1])]
    assert kinds[-4:] == ["reasoning", "function_call", "function_call_output", "message"]


@pytest.mark.parametrize("again", [True, False], ids=["at the next step", "at the next task"])
async def test_A25_reasoning_the_server_cannot_read_any_more_is_left_out_once(
    sessions: Sessions, model_server: ModelServer, again: bool
) -> None:
    model_server.memory.signatures["ENC"] = ""
    model_server.tolerate = {"prefix"}
    refusal = json.dumps({"error": {"message": "The encrypted content could not be verified.", "code": "invalid_encrypted_content"}})
    items = [ITEMS[0], {**ITEMS[1], "name": "read_file", "arguments": json.dumps(READ)}]

    def script(view: RequestView) -> Reply:
        late = any(entry.calls for entry in view.entries)
        if not late:
            return Reply(raw=responses_stream(*items))
        has_reasoning = any(item["type"] == "reasoning" for item in _items(view))
        if has_reasoning and (again or "two" in view.user_text):
            return Reply(text="never", chaos=[status(400, body=refusal.encode())] * 9)
        return Reply(text="done")

    model_server.script = script
    async with sessions.open(api_format="responses") as opened:
        assert (await opened.do("one")).answer == "done"
        assert (await opened.do("two")).answer == "done"
        count = len(model_server.exchanges)
        assert (await opened.do("three")).answer == "done"
    assert len(model_server.exchanges) == count + 1, "the lesson is remembered"


IDS = ["functions.read_file:0", "functions.bash:1", "call_x", "toolu_1", "3f2a", "a b", "functions.read_file:0"]


async def test_A36_ids_go_back_as_they_came_and_repeated_ones_are_told_apart(sessions: Sessions, model_server: ModelServer) -> None:
    async def director(agent: Agent) -> str:
        for call_id in IDS[:-1]:
            (result,) = await agent.calls(Call("read_file", READ, id=call_id))
            assert result.call_id == call_id
        (result,) = await agent.calls(Call("read_file", READ, id=IDS[-1]))
        assert result.call_id not in IDS
        return "done"

    model_server.play({"are the Director": director})
    async with sessions.open() as opened:
        assert (await opened.do("go")).answer == "done"


NAMES = [
    "view_file", "Read_File", "", "mcp__gone__x", "functions.read_file", "read file", "read_file\n", "x" * 200, "ünïcode",
    "delegate_nobody", "$(touch pwned)", "multi_tool_use.parallel", "read_file<|channel|>commentary",
]  # fmt: skip


@pytest.mark.parametrize("api_format", FORMATS)
async def test_A37_a_call_of_a_tool_that_is_not_there_is_answered_and_replayed_in_a_legal_form(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    async def director(agent: Agent) -> str:
        for name in NAMES:
            results = await agent.calls(Call(name, READ), Call("read_file", READ))
            assert "first line" in results[1].text, name
            assert "first line" in results[0].text or "read_file" in results[0].text, f"{name}: {results[0].text}"
        return "through"

    model_server.play({"are the Director": director})
    async with sessions.open(api_format=api_format) as opened:
        assert (await opened.do("go")).answer == "through"
        model_server.play({"are the Director": ["and on"]})
        assert (await opened.do("again")).exit_code == 0


async def test_A37_a_tool_that_is_called_in_vain_for_ever_is_bounded(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.script = lambda view: call("view_file", path="notes.txt")
    async with sessions.open() as opened:
        result = await opened.do("go")
    assert (result.stop_reason, result.exit_code) == (StopReason.LOOP_DETECTED, 3)
    assert len(model_server.exchanges) <= 13


THINKING: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "", "signature": "QUJD"},
    {"type": "redacted_thinking", "data": "ZW5j"},
    {"type": "thinking", "thinking": "naïve — step \n", "signature": "REVG"},
    {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": READ},
]


async def test_A09_A10_thinking_is_replayed_verbatim_at_every_later_request(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.memory.signatures |= {"QUJD": "", "REVG": "naïve — step \n"}

    def script(view: RequestView) -> Reply:
        asked = [message["content"] for message in view.body["messages"] if message["role"] == "assistant"]
        if not asked:
            return Reply(raw=messages_stream(*THINKING, stop_reason="tool_use"))
        assert _without_marks(asked[0]) == THINKING
        return Reply(text="done")

    model_server.script = script
    async with sessions.open(api_format="anthropic") as opened:
        assert (await opened.do("one")).answer == "done"
        assert (await opened.do("two")).answer == "done"


@pytest.mark.parametrize("api_format", FORMATS)
async def test_A11_a_tool_without_output_has_a_result_and_no_block_is_blank(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    (sessions.workspace / "empty.txt").touch()

    async def coding(agent: Agent) -> Reply:
        for made in (Call("run_bash", {"command": "true"}), Call("read_file", {"path": "empty.txt"})):
            (result,) = (await agent.reply(Reply(text=" \n", calls=[made]))).results
            assert result.text.strip()
        return hand_over("done")

    async def director(agent: Agent) -> str:
        return await agent.call("delegate_coding", task="nothing", text="\n")

    model_server.play({"are the Director": director, "are Coding": coding})
    async with sessions.open(api_format=api_format, mode="yolo") as opened:
        assert "done" in (await opened.do("one")).answer
