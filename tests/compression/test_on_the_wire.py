"""What comes of a compression is accepted by every dialect's strict rules, and is what its record says."""

import pytest

from tests.compression.sizes import FourCharacters, conversation, lines, priority, step
from tests.compression.test_policy import FACTS, PROMPTS, Summariser, thoughts
from tests.llm.wire import FORMATS, Wire
from tests.support.model_server import rules_chat, rules_messages, rules_responses
from yagent.compression.compaction import Compaction, Tier
from yagent.compression.measure import Prefix
from yagent.compression.policy import policy
from yagent.compression.state import CompressionState
from yagent.compression.threshold import Window
from yagent.llm.engine import ModelGaveUp
from yagent.protocol.messages import Message, user_message
from yagent.rollout.pairing import Paired
from yagent.rollout.reader import Account
from yagent.rollout.records import Compacted, from_payload, to_payload

MESSAGES = (*conversation([lines(900)] * 12), user_message("and in the other file?"), *step(77, "the newest", words="Reading."))
TIERS: tuple[Tier, ...] = ("rule", "emergency", "ultimate")


async def compressed(tier: Tier) -> Compaction:
    state = CompressionState(
        messages=MESSAGES,
        prefix=Prefix(FourCharacters(), head=100),
        threshold=8000,
        window=Window(10_000),
        id="c2",
        thoughts=thoughts("look around"),
        prompts=PROMPTS,
    )
    ranks = priority if tier == "rule" else lambda tool: 100
    found = await policy(state, ranks, FACTS, Summariser(ModelGaveUp("no") if tier == "ultimate" else "A summary."))
    assert found is not None
    assert found.tier == tier
    return found


def after(found: Compaction) -> tuple[Message, ...]:
    return (*found.messages, *MESSAGES[found.replaces :])


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("api_format", FORMATS)
async def test_every_dialect_accepts_it_and_what_comes_after_it(tier: Tier, api_format: str) -> None:
    wire = Wire(api_format).say(*after(await compressed(tier)), *step(99, "more"))
    body = wire.body()
    if api_format == "openai":
        rules_chat.check(body)
    elif api_format == "responses":
        rules_responses.check(body, {})
    else:
        rules_messages.check(body, {"anthropic-version": "2023-06-01", "x-api-key": "k"}, {}, paused=False)
    assert "the newest" in wire.raw().decode()


@pytest.mark.parametrize("tier", TIERS)
async def test_the_record_of_it_gives_the_same_conversation_when_it_is_read(tier: Tier) -> None:
    found = await compressed(tier)
    record = from_payload("compacted", to_payload(Compacted(found.replaces, found.messages, found.tier, found.id)))
    assert isinstance(record, Compacted)
    account = Account()
    read = Paired(account)
    for message in MESSAGES:
        if message.role == "tool":
            read.results(message.results)
        else:
            read.append(message)
    read.compact(record.replaces, record.messages)
    read.append(user_message("go on"))
    read.end()
    assert read.messages() == (*after(found), user_message("go on"))
