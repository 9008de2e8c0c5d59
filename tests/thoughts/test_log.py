"""The log of what was said and thought."""

from yagent.thoughts import grammar
from yagent.thoughts.log import ThoughtLog


def block(goal: str, *plan: str) -> str:
    return "\n".join(["<thought>", f"goal: {goal}", "reason: because", *(["plan:", *plan] if plan else []), "</thought>"])


def think(log: ThoughtLog, text: str) -> None:
    for thought, raw in grammar.readings(text):
        log.thought(thought, raw)


def test_it_tells_what_the_user_said_and_the_agent_thought_in_order() -> None:
    log = ThoughtLog()
    log.user("do A")
    think(log, block("a"))
    log.user("no, B")
    think(log, block("b"))
    log.user("   ")
    assert log.user_inputs == ("do A", "no, B")
    assert [thought.goal for thought in log.thoughts()] == ["a", "b"]
    assert [thought.goal for thought in log.thoughts(1)] == ["b"]
    assert [entry.text for entry in log] == ["do A", block("a"), "no, B", block("b")]
    assert len(log) == 4


def test_no_agent_has_the_thoughts_of_another() -> None:
    one, other = ThoughtLog(), ThoughtLog()
    one.user("do A")
    think(one, block("a", "- [ ] test"))
    assert (len(other), other.user_inputs, other.open_items) == (0, (), ())


def test_the_newest_plan_says_what_is_open_even_when_a_later_thought_has_none() -> None:
    log = ThoughtLog()
    assert not log.open_items
    think(log, block("a", "- [x] read", "- [>] change", "- [ ] test"))
    think(log, block("a"))
    assert [item.text for item in log.open_items] == ["change", "test"]
    think(log, block("a", "- [x] all of it"))
    assert not log.open_items


def test_replies_without_a_readable_thought_are_counted() -> None:
    log = ThoughtLog()
    log.unreadable()
    log.unreadable()
    assert log.failures == 2
    assert len(log) == 0


def test_thoughts_that_are_not_valid_are_kept() -> None:
    log = ThoughtLog()
    think(log, block("a") + block("a", "- [>] read", "- [>] change") + "<thought>\ngoal: a\n</thought>")
    assert [bool(thought.problems()) for thought in log.thoughts()] == [False, True, True]


def test_it_is_rebuilt_from_what_the_record_has() -> None:
    log = ThoughtLog()
    said = (
        (True, "do A"),
        (False, f"{block('a')}\nreading"),
        (True, f"what does {block('x')} mean?"),
        (False, f"{block('b')}{block('c')}"),
    )
    log.recall(said)
    assert [entry.text for entry in log] == ["do A", block("a"), f"what does {block('x')} mean?", block("b"), block("c")]
