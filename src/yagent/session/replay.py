"""From the files of a recorded session to the turns an engine can play."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from yagent.llm.engine import Finish
from yagent.llm.recorded import RecordedTurn
from yagent.protocol.messages import Message, ToolResult, Usage
from yagent.rollout.reader import read
from yagent.rollout.records import ResponseItem, SessionMeta


def recorded_turns(files: Sequence[Path], agent_line: Callable[[str], str]) -> list[RecordedTurn]:
    """Every reply of every agent, file by file in order. `agent_line(role)` is the first line of that role's system prompt now.

    Raises OSError when a file cannot be read.
    """
    return [turn for path in files for turn in _turns(path, agent_line)]


def _turns(path: Path, agent_line: Callable[[str], str]) -> Iterator[RecordedTurn]:
    meta = SessionMeta("", "", "", "")
    said: tuple[Message, Usage | None] | None = None
    for entry in read(path):
        record = entry.record
        if isinstance(record, SessionMeta):
            meta = record
        elif isinstance(record, ResponseItem) and record.message.role == "assistant":
            if said is not None:
                yield _turn(meta, agent_line, said, ())
            said = (record.message, record.usage)
        elif isinstance(record, ResponseItem) and record.message.role == "tool" and said is not None:
            yield _turn(meta, agent_line, said, record.message.results)
            said = None
    if said is not None:
        yield _turn(meta, agent_line, said, ())


def _turn(
    meta: SessionMeta, agent_line: Callable[[str], str], said: tuple[Message, Usage | None], results: tuple[ToolResult, ...]
) -> RecordedTurn:
    message, usage = said
    finish: Finish = "tool_calls" if message.calls else "stop"
    return RecordedTurn(meta.delegation_id, agent_line(meta.agent), meta.task, message, finish, usage, results)
