"""How large a conversation is taken to be."""

import pytest

from tests.compression.sizes import FourCharacters, conversation, lines
from yagent.compression.measure import Prefix, at_most, over_threshold
from yagent.protocol.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult, Usage, user_message

REPLY = Message("assistant", (Text("x" * 40),), "test")


def test_before_the_first_report_everything_is_estimated() -> None:
    messages = (user_message("x" * 400), REPLY)
    assert Prefix(FourCharacters(), head=50).size(messages) == 50 + 100 + 10


def test_what_the_provider_reported_counts_and_only_what_came_since_is_estimated() -> None:
    counter = FourCharacters()
    messages = (user_message("x" * 400), REPLY)
    prefix = Prefix(counter, head=50).measured(messages, Usage(total_input=700, output=30))
    counter.looked_at = 0
    assert prefix.size((*messages, user_message("y" * 80))) == 700 + 30 + 20
    assert counter.looked_at == 80


def test_without_a_report_the_one_before_stands() -> None:
    prefix = Prefix(FourCharacters()).measured((REPLY,), Usage(total_input=700, output=30))
    assert prefix.measured((REPLY, REPLY), None) == prefix
    assert prefix.measured((REPLY, REPLY), Usage(output=5)) == prefix


def test_a_report_far_too_small_for_the_request_is_none() -> None:
    asked = user_message("x" * 4000)
    for reported in (0, 1, 200):
        told = Usage(total_input=reported, output=10)
        assert Prefix(FourCharacters(), head=50).measured((asked, REPLY), told).size((asked, REPLY)) == 50 + 1000 + 10
        before = Prefix(FourCharacters(), head=50).measured((asked, REPLY), Usage(total_input=900, output=10))
        assert before.measured((asked, REPLY, asked, REPLY), told) == before
    assert Prefix(FourCharacters(), head=50).measured((asked, REPLY), Usage(total_input=220, output=10)).tokens == 230


def test_a_reply_of_unknown_size_is_estimated() -> None:
    assert Prefix(FourCharacters()).measured((REPLY,), Usage(total_input=700)).size((REPLY,)) == 700 + 10


def test_reasoning_that_is_not_sent_again_does_not_count() -> None:
    usage = Usage(total_input=700, output=130, reasoning=100)
    silent = Prefix(FourCharacters()).measured((REPLY,), usage)
    thinking = Message("assistant", (Reasoning("why"), Text("x")), "test")
    assert silent.tokens == 730
    assert Prefix(FourCharacters()).measured((thinking,), usage).tokens == 830
    sealed = Message("assistant", (Reasoning("", {"encrypted_content": "…"}), Text("x")), "test")
    assert Prefix(FourCharacters()).measured((sealed,), usage).tokens == 830


def test_after_a_rewrite_nothing_is_measured() -> None:
    prefix = Prefix(FourCharacters(), head=5).measured((REPLY,), Usage(total_input=700, output=30))
    assert prefix.void().size((REPLY,)) == 5 + 10
    assert prefix.size(()) == 5  # a conversation that has become shorter than what was measured


def test_what_the_first_tier_saved_is_taken_off_the_report() -> None:
    prefix = Prefix(FourCharacters(), head=5).measured((REPLY,), Usage(total_input=700, output=30))
    assert prefix.shortened(200).tokens == 530
    assert prefix.shortened(9999).tokens == 5
    assert Prefix(FourCharacters()).shortened(200).tokens is None


def test_the_threshold_itself_is_not_over_it() -> None:
    prefix = Prefix(FourCharacters())
    assert not over_threshold((REPLY,), prefix, 10)
    assert over_threshold((REPLY,), prefix, 9)


def test_deciding_looks_at_nothing_twice() -> None:
    counter = FourCharacters()
    prefix = Prefix(counter)
    messages = conversation([lines(100)] * 50)
    prefix.size(messages)
    counter.looked_at = 0
    prefix.size(messages)
    assert counter.looked_at == 0


def test_the_first_report_says_what_the_head_takes() -> None:
    asked = (user_message("x" * 400),)
    prefix = Prefix(FourCharacters(), head=500).measured((*asked, REPLY), Usage(total_input=700, output=30))
    assert prefix.void().size(asked) == 600 + 100
    later = prefix.measured((*asked, REPLY, *asked, REPLY), Usage(total_input=5000, output=30))
    assert later.head == 600


def test_a_report_that_cannot_be_right_about_the_head_changes_nothing() -> None:
    prefix = Prefix(FourCharacters(), head=50).measured((user_message("x" * 400), REPLY), Usage(total_input=9000, output=30))
    assert prefix.head == 50


def test_a_report_tells_what_the_new_messages_took() -> None:
    asked, more = user_message("x" * 400), user_message("y" * 80)
    prefix = Prefix(FourCharacters()).measured((asked, REPLY), Usage(total_input=700, output=30))
    assert prefix.told((asked, REPLY, more), Usage(total_input=755)) == ((more,), 25)
    assert prefix.told((asked, REPLY, more), Usage(output=5)) is None
    assert prefix.told((asked, REPLY), Usage(total_input=755)) is None
    assert Prefix(FourCharacters()).told((asked,), Usage(total_input=755)) is None


@pytest.mark.parametrize(
    "part",
    [
        Text("w" * 1000),
        Text("", extra={"citations": ["w" * 1000]}),
        Reasoning("w" * 1000),
        Reasoning("", opaque={"type": "reasoning", "encrypted_content": "w" * 1000}),
        ToolCall("c", "read_file", "w" * 1000),
        ToolCall("c", "read_file", "{}", malformed="w" * 1000),
        ToolCall("c", "read_file", "{}", extra={"signature": "w" * 1000}),
        ToolResult("c", "read_file", "w" * 1000),
    ],
)
def test_what_a_conversation_surely_does_not_exceed_counts_all_that_is_sent_again(part: Part) -> None:
    assert 4000 < at_most([Message("assistant", (part,))]) < 5000
