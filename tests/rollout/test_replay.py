"""Replay: the conversation comes back as it stood, and every call with its one result."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from tests.rollout.conversations import (
    CONTEXT,
    META,
    THREE_TURNS,
    activity,
    answer,
    answered,
    asked,
    call,
    checkpoint,
    ended,
    lines,
    result,
    said,
    write,
)
from yagent.protocol.messages import Message, ToolResult, result_message, user_message
from yagent.rollout.marks import UNKNOWN_OUTCOME, Segment, unknown_outcome
from yagent.rollout.records import Compacted, EventMessage, Record, ResponseItem, SessionMeta
from yagent.rollout.replay import Replayed, StepMark, replay

USER = THREE_TURNS[2]


def replayed(directory: Path, *records: Record) -> Replayed:
    return replay([Segment(write(directory, *records))])


def item(record: Record) -> Message:
    assert isinstance(record, ResponseItem)
    return record.message


def test_a_conversation_is_equal_to_what_was_said(tmp_path: Path) -> None:
    found = replayed(tmp_path, *THREE_TURNS)
    assert found.messages == (
        user_message("fix the rounding"),
        item(asked("a", text="first")),
        result_message(result("a")),
        item(asked("b", "c", text="second")),
        result_message(result("b"), result("c")),
        item(asked("d", text="third")),
        result_message(result("d")),
    )
    assert (found.meta, found.context, found.open_calls, found.settled) == (META, CONTEXT, (), {})
    assert (found.step, found.position, found.asked_at, found.superseded) == (3, 13, 11, 0)
    assert (found.stop_reason, found.checkpoint, found.account.count) == ("", None, 0)


def test_results_stand_in_the_order_of_the_calls_whenever_they_came(tmp_path: Path) -> None:
    found = replayed(tmp_path, USER, asked("a", "b", "c"), answered("c"), answered("a"), answered("b"))
    assert found.messages[-1] == result_message(result("a"), result("b"), result("c"))


def test_the_last_result_for_a_call_wins_in_its_place(tmp_path: Path) -> None:
    later = ResponseItem(result_message(result("a", "done after all")))
    found = replayed(tmp_path, USER, asked("a", "b"), answered("a", "b"), ended("paused"), later, said("go on"), answered("b"))
    assert found.messages[2:] == (result_message(result("a", "done after all"), result("b")), user_message("go on"))
    assert found.superseded == 1  # the same text again supersedes nothing


def test_a_result_without_a_call_is_dropped_with_account(tmp_path: Path) -> None:
    found = replayed(tmp_path, USER, answered("x"), asked("a"), answered("a"), asked("b"), answered("a", "b"))
    assert found.messages[-1] == result_message(result("b"))
    assert found.account.skipped == [
        "the result of a call x (read_file) dropped: the call is not on the record before it",
        "the result of a call a (read_file) dropped: the call is not on the record before it",
    ]


def test_an_id_that_is_used_again_belongs_to_the_newest_call(tmp_path: Path) -> None:
    second = ResponseItem(result_message(result("a", "second")))
    found = replayed(tmp_path, USER, asked("a"), answered("a"), asked("a"), second)
    assert [message.results for message in found.messages if message.role == "tool"] == [(result("a"),), (result("a", "second"),)]
    assert found.superseded == 0


def test_open_calls_of_the_newest_message_are_told_and_not_answered(tmp_path: Path) -> None:
    found = replayed(tmp_path, *THREE_TURNS, asked("e", "f", "g"), activity(4), answered("f"))
    assert found.messages[-1] == item(asked("e", "f", "g"))
    assert found.open_calls == (call("e"), call("g"))
    assert found.settled == {"f": result("f")}
    assert (found.step, found.asked_at) == (4, 14)
    assert found.account.count == 0


@pytest.mark.parametrize("follows", [said("and then?"), answer("so")], ids=["words", "a reply"])
def test_a_missing_result_in_the_middle_is_an_unknown_outcome(tmp_path: Path, follows: Record) -> None:
    found = replayed(tmp_path, USER, asked("a", "b"), answered("b"), follows)
    assert found.messages[2] == result_message(unknown_outcome(call("a")), result("b"))
    assert found.open_calls == ()
    assert unknown_outcome(call("a")) == ToolResult("a", "read_file", UNKNOWN_OUTCOME, is_error=True)
    assert found.account.skipped == ["the result of call a (read_file) is not on the record: its outcome is unknown"]


def test_a_result_that_comes_after_words_takes_its_place_before_them(tmp_path: Path) -> None:
    found = replayed(tmp_path, USER, asked("a"), said("faster"), answered("a"))
    assert [message.role for message in found.messages] == ["user", "assistant", "tool", "user"]
    assert found.messages[2] == result_message(result("a"))
    assert found.account.count == 0


def test_the_same_number_twice_in_a_file_counts_once(tmp_path: Path) -> None:
    whole = lines(*THREE_TURNS)
    path = tmp_path / "t_s1.jsonl"
    path.write_bytes(b"".join([*whole[:6], whole[3], *whole[6:]]))
    found = replay([Segment(path)])
    assert found.messages == replayed(tmp_path, *THREE_TURNS).messages
    assert found.account.skipped == ["t_s1.jsonl: a second record 4 dropped (response_item)"]


def test_the_files_of_a_delegation_are_one_conversation(tmp_path: Path) -> None:
    first = SessionMeta("s1", "coding", "/project", "1.0", "d1")
    later = SessionMeta("s1", "coding", "/project", "1.1", "d1", continues=True, start_step=2)
    one = write(tmp_path, first, CONTEXT, said("task"), asked("a"), activity(2), answered("a"), ended("paused"), name="t_s1_coding.jsonl")
    two = write(tmp_path, later, CONTEXT, said("faster"), asked("b"), answered("b"), first=30, name="t_s1_coding-2.jsonl")
    found = replay([Segment(two), Segment(one)])
    assert [message.role for message in found.messages] == ["user", "assistant", "tool", "user", "assistant", "tool"]
    assert (found.meta, found.step, found.position, found.stop_reason) == (later, 2, 34, "")


def test_what_comes_after_the_cut_of_a_segment_does_not_count(tmp_path: Path) -> None:
    found = replay([Segment(write(tmp_path, *THREE_TURNS), until=6)])
    assert [message.role for message in found.messages] == ["user", "assistant", "tool"]
    assert (found.position, found.step, found.open_calls) == (6, 1, ())


@pytest.mark.parametrize("reason", ["paused", "agent_exit"])
def test_a_stop_is_told_until_the_agent_goes_on(tmp_path: Path, reason: str) -> None:
    mark = checkpoint(reason=reason)
    stopped = replayed(tmp_path, *THREE_TURNS, mark, ended(reason))
    assert (stopped.stop_reason, stopped.checkpoint, stopped.step) == (reason, mark, 3)
    opened = replayed(tmp_path, *THREE_TURNS, mark, ended(reason), CONTEXT, EventMessage("note"))
    assert (opened.stop_reason, opened.checkpoint) == (reason, mark)
    compressed = replayed(tmp_path, *THREE_TURNS, mark, ended(reason), Compacted(1, ()))
    assert (compressed.stop_reason, compressed.checkpoint) == (reason, None)
    for more in (said("go on"), answer("so"), activity(4)):
        gone_on = replayed(tmp_path, *THREE_TURNS, mark, ended(reason), more)
        assert (gone_on.stop_reason, gone_on.checkpoint) == ("", None)


def test_steps_are_counted_anew_for_a_new_task_and_on_for_a_resumed_one(tmp_path: Path) -> None:
    stopped = (*THREE_TURNS, ended("paused"))
    assert replayed(tmp_path, *stopped, said("another task")).step == 0
    assert replayed(tmp_path, *stopped, EventMessage("session_resumed"), said("faster")).step == 3
    assert replayed(tmp_path, *stopped, said("another task"), asked("e"), activity(1), said("faster")).step == 1


def test_the_newest_effects_of_the_run_under_way_are_told(tmp_path: Path) -> None:
    first, second = (EventMessage("effects", {"changed": ["a.py"] * number, "ran": ["make: exit 0", 7]}) for number in (1, 2))
    found = replayed(tmp_path, *THREE_TURNS, first, second)
    assert (found.changed, found.ran) == (("a.py", "a.py"), ("make: exit 0",))
    over = replayed(tmp_path, *THREE_TURNS, first, ended("agent_exit"), said("another task"))
    assert (over.changed, over.ran) == ((), ())
    assert replayed(tmp_path, EventMessage("effects", {"changed": "a.py"})).changed == ()


def test_a_compaction_takes_the_place_of_the_first_messages(tmp_path: Path) -> None:
    short = (user_message("task and what was found"),)
    found = replayed(tmp_path, *THREE_TURNS, Compacted(5, short), asked("e"), answered("e"))
    assert found.messages == (
        *short,
        item(asked("d", text="third")),
        result_message(result("d")),
        item(asked("e")),
        result_message(result("e")),
    )


def test_a_compaction_while_calls_are_open_leaves_them_open(tmp_path: Path) -> None:
    short = (user_message("short"), item(asked("x")), result_message(result("x")))
    found = replayed(tmp_path, *THREE_TURNS, asked("e", "f"), Compacted(7, short), answered("e"))
    assert found.messages == (*short, item(asked("e", "f")))
    assert (found.open_calls, found.settled) == ((call("f"),), {"e": result("e")})


def test_a_compaction_never_parts_calls_and_results(tmp_path: Path) -> None:
    found = replayed(tmp_path, *THREE_TURNS, Compacted(2, (user_message("short"),)))
    assert [message.role for message in found.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert found.account.skipped == ["a compaction ends between calls and their results; both are replaced"]


def test_a_compaction_of_more_than_there_is_replaces_all_with_account(tmp_path: Path) -> None:
    found = replayed(tmp_path, *THREE_TURNS, Compacted(40, (user_message("short"), item(asked("x")))))
    assert found.messages == (user_message("short"), item(asked("x")), result_message(unknown_outcome(call("x"))))
    assert found.account.skipped[0] == "a compaction replaces 40 messages, of which only 7 are on the record"


def test_completed_steps_are_numbered_over_the_whole_session(tmp_path: Path) -> None:
    found = replayed(tmp_path, *THREE_TURNS, answer("done"), ended("agent_exit"), said("more"), asked("e"), answered("e"), asked("f"))
    assert found.steps == (
        StepMark(1, 6, ("read_file",)),
        StepMark(2, 10, ("read_file", "read_file")),
        StepMark(3, 13, ("read_file",)),
        StepMark(4, 14, (), ended("agent_exit").data),
        StepMark(5, 18, ("read_file",)),
    )


def test_a_step_tells_of_the_end_that_came_before_the_next_one_and_of_no_other(tmp_path: Path) -> None:
    found = replayed(tmp_path, META, said("x"), answer("one"), ended("paused"), ended("plain_text"), said("y"), answer("two"), said("z"))
    assert [dict(mark.end) for mark in found.steps] == [dict(ended("plain_text").data), {}]


def test_each_step_can_begin_another_conversation(tmp_path: Path) -> None:
    path = write(tmp_path, *THREE_TURNS, answer("done"))
    for mark in replay([Segment(path)]).steps:
        found = replay([Segment(path, mark.ordinal)])
        assert (found.open_calls, len(found.steps), found.position) == ((), mark.step, mark.ordinal)


def test_a_reply_that_a_provider_interrupted_is_one_step(tmp_path: Path) -> None:
    found = replayed(tmp_path, USER, answer("I shall"), asked("a"), answered("a"))
    assert found.steps == (StepMark(1, 4, ("read_file",)),)


def test_the_number_of_a_record_that_is_not_understood_is_taken(tmp_path: Path) -> None:
    path = write(tmp_path, *THREE_TURNS)
    with path.open("ab") as stream:
        stream.write(b'{"ordinal":77,"timestamp":"","type":"world_state","payload":{}}\n')
    assert replay([Segment(path)]).position == 77


def test_a_record_without_anything_is_an_empty_conversation(tmp_path: Path) -> None:
    found = replayed(tmp_path)
    assert (found.meta, found.messages, found.steps, found.position) == (None, (), (), 0)


def test_a_file_that_is_gone_is_an_error_and_a_directory_an_account(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replay([Segment(tmp_path / "gone.jsonl")])
    assert replay([Segment(tmp_path)]).account.count == 1


def test_reading_takes_the_memory_of_the_conversation_that_is_left(tmp_path: Path) -> None:
    page: list[Record] = [*[ResponseItem(user_message("x" * 2000)) for _ in range(500)], Compacted(501, (user_message("short"),))]
    path = write(tmp_path, *(page * 8))
    assert path.stat().st_size > 8_000_000
    tracemalloc.start()
    try:
        found = replay([Segment(path)])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.messages == (user_message("short"),)
    assert peak < 3_000_000
