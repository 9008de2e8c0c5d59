"""Records that were torn, damaged or written by other versions, in all combinations.

What is good is read, every loss is told, every call has its one result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.rollout.conversations import DIRECTOR_FILE, THREE_TURNS, activity, answer, answered, asked, checkpoint, ended, lines, said
from yagent.protocol.messages import Message, ToolCall, ToolResult
from yagent.rollout.checkpoint import digest
from yagent.rollout.marks import Segment
from yagent.rollout.reader import Account, read
from yagent.rollout.records import Compacted, Record, ResponseItem
from yagent.rollout.replay import Replayed, replay

TALK: tuple[Record, ...] = (
    *THREE_TURNS,
    answer("done"),
    checkpoint(reason="plain_text"),
    ended("plain_text"),
    said("and now the other one"),
    asked("a", "e", text="again"),
    activity(1),
    answered("e"),
)
WHOLE = lines(*TALK)
LATER = WHOLE[0].replace(b'"version":1', b'"version":7,"mood":"good"')
EARLIER = WHOLE[0].replace(b',"version":1', b"")

# what can stand in the place of a line or beside it; each is one loss
JUNK = [
    b'{"type":"x"\n',
    b"[1, 2]\n",
    b"null\n",
    b'"text"\n',
    b'{"ordinal":10,"timestamp":"","type":"world_state","payload":{}}\n',
    b'{"ordinal":10,"timestamp":"","type":"response_item","payload":{"message":{"role":"tool","parts":[{"kind":"picture"}]}}}\n',
    b'{"ordinal":"10","timestamp":"","type":"event_msg","payload":{"name":"x"}}\n',
    b"\0" * 4096 + b"\n",
    "{\u00e9".encode()[:-1] + b"\n",
]
BLANK = [b"\n", b"\r\n", b"  \n"]


@dataclass(frozen=True)
class Damaged:
    """A file, which of its lines are whole, and how many losses it has that a reader can see."""

    data: bytes
    whole: tuple[int, ...]
    losses: int


PLACES = st.integers(0, len(WHOLE) - 1)
CHANGES = st.dictionaries(PLACES, st.sampled_from(["junk", "removed", "doubled", "zeros"]), max_size=6)
BETWEEN = st.dictionaries(PLACES, st.sampled_from(JUNK + BLANK), max_size=4)
TAILS = st.sampled_from([b"", b"\n\n", b"\0" * 4096, WHOLE[-1][:37], '{"text":"\u20ac'.encode()[:-1]])


def damage(changes: dict[int, str], between: dict[int, bytes], junk: bytes, tail: bytes) -> Damaged:
    """The talk with some lines changed, something between others, and an end."""
    pieces: list[bytes] = []
    for number, line in enumerate(WHOLE):
        forms = {"junk": [junk], "removed": [], "doubled": [line, line], "zeros": [b"\0" * 512, line]}
        pieces += [between.get(number, b""), *forms.get(changes.get(number, ""), [line])]
    whole = tuple(number for number in range(len(WHOLE)) if changes.get(number) not in ("junk", "removed"))
    losses = sum(change != "removed" for change in changes.values()) + sum(each in JUNK for each in between.values())
    return Damaged(b"".join(pieces) + tail, whole, losses + bool(tail.strip()))


DAMAGED = st.builds(damage, CHANGES, BETWEEN, st.sampled_from(JUNK), TAILS)


def written(directory: Path, data: bytes, name: str = DIRECTOR_FILE) -> Segment:
    path = directory / name
    path.write_bytes(data)
    return Segment(path)


def check_pairs(found: Replayed) -> None:
    """What a strict provider demands of a conversation."""
    awaited: tuple[ToolCall, ...] = ()
    for message in found.messages:
        if awaited or message.role == "tool":
            assert message.role == "tool"
            assert [result.call_id for result in message.results] == [call.id for call in awaited]
        awaited = message.calls
    assert {call.id for call in awaited} == {call.id for call in found.open_calls} | found.settled.keys()
    assert bool(awaited) == bool(found.open_calls)


def messages(records: Sequence[Record]) -> list[Message]:
    return [record.message for record in records if isinstance(record, ResponseItem)]


PROPERTY = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@PROPERTY
@given(DAMAGED)
def test_every_good_line_is_read_and_every_loss_told(tmp_path: Path, broken: Damaged) -> None:
    segment, account = written(tmp_path, broken.data), Account()
    entries = list(read(segment.path, account))
    assert list(dict.fromkeys(entry.ordinal - 1 for entry in entries)) == list(broken.whole)
    assert [entry.record for entry in entries if entry.record not in TALK] == []
    doubled = len(entries) - len(broken.whole)
    assert account.count + doubled == broken.losses


@PROPERTY
@given(DAMAGED)
def test_whatever_is_damaged_a_provider_accepts_the_conversation(tmp_path: Path, broken: Damaged) -> None:
    found = replay([written(tmp_path, broken.data)])
    check_pairs(found)
    kept = [message for message in messages([TALK[number] for number in broken.whole]) if message.role != "tool"]
    assert [message for message in found.messages if message.role != "tool"] == kept
    assert found.account.count >= broken.losses
    assert found.position >= max((number + 1 for number in broken.whole), default=0)


@PROPERTY
@given(DAMAGED)
def test_a_result_is_lost_only_with_its_line_or_its_call(tmp_path: Path, broken: Damaged) -> None:
    found = replay([written(tmp_path, broken.data)])
    results = [*(result for message in found.messages for result in message.results), *found.settled.values()]
    for number in broken.whole:
        record = TALK[number]
        if not isinstance(record, ResponseItem) or record.message.role != "tool":
            continue
        asking = max(at for at in range(number) if isinstance(TALK[at], ResponseItem) and messages([TALK[at]])[0].role == "assistant")
        if asking in broken.whole:
            assert all(result in results for result in record.message.results)


@PROPERTY
@given(DAMAGED, st.lists(st.sampled_from([said("go on"), asked("z"), answered("z"), answered("e")]), min_size=1, max_size=4))
def test_what_is_appended_after_a_damage_is_read(tmp_path: Path, broken: Damaged, more: list[ResponseItem]) -> None:
    end = b"" if broken.data.endswith(b"\n") or not broken.data else b"\n"
    found = replay([written(tmp_path, broken.data + end + b"".join(lines(*more, first=100)))])
    check_pairs(found)
    spoken = [message for message in messages(more) if message.role != "tool"]
    assert [message for message in found.messages if message.role != "tool"][-len(spoken) :] == spoken or not spoken
    assert found.position == 99 + len(more)


@PROPERTY
@given(st.lists(st.booleans(), min_size=len(WHOLE), max_size=len(WHOLE)))
def test_a_conversation_in_two_files_is_the_same_as_in_one(tmp_path: Path, sides: list[bool]) -> None:
    one = replay([written(tmp_path, b"".join(WHOLE))])
    parts = [
        written(tmp_path, b"".join(line for line, at in zip(WHOLE, sides, strict=True) if at is side), f"t_s1_{side}.jsonl")
        for side in (True, False)
    ]
    two = replay(parts)
    assert (two.messages, two.open_calls, two.settled, two.steps) == (one.messages, one.open_calls, one.settled, one.steps)


@given(cut=st.integers(0, len(b"".join(WHOLE))))
@PROPERTY
def test_a_file_that_was_cut_anywhere_gives_the_conversation_until_there(tmp_path: Path, cut: int) -> None:
    data = b"".join(WHOLE)[:cut]
    found = replay([written(tmp_path, data)])
    complete = data.count(b"\n") + (data[data.rfind(b"\n") + 1 :] + b"\n" in WHOLE)  # a line that lacks only its end is whole
    as_far = replay([written(tmp_path, b"".join(WHOLE[:complete]))])
    assert (found.messages, found.open_calls, found.settled, found.step) == (
        as_far.messages,
        as_far.open_calls,
        as_far.settled,
        as_far.step,
    )
    check_pairs(found)


@given(st.integers(0, len(TALK)))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_read_once_is_the_beginning_of_what_is_read_later(tmp_path: Path, until: int) -> None:
    """A provider's cache holds what was sent before."""
    whole = replay([written(tmp_path, b"".join(WHOLE))])
    part = replay([Segment(whole_file := tmp_path / DIRECTOR_FILE, until)])
    assert whole_file.exists()
    settled = part.messages[:-1] if part.open_calls else part.messages
    assert digest(settled) == digest(whole.messages[: len(settled)])


IDS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)
TURNS = st.one_of(
    st.sampled_from([said("words"), answer("words"), activity(1)]),
    IDS.map(lambda ids: asked(*ids)),
    IDS.map(lambda ids: answered(*ids)),
)
COMPACTIONS = st.builds(lambda count, turns: Compacted(count, tuple(messages(turns))), st.integers(-1, 12), st.lists(TURNS, max_size=4))


@given(st.lists(TURNS | COMPACTIONS, max_size=20))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_recorded_in_whatever_order_a_provider_accepts_it(tmp_path: Path, records: list[Record]) -> None:
    check_pairs(replay([written(tmp_path, b"".join(lines(*records)))]))


def test_files_of_earlier_and_later_versions_are_read(tmp_path: Path) -> None:
    for first, told in ((EARLIER, 0), (LATER, 1)):
        assert first != WHOLE[0]
        found = replay([written(tmp_path, first + b"".join(WHOLE[1:]))])
        assert found.meta is not None
        assert (found.meta.session, len(found.messages), found.account.count) == ("s1", 10, told)


def test_a_result_that_is_removed_is_unknown_and_one_that_is_doubled_counts_once(tmp_path: Path) -> None:
    removed = replay([written(tmp_path, b"".join(WHOLE[:5] + WHOLE[6:]))])
    (lost,) = removed.messages[2].results
    assert lost == ToolResult(
        "a", "read_file", "outcome unknown: it may or may not have taken effect; look before you repeat", is_error=True
    )
    doubled = replay([written(tmp_path, b"".join(WHOLE[:6] + WHOLE[5:]))])
    assert doubled.messages == replay([written(tmp_path, b"".join(WHOLE))]).messages
    assert doubled.account.count == 1
