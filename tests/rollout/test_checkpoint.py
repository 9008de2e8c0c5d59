"""The ten reasons why a delegation cannot go on with its record (I-24), each alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rollout.conversations import CONTEXT, THREE_TURNS, activity, answered, asked, checkpoint, ended, said, write
from tests.rollout.test_records import MESSAGES
from yagent.protocol.messages import Message
from yagent.rollout.checkpoint import Replaying, degraded, digest, moved
from yagent.rollout.marks import Segment
from yagent.rollout.records import AgentCheckpoint, Record, SessionMeta, message_from_json, message_to_json
from yagent.rollout.replay import Replayed, replay

ROOMY = Replaying(token_budget=10_000, max_messages=2000, head="aaa", block_on_change=True)


def conversation(agent: str = "coding") -> tuple[Record, ...]:
    return (SessionMeta("s1", agent, "/project", "1.0", "d1"), *THREE_TURNS[1:])


def stopped(directory: Path, reason: str = "paused", agent: str = "coding", mark: AgentCheckpoint | None = None) -> Replayed:
    """A delegation with its true checkpoint, or another."""
    talk = conversation(agent)
    messages = replay([Segment(write(directory, *talk))]).messages
    true = AgentCheckpoint(3, digest(messages), len(messages), "stub", "m1", "", reason, agent, "d1", "aaa", dirty=True)
    return replay([Segment(write(directory, *talk, mark or true, ended(reason)))])


@pytest.mark.parametrize("reason", ["paused", "cancelled"])
def test_a_whole_record_has_no_reason(tmp_path: Path, reason: str) -> None:
    assert degraded(stopped(tmp_path, reason), ROOMY) == ()


def test_each_criterion_gives_exactly_its_code(tmp_path: Path) -> None:
    whole = stopped(tmp_path)
    assert whole.checkpoint is not None
    true = whole.checkpoint
    wrong_digest = AgentCheckpoint(3, "0" * 64, true.messages, "stub", "m1", "", "paused", "coding", "d1")
    wrong_count = AgentCheckpoint(3, true.digest, 8, "stub", "m1", "", "paused", "coding", "d1")
    without = replay([Segment(write(tmp_path, *conversation(), ended("paused")))])
    found = [
        degraded(None, ROOMY),
        degraded(PermissionError("no"), ROOMY),
        degraded(without, ROOMY),
        degraded(stopped(tmp_path, mark=wrong_digest), ROOMY),
        degraded(stopped(tmp_path, mark=wrong_count), ROOMY),
        degraded(whole, Replaying(max_messages=6)),
        degraded(whole, Replaying(head="bbb", block_on_change=True)),
        degraded(stopped(tmp_path, agent="browser"), ROOMY),
        degraded(stopped(tmp_path, "max_steps"), ROOMY),
        degraded(stopped(tmp_path, "idle_timeout"), ROOMY),
    ]
    assert found == [
        ("no_rollout",),
        ("unreadable",),
        ("no_checkpoint",),
        ("digest_mismatch",),
        ("message_count_mismatch",),
        ("over_budget",),
        ("workspace_moved",),
        ("browser",),
        ("max_steps",),
        ("timeout",),
    ]


def test_several_reasons_come_in_the_order_of_the_specification(tmp_path: Path) -> None:
    assert degraded(stopped(tmp_path, "max_steps", "browser", checkpoint()), Replaying(max_messages=1)) == (
        "digest_mismatch",
        "message_count_mismatch",
        "over_budget",
        "browser",
        "max_steps",
    )


@pytest.mark.parametrize("reason", ["total_timeout", "time_limit"])
def test_every_time_limit_is_a_timeout(tmp_path: Path, reason: str) -> None:
    assert degraded(stopped(tmp_path, reason), ROOMY) == ("timeout",)


def test_a_moved_workspace_is_a_reason_only_where_it_is_to_block(tmp_path: Path) -> None:
    past = stopped(tmp_path)
    assert moved(past, "bbb")
    assert degraded(past, Replaying(head="bbb")) == ()
    assert not moved(past, "aaa")
    assert not moved(past, "")


def test_budgets_of_zero_are_none_and_tokens_are_counted(tmp_path: Path) -> None:
    past = stopped(tmp_path)
    assert degraded(past, Replaying()) == ()
    assert degraded(past, Replaying(token_budget=30)) == ("over_budget",)
    assert degraded(past, Replaying(token_budget=300)) == ()


def test_a_killed_process_needs_no_checkpoint(tmp_path: Path) -> None:
    killed = replay([Segment(write(tmp_path, *conversation(), asked("e", "f"), activity(4), answered("f")))])
    assert degraded(killed, ROOMY) == ()
    again = replay([Segment(write(tmp_path, *conversation(), checkpoint(), ended("paused"), CONTEXT, said("faster")))])
    assert (again.checkpoint, degraded(again, ROOMY)) == (None, ())


@settings(max_examples=50)  # two conversations of any kind are much to make up
@given(st.lists(MESSAGES, max_size=4), st.lists(MESSAGES, max_size=4))
def test_a_digest_tells_conversations_apart_and_survives_the_record(one: list[Message], other: list[Message]) -> None:
    assert digest(one) == digest([message_from_json(message_to_json(message)) for message in one])
    if digest(one) == digest(other):
        assert one == other
