"""The harness itself: the played model looks before it repeats, cuts are what they say, and whatever is wrong is noticed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.crash.clocks import slow_disk
from tests.crash.cuts import Cut, as_it_lay, boundaries, torn
from tests.crash.job import LOG, LOOK, PLANS, UNKNOWN, Deed, Plan, script
from tests.crash.matrix import Undisturbed, undisturbed
from tests.crash.report import BEGIN, END, faults, table, write
from tests.crash.run import Run
from tests.crash.verdict import Verdict, kept, lasting, said, unpaired
from tests.support.model_server import Exchange, Reply, RequestView, ScriptError
from tests.support.model_server.view import view_of
from tests.support.virtual_time import VirtualClock, settle
from yagent.protocol.ids import AgentIdentity
from yagent.rollout.records import EventMessage
from yagent.rollout.writer import Numbers, SessionLog
from yagent.runtime.atomic import make_private_directory
from yagent.runtime.supervise import Domain

DEVOPS = next(plan for plan in PLANS if plan.name == "devops-third")
NOTHING_YET, LOGGED = "start\n[exit code 0]", "step-3\nstart\n[exit code 0]"


def chat(plan: Plan, *made: tuple[Deed, str]) -> RequestView:
    """A request of an agent that has made some calls, each with its result."""
    messages: list[Any] = [{"role": "system", "content": f"You {plan.identity}."}]
    messages.append({"role": "user", "content": f"<task>\n{plan.task}\n</task>"})
    for number, (deed, text) in enumerate(made):
        function = {"name": deed.call.name, "arguments": json.dumps(deed.call.arguments)}
        messages.append({"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return view_of("chat", {"messages": messages})


def commands(reply: Reply) -> list[str]:
    return [str(dict(call.arguments).get("command", call.name)) for call in reply.calls if isinstance(call.arguments, Mapping)]


LOG_IT, COMMIT_IT = DEVOPS.batches[0][0], DEVOPS.batches[1][0]
LOOKS, LOGS, COMMITS = (commands(Reply(calls=[deed.call])) for deed in (LOOK, LOG_IT, COMMIT_IT))


@pytest.mark.parametrize(
    ("made", "then"),
    [
        ([], LOOKS),
        ([(LOOK, NOTHING_YET)], LOGS),
        ([(LOOK, LOGGED)], COMMITS),
        ([(LOOK, NOTHING_YET), (LOG_IT, "[exit code 0]")], COMMITS),
        ([(LOOK, NOTHING_YET), (LOG_IT, UNKNOWN)], LOOKS),
        ([(LOOK, UNKNOWN)], LOOKS),
        ([(LOOK, NOTHING_YET), (LOG_IT, UNKNOWN), (LOOK, LOGGED)], COMMITS),
        ([(LOOK, NOTHING_YET), (LOG_IT, UNKNOWN), (LOOK, NOTHING_YET)], LOGS),
        ([(LOOK, NOTHING_YET), (LOG_IT, "[exit code 1]")], LOGS),
        ([(LOOK, LOGGED), (COMMIT_IT, "[exit code 0]")], ["agent_exit"]),
    ],
)
def test_the_played_model_looks_before_it_repeats(made: Sequence[tuple[Deed, str]], then: list[str]) -> None:
    assert commands(script(chat(DEVOPS, *made))) == then


def test_the_played_model_gives_up_what_fails_again_and_again() -> None:
    with pytest.raises(ScriptError, match="failed 3 times"):
        script(chat(DEVOPS, (LOOK, NOTHING_YET), *[(LOG_IT, "[exit code 1]")] * 3))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """A run to which nothing happened."""
    return undisturbed(tmp_path_factory.mktemp("crash"), "openai")


pytestmark = pytest.mark.xdist_group("crash")


@pytest.mark.slow
def test_the_undisturbed_run_is_watched_at_every_record(base: Undisturbed) -> None:
    stream = base.run.stream
    assert [line.ordinal for line in stream] == list(range(1, len(stream) + 1))
    assert len({moment.tree for moment in base.run.moments}) > 8, "each effect is seen"
    assert {line.payload["payload"]["agent"] for line in stream if line.payload["type"] == "session_meta"} == {
        "director", "repo", "coding", "devops", "chat",
    }  # fmt: skip
    assert base.run.moments[-1].requests == len(base.run.exchanges)
    requests = [each for each in base.run.exchanges if each.view is not None and "Director" in each.view.identity]
    assert len(requests) == 10
    for earlier, later in pairwise(requests):
        assert lasting(later.raw).startswith(said(earlier.raw))


@pytest.mark.slow
def test_a_cut_at_a_record_holds_it_and_all_before_it_and_nothing_of_the_next(base: Undisturbed) -> None:
    stream, cuts = base.run.stream, boundaries(base.run)
    counts = [sum(data.count(b"\n") for data in cut.records.values()) for cut in cuts]
    assert sorted(set(counts)) == list(range(1, len(stream) + 1))
    assert len(counts) > len(set(counts)), "where an effect came in between there are two"
    for cut, count in zip(cuts, counts, strict=True):
        assert b"".join(sorted(cut.records.values())) == b"".join(sorted(_files(base.run, count, cut)))
    assert [cut.is_over for cut in cuts].count(True) == 1
    assert all(cut.is_begun for cut in cuts)


def _files(run: Run, count: int, cut: Cut) -> list[bytes]:
    held = dict.fromkeys(cut.records, b"")
    for line in run.stream[:count]:
        held[line.file] += line.data
    return list(held.values())


@pytest.mark.slow
def test_a_cut_inside_a_record_leaves_one_torn_line_at_most(base: Undisturbed) -> None:
    for cut in torn(base.run, 50, seed=1):
        cut_short = [name for name, data in cut.records.items() if data and not data.endswith(b"\n")]
        assert len(cut_short) <= 1
        assert cut.torn <= len(cut_short)


@pytest.mark.slow
def test_what_lay_on_the_disk_is_a_beginning_of_each_file_and_grows(base: Undisturbed) -> None:
    cuts = as_it_lay(base.run)
    sizes = [sum(map(len, cut.records.values())) for cut in cuts]
    assert sizes == sorted(sizes)
    assert all(base.run.records[name].startswith(data) for cut in cuts for name, data in cut.records.items())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda place: (place / "steps.log").write_text("\n".join((*LOG, LOG[0])) + "\n"), "the log"),
        (lambda place: (place / "parts/one.txt").unlink(), "parts/one.txt: None"),
        (lambda place: (place / "left.tmp").write_text(""), "left.tmp"),
    ],
)
def test_files_that_are_not_as_they_should_be_are_faults(base: Undisturbed, damage: Any, fault: str) -> None:
    stage, run = base.stage, base.run
    stage.world.put(run.records, run.tree)
    good = Cut("", "", {}, run.tree)
    assert base.expected.judge(good, stage.world, [run]).faults == []
    damage(stage.world.workspace)
    found = base.expected.judge(good, stage.world, [run])
    assert any(each.startswith(fault) for each in found.faults)
    assert found.twice == (fault == "the log")


@pytest.mark.slow
def test_a_record_that_does_not_end_or_is_damaged_is_a_fault(base: Undisturbed) -> None:
    stage, run = base.stage, base.run
    director = next(name for name in run.records if name.count("_") == 1)
    whole = run.records[director]
    half = whole[: whole.index(b"\n", len(whole) // 2) - 1]  # in the middle of a line
    stage.world.put({**run.records, director: half}, run.tree)
    found = base.expected.judge(Cut("", "", {}, run.tree), stage.world, [run]).faults
    assert len(found) == 3
    assert "has 0 ends" in found[0]
    assert "more is damaged" in found[1]
    assert found[2].startswith("the records after number 0 have the numbers [1, 2, 3")


@pytest.mark.slow
def test_a_conversation_that_begins_otherwise_is_a_fault(base: Undisturbed) -> None:
    first, *_, last = [each for each in base.run.exchanges if each.view is not None and "Director" in each.view.identity]
    assert list(kept({"director": first}, Run("", exchanges=[last]))) == []
    assert "is missing" in next(kept({"director": last}, Run("", exchanges=[first])))
    other = Exchange(0, 0, "", {}, last.raw.replace(b"Carry", b"carry"), 0, 0, view=last.view)
    assert list(kept({"director": first}, Run("", exchanges=[other]))) == ["director: the bytes differ, though they mean the same"]


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are found below /proc")
async def test_a_slow_disk_takes_its_time_for_each_write_of_a_record_and_for_nothing_else(tmp_path: Path, clock: VirtualClock) -> None:
    async with Domain("session") as domain:
        log = SessionLog(tmp_path, "s", "20260101-000000", Numbers(), clock, domain, make_private_directory)
        writer = log.open(AgentIdentity("director"))
        with slow_disk(lambda: tmp_path, 3.0):
            for _ in range(2):
                began = clock.now()
                writer.append(EventMessage("something"))
                await writer.barrier()
                assert 3.0 <= clock.now() - began < 4.0
            (tmp_path / "other").write_bytes(b"x")
            await settle()
            assert clock.now() - began < 4.0
        await writer.close()


def test_a_call_without_its_one_result_is_a_fault() -> None:
    view = chat(DEVOPS, (LOOK, NOTHING_YET), (LOG_IT, ""))
    assert list(unpaired(view)) == []
    assert len(list(unpaired(replace(view, entries=view.entries[:-1])))) == 1
    assert len(list(unpaired(replace(view, entries=(*view.entries, view.entries[-1]))))) == 1


def test_the_table_counts_each_kill_once_and_goes_between_its_marks(tmp_path: Path) -> None:
    verdicts = [
        Verdict("a", "1", reached=True, told=1, seconds=2.0),
        Verdict("a", "2", faults=["broke"]),
        Verdict("b", "3", reached=True, twice=2),
    ]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table(verdicts).splitlines()[2:]]
    assert lines == [
        ["a", "2", "1", "1", "0", "0", "2", "1"],
        ["b", "1", "1", "0", "2", "0", "0", "0"],
        ["**all**", "3", "2", "1", "2", "0", "2", "1"],
    ]
    assert faults(verdicts) == ["a, 2: broke"]
    document = tmp_path / "page.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write(document, "new")
    assert document.read_text() == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
