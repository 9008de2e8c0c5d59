"""The tiers together: what is compressed when, what survives, and that it ends."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compression.sizes import PRIORITIES, FourCharacters, conversation, lines, pairs_are_whole, priority, step
from yagent.compression.compaction import Compaction, Facts
from yagent.compression.measure import Prefix
from yagent.compression.policy import ContextFull, policy
from yagent.compression.state import CompressionState, Streak
from yagent.compression.threshold import CompressionSettings, Window
from yagent.llm.engine import ContextTooLong, ModelGaveUp
from yagent.prompts.text import Prompts
from yagent.protocol.messages import Message, user_message
from yagent.thoughts import grammar
from yagent.thoughts.log import ThoughtLog

PROMPTS = Prompts()
FACTS = Facts(
    goal="release 2.0",
    user_inputs=("do A", "never touch generated/", "change the plan: do NOT write code yet, show the plan"),
    rules=("Use tabs.", "Answer in Chinese."),
    open_items=("write the notes",),
    files_changed=("a.py",),
    running=("coding#2",),
)
VERBATIM = (FACTS.goal, *FACTS.user_inputs, *FACTS.rules, *FACTS.open_items, *FACTS.files_changed, *FACTS.running)


class Summariser:
    """Plays the model that is asked for a summary: with the texts given, the last one again and again; an error is raised."""

    def __init__(self, *answers: str | Exception) -> None:
        self._answers = list(answers or ("worked on stuff",))
        self.prompts: list[str] = []

    async def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def thoughts(*goals: str, said: Sequence[str] = FACTS.user_inputs) -> ThoughtLog:
    log = ThoughtLog()
    for text in said:
        log.user(text)
    for goal in goals:
        raw = f"<thought>\ngoal: {goal}\nreason: r\n</thought>"
        log.thought(next(grammar.readings(raw))[0], raw)
    return log


def state(messages: Sequence[Message], threshold: int, head: int = 0, log: ThoughtLog | None = None) -> CompressionState:
    return CompressionState(
        messages=tuple(messages),
        prefix=Prefix(FourCharacters(), head=head),
        threshold=threshold,
        window=Window(threshold * 4 // 3),
        id="c7",
        thoughts=thoughts("plan the release") if log is None else log,
        prompts=PROMPTS,
    )


def after(messages: Sequence[Message], compaction: Compaction) -> tuple[Message, ...]:
    return (*compaction.messages, *messages[compaction.replaces :])


def size(messages: Sequence[Message]) -> int:
    return Prefix(FourCharacters()).local(messages)


LONG = conversation([lines(2000)] * 5)  # its results can be shortened
WORDY = tuple(Message("assistant" if number % 2 else "user", user_message(lines(200)).parts) for number in range(40))  # nothing can


async def test_below_the_threshold_nothing_happens() -> None:
    assert await policy(state(LONG, 10**6), priority, FACTS, Summariser()) is None
    assert await policy(state((), 10), priority, FACTS, Summariser()) is None


async def test_switched_off_no_tier_ever_runs() -> None:
    off = CompressionSettings(enable_context_compression=False)
    assert await policy(replace(state(LONG, 1000), settings=off, is_forced=True), priority, FACTS, Summariser()) is None


async def test_the_first_tier_comes_first_frees_half_the_room_and_asks_no_model() -> None:
    summariser = Summariser()
    found = await policy(state(LONG, 6000, head=1000), priority, FACTS, summariser)
    assert found is not None
    assert (found.tier, found.has_room, found.requests, summariser.prompts) == ("rule", True, 0, [])
    assert size(after(LONG, found)) <= 2500 + 10
    assert found.before == size(LONG)
    assert abs(found.after - size(after(LONG, found))) <= len(found.dropped)
    assert [dropped.id for dropped in found.dropped] == [f"c7.{number}" for number in range(1, len(found.dropped) + 1)]


async def test_the_second_tier_leaves_one_message_of_the_user_with_facts_summary_and_last_messages() -> None:
    messages = (*WORDY, *step(1, "the newest result"))
    summariser = Summariser("Found the rounding in totals.py:12.")
    found = await policy(state(messages, 6000), priority, FACTS, summariser)
    assert found is not None
    assert (found.tier, found.replaces, found.requests, found.has_room) == ("emergency", len(messages), 1, True)
    (message,) = found.messages
    assert message.role == "user"
    assert all(text in message.text for text in (*VERBATIM, "Found the rounding in totals.py:12.", "the newest result", "file_1.py"))
    assert message.text.rstrip().endswith(FACTS.user_inputs[-1])
    (dropped,) = found.dropped
    assert dropped.id == "c7"
    assert "read_artifact c7" in message.text
    assert WORDY[0].text in dropped.text


async def test_the_summary_is_asked_for_within_the_threshold_and_about_what_is_not_kept_anyway() -> None:
    summariser = Summariser("a summary")
    await policy(state((*WORDY, *step(1, "the newest result")), 3000), priority, FACTS, summariser)
    (prompt,) = summariser.prompts
    assert FourCharacters().count(prompt) <= 3000
    assert FACTS.goal in prompt
    assert "the newest result" not in prompt


async def test_a_summary_that_is_too_long_is_cut() -> None:
    found = await policy(state(WORDY, 6000), priority, FACTS, Summariser("word " * 20_000))
    assert found is not None
    assert (found.tier, found.has_room) == ("emergency", True)
    assert all(text in found.messages[0].text for text in VERBATIM)


async def test_when_no_summary_can_be_had_the_third_tier_rebuilds_from_the_thoughts() -> None:
    summariser = Summariser(ModelGaveUp("refused"))
    found = await policy(state(WORDY, 6000, log=thoughts("look around", "plan the release")), priority, FACTS, summariser)
    assert found is not None
    assert (found.tier, found.requests, len(found.notes)) == ("ultimate", 2, 2)
    assert all(text in found.messages[0].text for text in (*VERBATIM, "goal: look around", "goal: plan the release"))
    assert found.messages[0].text.rstrip().endswith(FACTS.user_inputs[-1])


async def test_the_second_request_for_a_summary_is_half_the_first() -> None:
    summariser = Summariser(ContextTooLong("too long"), "a summary")
    found = await policy(state(WORDY, 6000), priority, FACTS, summariser)
    assert found is not None
    assert (found.tier, found.requests) == ("emergency", 2)
    first, second = (FourCharacters().count(prompt) for prompt in summariser.prompts)
    assert second <= 3000 < first <= 6000


@pytest.mark.parametrize(("keep", "kept"), [(0, {"one", "two", "three"}), (2, {"two", "three"})])
async def test_the_third_tier_keeps_as_many_thoughts_as_are_asked_for(keep: int, kept: set[str]) -> None:
    settings = CompressionSettings(ultimate_compression_keep_plans=keep)
    asked = replace(state(WORDY, 6000, log=thoughts("one", "two", "three")), settings=settings, streak=Streak(summaries=2))
    found = await policy(asked, priority, FACTS, Summariser())
    assert found is not None
    assert found.tier == "ultimate"
    assert {name for name in ("one", "two", "three") if f"goal: {name}" in found.messages[0].text} == kept


@pytest.mark.parametrize(
    ("is_enabled", "log", "runs"),
    [(True, thoughts("x"), True), (False, thoughts("x"), False), (True, ThoughtLog(), False), (False, ThoughtLog(), False)],
)
async def test_the_third_tier_needs_its_switch_and_something_to_rebuild_from(is_enabled: bool, log: ThoughtLog, runs: bool) -> None:
    settings = CompressionSettings(enable_ultimate_compression=is_enabled)
    asked = replace(state(WORDY, 6000, log=log), settings=settings, streak=Streak(summaries=2))
    if runs:
        found = await policy(asked, priority, FACTS, Summariser())
        assert found is not None
        assert found.tier == "ultimate"
    else:
        with pytest.raises(ContextFull):
            await policy(asked, priority, FACTS, Summariser())


async def test_what_the_provider_refused_is_compressed_though_the_estimate_says_it_fits() -> None:
    found = await policy(replace(state(LONG, 10**6), is_forced=True), priority, FACTS, Summariser())
    assert found is not None
    assert found.after <= 0.7 * found.before


async def test_asked_to_compress_a_conversation_that_is_small_already_it_leaves_it_alone() -> None:
    small = conversation(["ok"])
    assert await policy(replace(state(small, 10**6), is_forced=True), priority, FACTS, Summariser()) is None


async def test_the_latest_words_and_rules_stand_whatever_the_summary_says_case_d09() -> None:
    interrupted = (*WORDY, *step(1, lines(300)), user_message(FACTS.user_inputs[-1]))
    found = await policy(state(interrupted, 6000), priority, FACTS, Summariser("worked on stuff"))
    assert found is not None
    text = found.messages[0].text
    places = [text.index(each) for each in ("Use tabs.", "do A", "never touch", "worked on stuff", "write the notes", "coding#2")]
    assert places == sorted(places)
    assert text.count(FACTS.user_inputs[-1]) == 1
    assert text.rstrip().endswith(FACTS.user_inputs[-1])


@pytest.mark.parametrize("tool", ["read_file", "design"])
async def test_a_result_larger_than_the_window_does_not_end_the_session_case_d07(tool: str) -> None:
    summariser = Summariser()
    messages = (user_message("look"), *step(0, lines(5000), tool))
    found = await policy(replace(state(messages, 1500), window=Window(2000)), priority, FACTS, summariser)
    assert found is not None
    assert found.has_room
    assert size(after(messages, found)) <= 1500
    assert lines(5000)[-100:] in "".join(result.text for each in after(messages, found) for result in each.results) + found.messages[0].text
    assert all(FourCharacters().count(prompt) <= 2000 for prompt in summariser.prompts)
    assert len(set(summariser.prompts)) == len(summariser.prompts)


async def test_a_request_for_a_summary_fits_the_model_that_is_asked_also_where_its_window_is_smaller() -> None:
    for limit in (700, 10**6):
        summariser = Summariser("a summary")
        found = await policy(replace(state(WORDY, 6000), summary_limit=limit), priority, FACTS, summariser)
        assert found is not None
        assert found.tier == "emergency"
        (prompt,) = summariser.prompts
        assert FourCharacters().count(prompt) <= min(limit, 6000)


async def session(steps: int, head: int, threshold: int, result: int, summariser: Summariser) -> list[Compaction]:
    """Steps until the end or until the context is full, with a compression before each request that needs one."""
    log = thoughts(said=("do A",))
    messages: tuple[Message, ...] = (user_message("do A"),)
    streak, found = Streak(), []
    for number in range(steps):
        asked = replace(state(messages, threshold, head, log), streak=streak, id=f"c{number}")
        compaction = await policy(asked, priority, Facts(goal="do A", user_inputs=("do A",)), summariser)
        streak = streak.after(compaction)
        if compaction is not None:
            found.append(compaction)
            messages = after(messages, compaction)
        assert head + size(messages) <= threshold
        messages += step(number, lines(result), words=f"<thought>\ngoal: {number}\n</thought>")
        for thought, raw in grammar.readings(messages[-2].text):
            log.thought(thought, raw)
    return found


async def test_a_window_that_system_prompt_and_tools_fill_ends_the_run_case_d06() -> None:
    summariser = Summariser("s" * 3600)
    with pytest.raises(ContextFull, match="window of 2133 tokens") as raised:
        await session(48, head=1500, threshold=1600, result=200, summariser=summariser)
    assert len(summariser.prompts) <= 2
    assert raised.value.exit_code == 3


async def test_compressions_without_room_are_tried_twice_in_a_row() -> None:
    summariser = Summariser("s" * 3600)
    with pytest.raises(ContextFull):
        await session(200, head=1500, threshold=1900, result=350, summariser=summariser)
    assert len(summariser.prompts) <= 2


async def test_a_long_session_in_a_small_window_goes_on_to_its_end() -> None:
    summariser = Summariser("read many files; all were fine. " * 10)
    found = await session(300, head=2500, threshold=6000, result=400, summariser=summariser)
    assert {compaction.tier for compaction in found} >= {"rule", "emergency"}
    assert all(compaction.has_room for compaction in found)
    assert len(found) < 100
    assert len(summariser.prompts) < 40


def test_a_step_without_compression_ends_the_streak() -> None:
    cramped = Compaction("rule", "c1", 1, (), 10, 5, (), has_room=False, requests=1)
    assert Streak().after(cramped).after(cramped) == Streak(cramped=2, summaries=2)
    assert Streak().after(cramped).after(replace(cramped, has_room=True)) == Streak(cramped=0, summaries=2)
    assert Streak(2, 2).after(None) == Streak()


@pytest.mark.parametrize("tool", ["read_file", "design"])  # the one for the first tier, the other for the second
async def test_the_cost_of_every_tier_is_linear_in_the_conversation(tool: str) -> None:
    spent = []
    for steps in (100, 200, 400):
        counter = FourCharacters()
        messages = (user_message("go"), *(message for number in range(steps) for message in step(number, lines(400), tool)))
        asked = state(messages, steps * 250)
        await policy(replace(asked, prefix=Prefix(counter)), priority, FACTS, Summariser())
        spent.append(counter.looked_at)
    assert spent[2] < 2.2 * spent[1] < 4.8 * spent[0]


@given(
    sizes=st.lists(st.tuples(st.integers(0, 700), st.sampled_from(sorted(PRIORITIES)), st.integers(0, 200)), max_size=10),
    threshold=st.integers(200, 6000),
    said=st.lists(st.text(alphabet="ab never", min_size=1, max_size=60), min_size=1, max_size=5),
)
async def test_whatever_is_said_the_result_fits_pairs_stay_whole_and_words_are_kept(
    sizes: list[tuple[int, str, int]], threshold: int, said: list[str]
) -> None:
    steps = [step(number, lines(tokens, tool), tool, "x" * words) for number, (tokens, tool, words) in enumerate(sizes)]
    messages = (*map(user_message, said), *(message for pair in steps for message in pair))
    asked = state(messages, threshold, head=100, log=thoughts("on", said=said))
    try:
        found = await policy(asked, priority, Facts(user_inputs=tuple(said)), Summariser("did things"))
    except ContextFull:
        assert threshold < 1200  # the frame alone needs some of it
        return
    if found is None:
        assert size(messages) + 100 <= threshold
        return
    new = after(messages, found)
    assert size(new) + 100 <= threshold
    assert pairs_are_whole(new)
    assert new[0].role == "user"
    assert all(part.text.strip() for message in new for part in message.results)
    if threshold >= 3000:
        assert all(text.strip() in "\n".join(message.text for message in new) for text in said)
