"""Sixty turns in a window of 8000 tokens, with a summary that says nothing: what the user asked for is in the last request."""

from yagent.compression.compaction import Facts
from yagent.compression.measure import Prefix
from yagent.compression.policy import policy
from yagent.compression.state import CompressionState, Streak
from yagent.compression.threshold import Window, threshold_of
from yagent.llm.engine import ModelGaveUp
from yagent.llm.tokens import TokenCounter
from yagent.prompts.text import Prompts
from yagent.protocol.messages import Message, Text, ToolCall, ToolResult, result_message, user_message
from yagent.thoughts import grammar
from yagent.thoughts.log import ThoughtLog

WINDOW = Window(8000, reserved=1000)
HEAD = 2500
GOAL = "Release version 2.0 of the price library."
CONSTRAINTS = {
    2: "Never touch generated/.",
    5: "请用中文回答。",
    9: "Use tabs, not spaces, in Makefiles.",
    14: "Do not add dependencies.",
    19: "Always run scripts/check before you say that something works.",
    23: "不要修改公共接口。",
    28: "Keep every line below 100 characters.",
    33: "Only Python 3.11 syntax.",
    39: "Ask before you delete a file.",
    44: "From now on commit messages begin with the module's name.",
    50: "Avoid global state.",
    57: "必须保留旧的配置格式。",
}
CHAT = "That part looks fine to me, thanks; what about the module after it, does it have the same problem as number {number}?"
CODE = "\n".join(f"    total += round(prices[{number}] * quantity, 2)  # line {number}" for number in range(400))
OPEN = ("write the release notes", "tag the release")
PROMPTS = Prompts()


class Run:
    """An agent's conversation, as the loop keeps it."""

    def __init__(self) -> None:
        self.counter = TokenCounter("openai:played:m")
        self.messages: tuple[Message, ...] = ()
        self.said: list[str] = []
        self.recorded: list[tuple[bool, str]] = []
        self.log = ThoughtLog()
        self.streak = Streak()
        self.tiers: list[str] = []
        self.steps = 0

    def user(self, text: str) -> None:
        self.said.append(text)
        self.recorded.append((True, text))
        self.log.user(text)
        self.messages += (user_message(text),)

    async def step(self) -> None:
        """Compress when needed, then one reply with a call and its result."""
        self.steps += 1
        await self._fit()
        assert HEAD + sum(map(self.counter.of_message, self.messages)) <= threshold_of(WINDOW)
        plan = "\n".join(["- [x] look around", *(f"- [ ] {item}" for item in OPEN)])
        thought = f"<thought>\ngoal: {GOAL}\nstep: number {self.steps}\nreason: it is next\nplan:\n{plan}\n</thought>"
        self.recorded.append((False, thought))
        for read, raw in grammar.readings(thought):
            self.log.thought(read, raw)
        call = ToolCall(f"call_{self.steps}", "read_file", f'{{"path":"src/prices/module_{self.steps}.py"}}')
        self.messages += (Message("assistant", (Text(thought), call)),)
        self.messages += (result_message(ToolResult(call.id, call.name, CODE[self.steps * 17 :][: 400 + self.steps % 7 * 500])),)

    async def _fit(self) -> None:
        items = tuple(item.text for item in self.log.open_items)
        facts = Facts(GOAL, tuple(self.said), ("Rules of the project: be brief.",), items, ("src/prices/total.py",))
        prefix = Prefix(self.counter, HEAD)
        state = CompressionState(
            self.messages, prefix, threshold_of(WINDOW), WINDOW, f"c{self.steps}", self.log, PROMPTS, streak=self.streak
        )
        found = await policy(state, lambda tool: 10, facts, self._summarise)
        self.streak = self.streak.after(found)
        if found is not None:
            assert found.has_room
            self.tiers.append(found.tier)
            self.messages = (*found.messages, *self.messages[found.replaces :])

    async def _summarise(self, prompt: str) -> str:
        assert self.counter.count(prompt) <= threshold_of(WINDOW)
        if len(self.tiers) % 4 == 3:
            raise ModelGaveUp("not now")
        return "worked on stuff"

    def resume(self) -> None:
        """As after a restart: messages and thoughts come from the record."""
        self.log = ThoughtLog()
        self.log.recall(self.recorded)
        self.streak = Streak()


async def test_twelve_rules_the_goal_and_the_open_items_survive_sixty_turns_all_tiers_and_two_resumes() -> None:
    run = Run()
    for turn in range(60):
        run.user(CONSTRAINTS.get(turn, CHAT.format(number=turn)) if turn else GOAL)
        for _ in range(3):
            await run.step()
        if turn in (20, 45):
            run.resume()
    await run._fit()
    last_request = "\n".join(message.text for message in run.messages)
    assert [rule for rule in CONSTRAINTS.values() if rule not in last_request] == []
    assert GOAL in last_request
    assert all(item in last_request for item in OPEN)
    assert {tier: run.tiers.count(tier) >= 3 for tier in ("rule", "emergency", "ultimate")} == {
        "rule": True,
        "emergency": True,
        "ultimate": True,
    }
    assert len(run.tiers) < run.steps // 2
