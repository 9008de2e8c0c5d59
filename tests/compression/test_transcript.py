"""Messages as text."""

from hypothesis import given
from hypothesis import strategies as st

from tests.compression.sizes import FourCharacters, conversation, lines, step
from yagent.compression.frame import Frame
from yagent.compression.transcript import digest, last_messages, recent, whole
from yagent.prompts.text import Prompts
from yagent.protocol.messages import Message, Reasoning, Text, ToolCall, ToolResult, result_message, user_message

PROMPTS = Prompts()
MORE = "[more was here; read_artifact c1 has it]"


def frame(counter: FourCharacters | None = None) -> Frame:
    return Frame(counter or FourCharacters(), PROMPTS, 1000, "c1")


def test_calls_stand_with_their_results_and_reasoning_is_left_out() -> None:
    call = ToolCall("call_0", "read_file", '{"path":"a.py"}')
    said = Message("assistant", (Reasoning("hm"), Text("Reading."), call))
    failed = result_message(ToolResult("call_0", "read_file", "no such file", is_error=True))
    shown = '[user] go\n\n[you] Reading.\n[call] read_file {"path":"a.py"}\n\n[error of read_file] no such file'
    assert whole((user_message("go"), said, failed)) == shown
    assert recent((user_message("go"), said, failed), 1000, frame()) == shown


def test_what_a_call_really_said_is_shown_where_it_cannot_be_run() -> None:
    said = Message("assistant", (ToolCall("call_0", "read_file", "{}", malformed="{path"),))
    assert whole((said,)) == "[call] read_file {path"


def test_the_last_messages_never_begin_between_a_call_and_its_result() -> None:
    messages = conversation(["a", "b"])
    assert [last_messages(messages, number) for number in (1, 2, 3, 4, 9)] == [3, 3, 1, 1, 0]
    assert last_messages((), 3) == 0


def test_the_largest_parts_are_cut_until_the_rest_fits() -> None:
    text = recent((user_message("keep me"), *step(0, lines(5000))), 300, frame())
    assert "[user] keep me" in text
    assert MORE in text
    assert text.endswith(lines(5000)[-40:])
    assert recent((user_message("keep me"), *step(0, lines(5000))), 4, frame()) == ""


def test_of_more_small_parts_than_fit_the_last_are_shown() -> None:
    text = recent(conversation([f"small {number}" for number in range(400)]), 300, frame())
    assert text.startswith(f"{MORE}\n")
    assert text.count(MORE) == 1  # a part as small as the words for what is missing is not cut
    assert text.endswith("small 399")
    assert frame().counter.count(text) > 200


def test_for_a_summary_large_results_are_shortened_before_anything_is_left_out() -> None:
    text = digest(conversation([lines(3000), "small", lines(3000)]), 1500, frame())
    assert text.startswith("[user] make total() round half up")
    assert "[result of read_file] small" in text
    assert all(f"file_{number}.py" in text for number in range(3))


def test_for_a_summary_the_oldest_messages_go_but_never_the_first() -> None:
    messages = (user_message("the task"), *(user_message(f"remark {number:04d} {'x' * 80}") for number in range(200)))
    text = digest(messages, 800, frame())
    assert text.startswith(f"[user] the task\n\n{MORE}\n\n[user] remark 0")
    assert "remark 0199" in text
    assert "remark 0000" not in text


@given(sizes=st.lists(st.integers(0, 900), max_size=15), budget=st.integers(60, 3000))
def test_both_fit_their_budget(sizes: list[int], budget: int) -> None:
    counter = FourCharacters()
    messages = conversation([lines(tokens) for tokens in sizes])
    assert counter.count(recent(messages, budget, frame())) <= budget
    assert counter.count(digest(messages, budget, frame())) <= budget


def test_the_cost_is_linear() -> None:
    spent = []
    for steps in (100, 200, 400):
        counter = FourCharacters()
        digest(conversation([lines(300)] * steps), 5000, frame(counter))
        spent.append(counter.looked_at)
    assert spent[2] < 2.1 * spent[1] < 4.4 * spent[0]
