"""What the record tells of a delegation that does not go on."""

from yagent.agents.delegation.report import report
from yagent.agents.loop.resumption import Resumption
from yagent.protocol.messages import Message, ToolCall, ToolResult, result_message, user_message

ASKED = Message("assistant", (ToolCall("a", "read_file", '{"path":"x"}'), ToolCall("b", "run_bash", '{"command":"echo line >> log"}')))
READ, RAN = ToolResult("a", "read_file", "text"), ToolResult("b", "run_bash", "done")


def test_a_report_names_the_calls_whose_outcome_nobody_knows() -> None:
    told = report(Resumption((user_message("task"), ASKED), 1, {"a": READ}))
    assert 'look before you repeat: run_bash {"command":"echo line >> log"}' in told
    assert told.count("outcome unknown") == 1


def test_a_report_calls_nothing_unknown_where_every_call_has_its_result() -> None:
    assert "unknown" not in report(Resumption((user_message("task"), ASKED, result_message(READ, RAN)), 1))
