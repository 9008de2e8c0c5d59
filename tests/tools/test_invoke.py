"""One call from the model's text to one result: order, permission, teaching, limits."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pytest

from tests.support.virtual_time import VirtualClock
from tests.tools.scopes import NO, NOBODY, YES, Desk, call
from yagent.errors import YagentError
from yagent.protocol.asks import Answer, Offer
from yagent.protocol.messages import ToolCall
from yagent.tools.bounds import MAX_BYTES, MAX_LINES, NOTHING
from yagent.tools.parameters import Describe
from yagent.tools.spec import AnySpec, CallContext, Effect, Output, Spec
from yagent.tools.surface import Surface
from yagent.workspace.actions import Action, EditPath, Mode, ReadPath, ShellLine
from yagent.workspace.grants import Grants
from yagent.workspace.permissions import Permissions, PermissionSettings


@dataclass(frozen=True, slots=True)
class Parameters:
    """What the probe takes."""

    path: Annotated[str, Describe("A path.")] = "a.txt"
    count: Annotated[int, Describe("A number.", minimum=1)] = 1


class Probe:
    """A tool that writes down each stage it passes."""

    def __init__(self, desk: Desk, *, actions: Callable[[Parameters], Sequence[Action]] | None = None, **fields: Any) -> None:
        self.desk = desk
        self.log: list[str] = []
        self.effect: Callable[[Parameters, CallContext], Output | Awaitable[Output]] | None = None
        self._actions = actions or (lambda parameters: (EditPath(parameters.path, "edit"),))
        spec: AnySpec = Spec("probe", Effect.FS_WRITE, Parameters, self.execute, actions=self.act, mutates=True)
        desk.use(Surface("coding", [replace(spec, **fields)], descriptions={"probe": "Probe.\nMore."}))

    def act(self, parameters: Parameters) -> Sequence[Action]:
        self.log.append("actions")
        return self._actions(parameters)

    async def execute(self, parameters: Parameters, context: CallContext) -> Output:
        self.log.append(f"execute, lock held: {self.desk.write_lock.locked()}")
        if self.effect is not None:
            result = self.effect(parameters, context)
            return result if isinstance(result, Output) else await result
        return Output(f"{parameters.path} {parameters.count}")


@pytest.fixture
def desk(tmp_path: Path, clock: VirtualClock) -> Desk:
    """An agent that asks before it changes anything."""
    workspace = tmp_path / "work"
    workspace.mkdir()
    return Desk(workspace, clock, mode=Mode.ASK)


async def test_a_call_passes_arguments_permission_lock_and_effect_in_this_order(desk: Desk) -> None:
    probe = Probe(desk)
    desk.person.answers = [YES]
    stages = probe.log
    asked = desk.person.asked

    def effect(parameters: Parameters, context: CallContext) -> Output:
        stages.append(f"asked: {len(asked)}")
        return Output("done")

    probe.effect = effect
    assert (await desk.make("probe", path="a.txt")).text == "done"
    assert stages == ["actions", "execute, lock held: True", "asked: 1"]
    assert not desk.write_lock.locked()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (ToolCall("1", "probe", "{}", malformed='{"path": '), "were not one JSON object"),
        (ToolCall("1", "probe", "[1]"), "were not one JSON object"),
        (ToolCall("1", "probe", "{oops"), "were not one JSON object"),
        (call("probe", count=0), '"count" must be an integer >= 1, got 0'),
        (call("prob"), "no tool called 'prob'. Did you mean probe?"),
        (call("Probe"), "Did you mean probe?"),
        (call("mcp__gone__x"), "Your tools are: probe."),
        (call(""), "has no tool name"),
    ],
)
async def test_what_cannot_be_called_is_taught_and_touches_nothing(desk: Desk, sent: ToolCall, said: str) -> None:
    probe = Probe(desk)
    output = await desk.invoker.invoke(sent, desk.scope)
    assert output.is_error
    assert said in output.text
    assert probe.log == []


@pytest.mark.parametrize("text", ['"{\\"path\\": \\"b\\", \\"count\\": \\"2\\"}"', '{"path": "b", "count": "2", "cuont": 3}'])
async def test_what_was_tolerated_is_noted_after_the_result(desk: Desk, text: str) -> None:
    Probe(desk, actions=lambda parameters: ())
    output = await desk.invoker.invoke(ToolCall("1", "probe", text), desk.scope)
    assert output.text.startswith("b 2\n[note: ")


async def test_a_cold_tool_teaches_first_and_then_works_in_every_form(desk: Desk) -> None:
    probe = Probe(desk, frequency="cold", actions=lambda parameters: ())
    first = await desk.make("probe", path="b")
    assert first.is_error
    assert probe.log == []
    assert '"minimum": 1' in first.text
    assert "More." in first.text
    for arguments in ({"path": "b"}, {"arguments": '{"path": "b"}'}, {"arguments": {"path": "b"}}):
        assert (await desk.make("probe", **arguments)).text == "b 1"
    assert (await desk.make("probe", arguments="no json")).text.startswith("a.txt 1\n[note: ")


async def test_calls_written_beside_the_one_that_teaches_are_taught_too(desk: Desk) -> None:
    probe = Probe(desk, frequency="cold", actions=lambda parameters: ())
    for _ in range(2):
        output = await desk.invoker.invoke(call("probe", path="b"), desk.scope)
        assert output.is_error
        assert '"minimum": 1' in output.text
    assert probe.log == []
    assert (await desk.make("probe", path="b")).text == "b 1"


async def test_load_tool_opens_a_cold_tool_and_names_what_it_cannot_open(desk: Desk) -> None:
    output = await desk.make("load_tool", names=["design", "read_file", "desing"])
    assert not output.is_error
    assert '"requirement"' in output.text
    assert "Already open, call directly: read_file." in output.text
    assert "No tool is called 'desing'" in output.text
    assert (await desk.make("design", requirement="x")).text == "a reply"
    assert (await desk.make("load_tool", names=["nothing"])).is_error


async def test_a_denial_by_rules_says_so_and_is_remembered(desk: Desk) -> None:
    probe = Probe(desk, actions=lambda parameters: (ReadPath(parameters.path),))
    output = await desk.make("probe", path="/proc/self/environ")
    assert output.is_error
    assert "refused by the rules" in output.text
    assert "user" not in output.text
    assert "execute, lock held: True" not in probe.log
    assert [(each.agent, each.tool, each.answered_by) for each in desk.denials] == [("Coding", "probe", "rules")]


@pytest.mark.parametrize(
    ("answer", "said", "by"),
    [
        (NO, "The user declined probe (a.txt)", "user"),
        (Answer(granted=False, text="use b.txt"), "They said: use b.txt", "user"),
        (NOBODY, "nobody can give one in this run", "nobody"),
        (Answer(granted=False, answered_by="cancelled"), "the question was cancelled", "cancelled"),
    ],
)
async def test_a_refused_ask_says_what_was_refused_and_by_whom(desk: Desk, answer: Answer, said: str, by: str) -> None:
    probe = Probe(desk)
    desk.person.answers = [answer]
    output = await desk.make("probe")
    assert output.is_error
    assert said in output.text
    assert "Nothing was executed" in output.text
    assert ("The user declined" in output.text) == (by == "user")
    assert probe.log == ["actions"]
    assert [(each.subject, each.answered_by) for each in desk.denials] == [("a.txt", by)]


@pytest.mark.parametrize(
    ("mode", "path", "advice"),
    [
        (Mode.ASK, "a b.txt", "--allow 'edit({workspace}/a b.txt)' without -y allows it; -y alone may"),
        (Mode.YOLO, "../b.txt", '-y does not cover this; in config.toml, [permissions] allow = ["edit({outside}/b.txt)"] does'),
        (Mode.YOLO, ".git/hooks/x", "-y does not cover this; no single rule does: run it yourself, or where you can be asked"),
    ],
)
async def test_where_nobody_can_answer_the_account_says_what_would_allow_the_call(
    workspace: Path, clock: VirtualClock, mode: Mode, path: str, advice: str
) -> None:
    desk = Desk(workspace, clock, mode=mode)
    desk.person.usually = NOBODY
    Probe(desk)
    await desk.make("probe", path=path)
    (denied,) = desk.denials
    assert denied.advice.partition(" (an --allow list")[0] == advice.format(workspace=workspace, outside=workspace.parent)


@pytest.mark.parametrize(
    ("answer", "summary"),
    [
        (NO, "denied: by you"),
        (Answer(granted=False, text="use b.txt"), "denied: by you: use b.txt"),
        (NOBODY, "denied: nobody could be asked. changing a.txt."),
    ],
)
async def test_the_summary_of_a_refused_call_begins_with_the_reason(desk: Desk, answer: Answer, summary: str) -> None:
    Probe(desk)
    desk.person.answers = [answer]
    assert (await desk.make("probe")).summary == summary


async def test_the_ask_shows_exactly_what_would_be_done_and_who_wants_it(desk: Desk) -> None:
    Probe(desk)
    desk.person.answers = [YES]
    await desk.make("probe", path="dir/../a.txt")
    (ask,) = desk.person.asked
    assert (ask.kind, ask.tool, ask.subject, ask.origin) == ("approval", "probe", "dir/../a.txt", desk.scope.agent)
    assert ask.reasons
    assert ask.offers[0] == Offer("once")


async def test_a_grant_for_the_session_is_kept_and_asks_no_more(desk: Desk) -> None:
    Probe(desk)
    desk.person.answers = [YES]
    await desk.make("probe")
    offer = next(each for each in desk.person.asked[0].offers if each.scope == "session")
    desk.person.answers = [replace(YES, offer=offer)]
    await desk.make("probe")
    await desk.make("probe")
    assert len(desk.person.asked) == 2


async def test_a_grant_that_cannot_be_stored_is_told_to_people(desk: Desk) -> None:
    Probe(desk)
    (desk.workspace / "file").write_text("")
    heard: list[str] = []
    grants = Grants(desk.workspace, desk.workspace / "file" / "settings.json", clock=desk.clock)
    desk.person.answers = [replace(YES, offer=Offer("project", "edit(a.txt)"))]
    output = await desk.invoker.invoke(call("probe"), replace(desk.scope, grants=grants, warn=heard.append))
    assert output.text == "a.txt 1"
    (warning,) = heard
    assert "the grant edit(a.txt) holds for this session only" in warning


async def test_an_offer_nobody_made_is_not_kept(desk: Desk) -> None:
    Probe(desk)
    desk.person.answers = [replace(YES, offer=Offer("project", "edit(**)")), NO]
    assert not (await desk.make("probe")).is_error
    assert (await desk.make("probe")).is_error


async def test_what_changed_while_the_user_thought_is_asked_again(desk: Desk) -> None:
    Probe(desk)
    place = desk.workspace / "a.txt"
    place.write_text("one")

    class Slow:
        """Changes the file while the first question is open."""

        count = 0

        async def __call__(self, ask: object) -> Answer:
            self.count += 1
            if self.count == 1:
                place.write_text("two")
            return YES

    slow = Slow()
    output = await desk.invoker.invoke(call("probe"), replace(desk.scope, ask=slow))
    assert not output.is_error
    assert slow.count == 2


async def test_what_never_stops_changing_is_given_up(desk: Desk) -> None:
    probe = Probe(desk)
    place = desk.workspace / "a.txt"
    place.write_text("")

    async def restless(ask: object) -> Answer:
        place.write_text(place.read_text() + "x")
        return YES

    output = await desk.invoker.invoke(call("probe"), replace(desk.scope, ask=restless))
    assert output.is_error
    assert "kept changing" in output.text
    assert probe.log == ["actions"]


@pytest.mark.parametrize(
    ("action", "threads"),
    [(ShellLine("rm a.txt", "."), 2), (EditPath("a.txt", "delete"), 2), (EditPath("a.txt", "replace"), 2), (EditPath("a.txt", "edit"), 0)],
)
async def test_what_takes_time_to_judge_never_holds_up_the_event_loop(desk: Desk, action: Action, threads: int) -> None:
    (desk.workspace / "a.txt").write_text("user's")
    looked: list[int] = []

    def recoverable(path: Path) -> bool:
        looked.append(threading.get_ident())
        return True

    permissions = Permissions(PermissionSettings(desk.workspace, Mode.YOLO, recoverable=recoverable))
    Probe(desk, actions=lambda parameters: (action,))
    assert not (await desk.invoker.invoke(call("probe"), replace(desk.scope, permissions=permissions))).is_error
    assert len(looked) >= threads
    assert threading.get_ident() not in looked


async def test_waiting_for_another_writer_costs_no_time_of_the_tool(desk: Desk) -> None:
    Probe(desk, timeout=10.0, actions=lambda parameters: ())

    async def hold() -> None:
        async with desk.write_lock:
            await asyncio.sleep(100)

    holder = asyncio.ensure_future(hold())
    await asyncio.sleep(0)
    assert (await desk.make("probe")).text == "a.txt 1"
    await holder


async def test_a_tool_over_its_limit_is_an_error_result(desk: Desk) -> None:
    probe = Probe(desk, timeout=0.05, actions=lambda parameters: ())
    probe.effect = lambda parameters, context: asyncio.sleep(1, Output("late"))
    output = await desk.make("probe")
    assert output.is_error
    assert "did not finish within 0.05 s" in output.text
    assert not desk.write_lock.locked()


@pytest.mark.parametrize(
    ("error", "said"),
    [(RuntimeError("boom"), "RuntimeError: boom"), (YagentError("No such file: x."), "No such file: x."), (TimeoutError(), "TimeoutError")],
)
async def test_what_a_tool_raises_is_an_error_result(desk: Desk, error: Exception, said: str, caplog: pytest.LogCaptureFixture) -> None:
    probe = Probe(desk, actions=lambda parameters: ())

    def effect(parameters: Parameters, context: CallContext) -> Output:
        raise error

    probe.effect = effect
    with caplog.at_level(logging.ERROR):
        output = await desk.make("probe")
    assert output.is_error
    assert said in output.text
    assert bool(caplog.records) != isinstance(error, YagentError)


async def test_cancelling_leaves_as_cancellation_and_frees_the_lock(desk: Desk) -> None:
    probe = Probe(desk, actions=lambda parameters: (), timeout=None)
    running = asyncio.Event()

    async def hang() -> Output:
        running.set()
        await asyncio.Event().wait()
        return Output("")

    probe.effect = lambda parameters, context: hang()
    task = asyncio.ensure_future(desk.make("probe"))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not desk.write_lock.locked()


@pytest.mark.parametrize("text", ["", " \n"])
async def test_a_result_is_never_blank(desk: Desk, text: str) -> None:
    probe = Probe(desk, actions=lambda parameters: ())
    probe.effect = lambda parameters, context: Output(text)
    assert (await desk.make("probe")).text == NOTHING


@pytest.mark.parametrize(
    "text",
    [
        "x" * (3 * MAX_BYTES),
        "\n".join(f"line {number}" for number in range(3 * MAX_LINES)),
        "é" * (2 * MAX_BYTES),
        "a\n" + "b" * (2 * MAX_BYTES) + "\nc",
    ],
)
async def test_a_long_result_keeps_head_and_tail_and_says_what_is_missing(desk: Desk, text: str) -> None:
    probe = Probe(desk, actions=lambda parameters: ())
    probe.effect = lambda parameters, context: Output(text)
    shown = (await desk.make("probe")).text
    assert len(shown.encode()) <= MAX_BYTES + 300
    assert len(shown.splitlines()) <= MAX_LINES + 3
    assert shown[0] == text[0]
    assert shown[-1] == text[-1]
    assert "left out here" in shown


async def test_a_result_can_always_be_sent_as_utf8(desk: Desk) -> None:
    probe = Probe(desk, actions=lambda parameters: ())
    probe.effect = lambda parameters, context: Output("a\udcffb", summary="\udcff", diff="\ud800", paths=("x\udcff",))
    output = await desk.make("probe")
    assert (output.text, output.summary, output.diff, output.paths) == ("a\ufffdb", "\ufffd", "\ufffd", ("x\ufffd",))


async def test_notes_stand_after_a_cut_result_and_stay_few(desk: Desk) -> None:
    probe = Probe(desk, actions=lambda parameters: ())
    probe.effect = lambda parameters, context: Output("x" * (2 * MAX_BYTES))
    output = await desk.make("probe", **{f"unknown{number}": "y" for number in range(50)}, **{"z" * 9000: 1})
    assert output.text.count("left out here") == 1
    assert output.text.count("[note: ") == 10
    assert len(output.text.encode()) < MAX_BYTES + 5000
