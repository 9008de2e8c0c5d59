"""What a compression took out of a conversation before it was taken up again, read back from its record."""

from collections.abc import Sequence

from yagent.compression.transcript import whole
from yagent.protocol.messages import ToolResult
from yagent.rollout.marks import Segment
from yagent.rollout.replay import replaced


def taken_out(segments: Sequence[Segment], identifier: str) -> str | None:
    """One shortened result, or all that a rewriting replaced; None where these files have no such id. Blocks; raises as `replay`."""
    found = replaced(segments, identifier.partition(".")[0])
    if found is None:
        return None
    before, after = found
    if "." not in identifier:
        return whole(before)
    was = {result.call_id: result for message in before for result in message.results}
    shorter: list[ToolResult] = [result for message in after for result in message.results if was.get(result.call_id) != result]
    return next((was[result.call_id].text for result in shorter if identifier in result.text and result.call_id in was), None)
