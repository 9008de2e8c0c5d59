"""The first tier."""

from hypothesis import given
from hypothesis import strategies as st

from tests.compression.sizes import PRIORITIES, FourCharacters, conversation, lines, pairs_are_whole, priority, step
from yagent.compression.rule import Rule, shorten
from yagent.prompts.text import Prompts
from yagent.protocol.messages import Message, ToolCall, ToolResult, result_message, user_message

PROMPTS = Prompts()


def rule(counter: FourCharacters | None = None, keep: int = 50) -> Rule:
    return Rule(counter or FourCharacters(), PROMPTS, priority, keep, "c1")


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [result.text for message in messages for result in message.results]


def shortened_calls(messages: tuple[Message, ...], excess: int) -> list[str]:
    return [dropped.call_id for dropped in shorten(messages, excess, rule()).dropped]


def test_results_of_low_priority_are_shortened_first_and_old_ones_before_new_ones() -> None:
    order = ["run_bash", "read_file", "design", "read_file", "thinking"]
    messages = (
        user_message("go"),
        *(part for number, tool in enumerate(order) for part in step(number, lines(500), tool)),
        *step(9, "new"),
    )
    assert shortened_calls(messages, 10**6) == ["call_1", "call_3", "call_4", "call_0"]
    assert shortened_calls(messages, 300) == ["call_1"]
    assert shortened_calls(messages, 600) == ["call_1", "call_3"]


def test_a_protected_result_is_never_shortened() -> None:
    messages = (user_message("go"), *step(0, lines(5000), "design"), *step(1, "new"))
    after = shorten(messages, 10**6, rule())
    assert after.messages == messages
    assert (after.saved, after.changed, after.dropped) == (0, 0, ())


def test_a_shortened_result_keeps_its_first_line_and_its_end_and_names_where_the_whole_is() -> None:
    text = lines(500)
    after = shorten((user_message("go"), *step(0, text), *step(1, "new")), 10**6, rule())
    first, notice, *kept = texts(after.messages)[0].splitlines()
    assert first == text.splitlines()[0]
    assert notice == f"[shortened to its first line and its end, 50 of {-(-len(text) // 4)} tokens; read_artifact c1.1 gives all of it]"
    assert kept == text.splitlines()[-9:]
    assert [(dropped.id, dropped.call_id, dropped.text) for dropped in after.dropped] == [("c1.1", "call_0", text)]


def test_of_a_result_of_one_long_line_both_ends_stay() -> None:
    text = "begin" + "x" * 5000 + "end"
    after = shorten((user_message("go"), *step(0, text), *step(1, "new")), 10**6, rule())
    first, _, last = texts(after.messages)[0].splitlines()
    assert first.startswith("begin")
    assert last.endswith("end")
    assert min(len(first), len(last)) > 20


def test_what_the_model_has_not_seen_goes_last_and_keeps_what_there_is_room_for() -> None:
    new = lines(1000)
    messages = (user_message("go"), *step(0, lines(500)), *step(1, new))
    assert shortened_calls(messages, 100) == ["call_0"]
    after = shorten(messages, 800, rule())
    assert [dropped.call_id for dropped in after.dropped] == ["call_0", "call_1"]
    assert len(texts(after.messages)[1]) > len(new) // 2
    assert after.saved >= 800


def test_a_result_that_would_hardly_shrink_is_left_alone() -> None:
    assert shorten(conversation([lines(80), "new"]), 10**6, rule()).saved == 0


def test_one_of_several_results_of_a_step_is_shortened_in_its_place() -> None:
    calls = (ToolCall("a", "design", "{}"), ToolCall("b", "read_file", "{}"))
    answers = result_message(ToolResult("a", "design", lines(500)), ToolResult("b", "read_file", lines(500), is_error=True))
    after = shorten((user_message("go"), Message("assistant", calls), answers, *step(1, "new")), 10**6, rule()).messages
    assert after[2].results[0] == answers.results[0]
    assert (after[2].results[1].call_id, after[2].results[1].is_error) == ("b", True)
    assert pairs_are_whole(after)


def test_only_the_part_of_the_conversation_that_changed_is_replaced() -> None:
    messages = conversation([lines(500), lines(500), lines(500)])
    after = shorten(messages, 300, rule())
    assert after.changed == 3
    assert all(old is new for old, new in zip(messages[3:], after.messages[3:], strict=True))


def test_the_cost_is_linear_in_the_conversation() -> None:
    spent = []
    for steps in (100, 200, 400):
        counter = FourCharacters()
        shorten(conversation([lines(300)] * steps), 10**9, rule(counter))
        spent.append(counter.looked_at)
    assert spent[2] < 2.1 * spent[1] < 4.4 * spent[0]


@given(
    sizes=st.lists(st.tuples(st.integers(0, 600), st.sampled_from(sorted(PRIORITIES))), max_size=12),
    excess=st.integers(0, 4000),
)
def test_whatever_is_shortened_pairs_stay_whole_and_all_else_stays_as_it_was(sizes: list[tuple[int, str]], excess: int) -> None:
    steps = [step(number, lines(tokens, tool), tool) for number, (tokens, tool) in enumerate(sizes)]
    messages = (user_message("never touch generated/"), *(message for pair in steps for message in pair))
    after = shorten(messages, excess, rule())
    whole = {dropped.call_id: dropped.text for dropped in after.dropped}
    assert pairs_are_whole(after.messages)
    assert all(text.strip() for text in texts(after.messages))
    for old, new in zip(messages, after.messages, strict=True):
        assert new is old or [whole.get(result.call_id, result.text) for result in new.results] == [each.text for each in old.results]
    assert after.saved >= excess or all(
        len(result.text) < 4 * 400 or result.name == "design" for message in after.messages for result in message.results
    )
