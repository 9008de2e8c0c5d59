"""The first tier of compression by itself: how long it takes for conversations of several sizes."""

from time import thread_time

from yagent.compression.compaction import Facts, Summarise
from yagent.compression.measure import Prefix
from yagent.compression.policy import policy
from yagent.compression.state import CompressionState
from yagent.compression.threshold import Window
from yagent.llm.engine import ModelGaveUp
from yagent.llm.tokens import TokenCounter
from yagent.prompts.text import Prompts
from yagent.protocol.messages import Message, Text, ToolCall, ToolResult, result_message, user_message
from yagent.thoughts.log import ThoughtLog

SIZES = (50_000, 100_000, 200_000)
TRIES = 5
HEAD = 5000  # tokens
RESULT = "".join(f"{number:06} the quick brown fox jumps over the lazy dog.\n" for number in range(150))


async def tier_one() -> list[tuple[int, float]]:
    """Sizes in tokens, and for each the least time in ms that the first tier took."""
    return [(size, min([await _timed(size) for _ in range(TRIES)])) for size in SIZES]


async def _timed(size: int) -> float:
    """One go with a conversation that has been counted as it grew, as in a session."""
    counter = TokenCounter("openai:bench:played-model")
    messages = _messages(size, counter)
    prefix = Prefix(counter, HEAD)
    state = CompressionState(messages, prefix, prefix.size(messages) - 1, Window(), "c1", ThoughtLog(), Prompts())
    begun = thread_time()
    found = await policy(state, lambda tool: 10, Facts(), _no_summary)
    spent = (thread_time() - begun) * 1000
    if found is None or found.tier != "rule":
        raise RuntimeError(f"not the first tier: {found and found.tier}")
    return spent


def _messages(size: int, counter: TokenCounter) -> tuple[Message, ...]:
    messages, total = [user_message("Read it all.")], HEAD
    while total < size:
        call = ToolCall(f"call_{len(messages)}", "read_file", '{"path":"long.txt"}')
        step = (Message("assistant", (Text("I read on."), call)), result_message(ToolResult(call.id, call.name, RESULT)))
        messages += step
        total += sum(map(counter.of_message, step))
    return tuple(messages)


async def _refuse(prompt: str) -> str:
    raise ModelGaveUp("the first tier asks nobody")


_no_summary: Summarise = _refuse
