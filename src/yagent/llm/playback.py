"""How a reply that is already known is told: in words, as a model would stream it."""

import re
from collections.abc import AsyncGenerator, Iterator

from yagent.llm.engine import Completed, ReasoningDelta, Sent, StreamEvent, TextDelta
from yagent.protocol.messages import Reasoning, Text
from yagent.records import dataclass
from yagent.runtime.clock import Clock

_WORD = re.compile(r"\s*\S{1,24}|\s+$")


@dataclass(frozen=True, slots=True)
class Playback:
    """`pace` is the time before each word in seconds; 0 tells everything at once."""

    clock: Clock
    pace: float = 0.0

    async def ready(self) -> None:
        """Give way once, so that a cancelled call is cancelled before it takes a turn from its script (V-04)."""
        await self.clock.sleep(0)

    async def tell(self, completed: Completed) -> AsyncGenerator[StreamEvent, None]:
        """The events of one attempt that succeeds."""
        yield Sent()
        for delta in _deltas(completed):
            if self.pace > 0:
                await self.clock.sleep(self.pace)
            yield delta
        yield completed


def _deltas(completed: Completed) -> Iterator[TextDelta | ReasoningDelta]:
    for part in completed.message.parts:
        if isinstance(part, Text):
            yield from map(TextDelta, _WORD.findall(part.text))
        elif isinstance(part, Reasoning):
            yield from map(ReasoningDelta, _WORD.findall(part.text))
