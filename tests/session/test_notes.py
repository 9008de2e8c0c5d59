"""What delegations leave on the board: notes, the index in later requests, references, long results, evidence."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.crash.clocks import writing_to
from tests.support.fixtures import commit
from tests.support.model_server import Agent, Call, ModelServer, Reply, call, hand_over
from tests.support.session import Sessions
from yagent.agents.loop.repetition import END
from yagent.protocol.messages import Usage
from yagent.protocol.ops import StopTask
from yagent.protocol.stop import StopReason
from yagent.session.request import Resume

FACT = {"claim": "the first line says so", "where": "notes.txt:1"}


async def _looks(agent: Agent) -> Reply:
    await agent.call("read_file", path="notes.txt")
    return hand_over("The answer is in the first line.", facts=[FACT])


async def test_a_delegation_leaves_a_note_that_later_requests_are_told_of_and_that_is_never_recorded(
    sessions: Sessions, model_server: ModelServer
) -> None:
    model_server.play({"are the Director": [call("delegate_repo", task="look"), call("list_dir", path="."), "done"], "are Repo": _looks})
    async with sessions.open() as opened:
        result = await opened.do("the task")
    director = [view for view in model_server.views if "the Director" in view.identity]
    assert not any("<now>" in str(view.body) for view in director[:2]), "what the newest result says is not said twice"
    assert "repo#1 · ok · ✓ · The answer is in the first line." in director[2].hint
    assert sum(str(view.body).count("<now>") for view in director) == 1
    (note,) = sessions.home.glob(".yagent/notes/**/*.md")
    assert note.parent.name == "repo"
    assert "The answer is in the first line." in note.read_text()
    assert result.session == note.parent.parent.name
    recorded = "".join(path.read_text() for path in sessions.home.glob(".yagent/data/rollout/**/*.jsonl"))
    assert "<now>" not in recorded


async def test_foreign_words_that_begin_as_results_do_hide_no_note(sessions: Sessions, model_server: ModelServer) -> None:
    (sessions.workspace / "[repo#1 · ok]").touch()
    shows = call("list_dir", path=".")
    director: list[Reply | str] = [call("delegate_repo", task="look"), shows, call("read_note", note_id="repo#1"), "done", "again"]
    model_server.play({"are the Director": director, "are Repo": _looks})
    async with sessions.open() as opened:
        await opened.do("the task")
        await opened.do("[repo#1 · what of that?")
    views = [view for view in model_server.views if "the Director" in view.identity]
    assert ["repo#1 · ok" in view.hint for view in views] == [False, False, True, False, True]


async def test_a_long_result_is_told_by_its_conclusion_and_can_be_read_whole(sessions: Sessions, model_server: ModelServer) -> None:
    long = "word " * 3000
    seen: list[str] = []

    async def director(agent: Agent) -> Reply:
        told = await agent.call("delegate_chat", task="write")
        identifier = told.split('"artifact_id": "')[1].split('"')[0]
        seen.append(told)
        seen.append(await agent.call("read_artifact", artifact_id=identifier))
        seen.append(await agent.call("read_note", note_id="chat#1"))
        return Reply("done")

    model_server.play({"are the Director": director, "are Chat": [Reply(long, calls=hand_over("Short.").calls)]})
    async with sessions.open() as opened:
        await opened.do("the task")
    assert len(seen[0]) < 1000
    assert "word word" in seen[1]
    assert "Short." in seen[2]
    assert "word word" in seen[2], "a note holds the deliverable, not what the exit said (E-22)"


@pytest.mark.parametrize("own_words", ["", "word " * 12_000])
async def test_a_conclusion_on_one_very_long_line_is_clipped_and_can_be_read_whole(
    sessions: Sessions, model_server: ModelServer, own_words: str
) -> None:
    conclusion = "begin " + "c" * 48_000 + " end"
    facts = [{"claim": f"claim {number} of many", "where": "notes.txt:1"} for number in range(200)]
    told: list[str] = []
    pages: list[str] = []

    async def director(agent: Agent) -> Reply:
        told.append(await agent.call("delegate_repo", task="look"))
        identifier = told[0].split('"artifact_id": "')[1].split('"')[0]
        offset = 0
        while f'"offset": {offset}' in f"""{pages[-1] if pages else '"offset": 0'}""":
            pages.append(await agent.call("read_artifact", artifact_id=identifier, offset=offset))
            shown = re.search(r'"offset": ([0-9]+)', pages[-1])
            offset = int(shown[1]) if shown else -1
        return Reply("done")

    said = hand_over(conclusion, facts=facts)
    model_server.play({"are the Director": director, "are Repo": [Reply(own_words, calls=said.calls)]})
    async with sessions.open() as opened:
        await opened.do("the task")
    assert len(told[0]) < 12_000
    assert "begin ccc" in told[0]
    assert "✓ - claim 0 of many" in told[0]
    assert "read_artifact" in told[0]
    whole = "".join(page.rpartition("\n[")[0] for page in pages)
    assert conclusion in whole
    assert "claim 199 of many" in whole
    assert own_words.strip() in whole


async def test_one_delegation_over_and_over_is_a_circle_though_each_has_its_number_and_its_artifact(
    sessions: Sessions, model_server: ModelServer
) -> None:
    async def director(agent: Agent) -> Reply:
        for _ in range(2 * END):
            await agent.call("delegate_chat", task="write")
        return Reply("done")

    cites = hand_over("Short.", facts=[{"claim": "it ran", "where": "run#7"}])
    model_server.play({"are the Director": director, "are Chat": [Reply("word " * 3000, calls=cites.calls)]})
    async with sessions.open() as opened:
        result = await opened.do("the task")
    assert (result.stop_reason, len(result.delegations)) == (StopReason.LOOP_DETECTED, END)


@pytest.mark.parametrize(
    ("command", "state"),
    [
        ("", "unverified"),
        ("git status --short; cat made.txt", "unverified"),
        ("python3 -m unittest nothing; echo finished", "unverified"),
        ("python3 -m unittest nothing 2>&1 | tail -1", "unverified"),
        ("python3 -c \"open('made.txt')\" && cat made.txt", "verified"),
    ],
)
async def test_what_was_changed_is_unverified_until_a_check_proves_it(
    command: str, state: str, sessions: Sessions, model_server: ModelServer
) -> None:
    async def coding(agent: Agent) -> Reply:
        await agent.call("create_file", path="made.txt", content="made\n")
        if command:
            assert "[exit code 0" in await agent.call("run_bash", command=command)
        return hand_over("made it")

    model_server.play({"are the Director": [call("delegate_coding", task="make"), "done"], "are Coding": coding})
    async with sessions.open(mode="yolo") as opened:
        result = await opened.do("the task")
    assert result.verification == state, result.warnings
    assert f" · {state}]" in model_server.views[-1].entries[-1].results[0].text


async def test_a_cited_command_is_stale_once_another_agent_edits_a_file_that_it_could_have_read(
    sessions: Sessions, model_server: ModelServer
) -> None:
    cited = hand_over("It passes.", facts=[{"claim": "it passes", "where": "run#1"}])
    model_server.play({
        "are the Director": [call("delegate_devops", task="test"), call("delegate_coding", task="edit"), call("list_notes"), "done"],
        "are DevOps": [call("run_bash", command="cat notes.txt"), cited],
        "are Coding": [call("create_file", path="made.txt", content="made\n"), hand_over("made it")],
    })  # fmt: skip
    async with sessions.open(mode="yolo") as opened:
        await opened.do("the task")
    director = [view for view in model_server.views if "the Director" in view.identity]
    assert "\n✓ - it passes (run#1)" in director[1].entries[-1].results[0].text
    assert "devops#1 · ok · ! · It passes." in director[2].hint
    assert "devops#1 · ok · ! · It passes." in director[3].entries[-1].results[0].text


@pytest.mark.parametrize("mode", [None, "yolo"])
async def test_evidence_reads_nothing_that_an_agent_may_not_read_unasked(
    sessions: Sessions, model_server: ModelServer, tmp_path: Path, mode: str | None
) -> None:
    key = sessions.home / ".ssh/id_rsa"
    outside = tmp_path / "outside.txt"
    for place in (key, outside):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("the secret words\n")
    (sessions.workspace / "link").symlink_to(key)
    (sessions.workspace / "~").symlink_to(key.parent)
    places = [f"{key}:1", "../" * 20 + str(key)[1:], "link:1", "~/id_rsa:1", "~/.ssh/id_rsa"]
    if mode is None:
        places.append(f"{outside}:1")
    facts = [{"claim": f"fact {number}", "where": where} for number, where in enumerate(places)]
    model_server.play({"are the Director": [call("delegate_repo", task="look"), call("list_dir", path="."), "done"],
                       "are Repo": [hand_over("found", facts=facts)]})  # fmt: skip
    async with sessions.open(mode=mode) as opened:
        await opened.do("the task")
    assert f"repo#1 · ok · {'?' * len(places)} · found" in model_server.views[-1].hint
    (note,) = sessions.home.glob(".yagent/notes/**/*.md")
    assert "_hash" not in note.read_text()


async def test_references_are_looked_up_on_the_board_also_in_a_later_task(sessions: Sessions, model_server: ModelServer) -> None:
    async with sessions.open() as opened:
        model_server.play({"are the Director": [call("delegate_repo", task="look"), "done"], "are Repo": _looks})
        await opened.do("one")
        model_server.play({"are the Director": [call("delegate_chat", task="use it", context_refs=["agent:repo"]), "done"],
                           "are Chat": [hand_over("used")]})  # fmt: skip
        await opened.do("two")
    chat = next(view for view in model_server.views if "are Chat" in view.identity)
    assert "the first line says so" in chat.task
    assert "<now>" not in str(chat.body), "the index does not repeat what is given in full"


async def test_a_result_keeps_its_name_for_the_whole_session_even_when_calls_have_the_same_ids(
    sessions: Sessions, model_server: ModelServer
) -> None:
    """Three tasks, the third after the session was opened again: no name means two results, and none of them is written over."""

    def looks(number: int) -> None:
        asks = Reply(calls=(Call("delegate_repo", {"task": f"look {number}"}, id="call_0"),))
        uses = call("delegate_chat", task=f"use {number}", context_refs=["agent:repo#1", "agent:repo"])
        model_server.play(
            {"are the Director": [asks, uses, "done"], "are Repo": [hand_over(f"FOUND {number}")], "are Chat": [hand_over("used")]}
        )

    async with sessions.open() as opened:
        for number in (1, 2):
            looks(number)
            first = await opened.do("look")
    async with sessions.open(resume=Resume(first.session)) as opened:
        looks(3)
        await opened.do("look")
    given = [re.findall(r"FOUND \d", view.task) for view in model_server.views if "are Chat" in view.identity]
    assert [set(each) for each in given] == [{"FOUND 1"}, {"FOUND 1", "FOUND 2"}, {"FOUND 1", "FOUND 3"}]
    notes = sorted(sessions.home.glob(".yagent/notes/*/repo/*.md"))
    assert [re.findall(r"FOUND \d", note.read_text())[0] for note in notes] == ["FOUND 1", "FOUND 2", "FOUND 3"]
    told = [result.text for entry in model_server.views[-1].entries for result in entry.results]
    named = re.findall(r"^\[(repo#\d)", "\n".join(told), re.MULTILINE)
    assert named == ["repo#1", "repo#2", "repo#3"]


async def test_switched_off_nothing_is_written_or_shown(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": [call("delegate_repo", task="look"), "done"], "are Repo": _looks})
    async with sessions.open(environ=sessions.environment(YAGENT_BLACKBOARD="0")) as opened:
        await opened.do("the task")
    assert not list(sessions.home.glob(".yagent/notes/**/*.md"))
    assert not any("<now>" in str(view.body) for view in model_server.views)


async def test_what_proved_a_change_still_proves_it_when_the_session_goes_on(sessions: Sessions, model_server: ModelServer) -> None:
    async def coding(agent: Agent) -> Reply:
        await agent.call("create_file", path="made.txt", content="made\n")
        await agent.call("run_bash", command="python3 -c \"open('made.txt')\"")
        return hand_over("made it")

    async def director(agent: Agent) -> Reply:
        await agent.call("delegate_coding", task="make")
        await opened.session.submit(StopTask())
        return Reply("never said")

    model_server.play({"are the Director": director, "are Coding": coding})
    async with sessions.open(mode="yolo") as opened:
        first = await opened.do("the task")
    model_server.play({"are the Director": [call("delegate_devops", task="look"), "done"],
                       "are DevOps": [call("run_bash", command="true"), hand_over("looked")]})  # fmt: skip
    async with sessions.open(mode="yolo", resume=Resume(first.session)) as again:
        result = await again.go_on()
    assert result.verification == "verified", result.warnings
    devops = [view for view in model_server.views if "are DevOps" in view.identity]
    assert "run#2" in devops[-1].entries[-1].results[0].text


async def test_boards_that_nobody_touched_for_a_week_go_at_the_end_of_a_session(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": [call("delegate_repo", task="look"), "done"], "are Repo": _looks})
    async with sessions.open() as opened:
        await opened.do("the task")
    (note,) = sessions.home.glob(".yagent/notes/**/*.md")
    os.utime(note, (0, 0))
    model_server.play({"are the Director": ["done"]})
    async with sessions.open() as opened:
        await opened.do("another")
    assert not note.exists()


async def test_a_record_that_cannot_be_closed_keeps_nothing_else_from_being_put_away(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": [call("delegate_repo", task="look"), "done"], "are Repo": _looks})
    async with sessions.open() as opened:
        await opened.do("the task")
    (note,) = sessions.home.glob(".yagent/notes/**/*.md")
    os.utime(note, (0, 0))
    model_server.play({"are the Director": [Reply("I look.", calls=call("list_dir", path=".").calls, usage=Usage(4000, 10)), "done"]})

    async def closes_its_record() -> None:
        async with sessions.open() as opened:
            await opened.do("the task")
            (record,) = writing_to(next(sessions.home.glob(".yagent/data/rollout/*")))
            os.close(record)

    with pytest.raises(OSError, match="Bad file descriptor"):
        await closes_its_record()
    assert not note.exists()
    assert (sessions.home / ".yagent/data/tokens.json").exists()


async def test_the_exit_code_of_a_pipe_proves_nothing(sessions: Sessions, model_server: ModelServer) -> None:
    async def coding(agent: Agent) -> Reply:
        await agent.call("create_file", path="made.txt", content="made\n")
        await agent.call("run_bash", command="false | tail -1")
        return hand_over("made it")

    model_server.play({"are the Director": [call("delegate_coding", task="make"), "done"], "are Coding": coding})
    async with sessions.open(mode="yolo") as opened:
        assert (await opened.do("the task")).verification == "unverified"


async def test_each_command_of_a_delegation_is_told_with_its_id_and_what_a_fact_cites_before_the_others(
    sessions: Sessions, model_server: ModelServer
) -> None:
    lines = ["cat notes.txt", "test -f notes.txt", *(f"echo {number}" for number in range(6))]
    cites = hand_over("It is fine.", facts=[{"claim": "exit 0", "where": "cat notes.txt"}])
    model_server.play({"are the Director": [call("delegate_devops", task="test"), "done"],
                       "are DevOps": [*(call("run_bash", command=line) for line in lines), cites]})  # fmt: skip
    async with sessions.open(mode="yolo") as opened:
        await opened.do("the task")
    told = model_server.views[-1].entries[-1].results[0].text
    assert "\nCommands it ran: cat notes.txt → exit 0 (run#1); test -f notes.txt → exit 0 (run#2); echo 3 → exit 0 (run#6); " in told
    assert "; … and 3 more: echo 0 → exit 0 (run#3), echo 1 → exit 0 (run#4), echo 2 → exit 0 (run#5)\n" in told


async def test_words_without_a_hand_over_are_partial_wherever_a_delegation_is_told_of(
    sessions: Sessions, model_server: ModelServer
) -> None:
    model_server.play({"are the Director": [call("delegate_devops", task="look"), call("list_notes"), "done"], "are DevOps": ["All fine."]})
    async with sessions.open() as opened:
        result = await opened.do("the task")
    director = [view for view in model_server.views if "the Director" in view.identity]
    assert "[devops#1 · partial, no hand-over · plain_text · 1 step]" in director[1].entries[-1].results[0].text
    assert "devops#1 · partial, no hand-over · All fine." in director[2].entries[-1].results[0].text
    assert [each.status for each in result.delegations] == ["partial"]
    assert result.status == "ok"


async def test_a_commit_that_was_made_meanwhile_is_told_as_it_was_measured(sessions: Sessions, model_server: ModelServer) -> None:
    commit(sessions.workspace, "init", "-q", "-b", "main")
    (sessions.workspace / "made.txt").write_text("made\n")
    commit(sessions.workspace, "add", ".")
    commit(sessions.workspace, "commit", "-q", "-m", "First")
    (sessions.workspace / "made.txt").write_text("changed\n")
    for name in ("user.name", "user.email"):
        commit(sessions.workspace, "config", name, "a@b")
    model_server.play({
        "are the Director": [call("delegate_devops", task="commit"), call("delegate_devops", task="look"), "done"],
        "are DevOps": [call("run_bash", command="git commit -qam Second && git checkout -q -b fix"), hand_over("committed"),
                       hand_over("looked")],
    })  # fmt: skip
    async with sessions.open(mode="yolo") as opened:
        await opened.do("the task")
    first, second = (result.text for entry in model_server.views[-1].entries for result in entry.results)
    assert re.search(r"\nHEAD moved while it worked: main → fix, new commits:\n[0-9a-f]{10} Second\n", first)
    assert "HEAD moved" not in second
