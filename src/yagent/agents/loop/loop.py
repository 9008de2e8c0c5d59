"""The loop, once, for the Director and for every role: gate, steer, query, persist, act, observe.

What has to be durable is durable before it takes effect: the reply with its calls before the first tool starts, the results before the next
request (architecture, "Write ahead"). However a batch ends, each call has exactly one result in the conversation and on the record.
"""

import logging
from collections.abc import Sequence

from yagent.agents.loop.act import Act
from yagent.agents.loop.conversation import Conversation
from yagent.agents.loop.frame import Frame
from yagent.agents.loop.hooks import LoopHooks, Reply
from yagent.agents.loop.repetition import END, Repetition, reminder
from yagent.agents.loop.result import RunResult, exit_deliverable
from yagent.agents.loop.role import Role
from yagent.agents.loop.stop import LimitReached, Panic, classify
from yagent.agents.loop.turn import PAUSES, Turn
from yagent.errors import YagentError
from yagent.llm.engine import CallOptions, Completed, ModelGaveUp
from yagent.protocol.events import ThinklinkEntry
from yagent.protocol.events.shared import PlanItem
from yagent.protocol.messages import Message, ToolCall, ToolResult, result_message, user_message
from yagent.protocol.stop import StopReason
from yagent.records import dataclass
from yagent.rollout.records import EventMessage
from yagent.thoughts import grammar
from yagent.tools.spec import Exit, Output

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoopParts:
    """What a run is made of."""

    conversation: Conversation
    turn: Turn
    act: Act


@dataclass(frozen=True, slots=True)
class LastWords:
    """What an agent is told when it may take one last step: at its step limit, and when its time is over."""

    step_limit: str
    time_limit: str


class AgentLoop:
    """One run of one agent."""

    def __init__(self, role: Role, frame: Frame, parts: LoopParts, hooks: LoopHooks, *, max_steps: int, last_words: LastWords) -> None:
        self.role = role
        self._frame = frame
        self._parts = parts
        self._hooks = hooks
        self._max_steps = max_steps
        self._last_words = last_words
        self._repetition = Repetition()
        self._steps = 0
        self._delegated = False
        self.result: RunResult | None = None  # set by who carries the run out, when it is over
        self._notes: list[str] = []

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return self._steps

    async def run(self, opening: Sequence[Message]) -> RunResult:
        """Say the opening messages and go on until the agent is done. Raises what ended it otherwise; `ended` turns that into a result."""
        for message in opening:
            self._parts.conversation.append(message)
        while True:
            result = await self._step()
            if result is not None:
                return result

    def ended(self, error: BaseException) -> RunResult:
        """The result of a run that `error` ended."""
        reason = classify(error)
        if reason is StopReason.TOTAL_TIMEOUT and not self.role.is_delegated:
            reason = StopReason.TIME_LIMIT
        known = error if isinstance(error, YagentError) else None
        if reason is StopReason.PANIC and known is None:
            logger.error("the loop of %s failed", self.role.name, exc_info=error)
            known = Panic(f"{self.role.name} stopped on an unexpected {type(error).__name__}: {error}. The log has the details.")
        return self._result(reason, self._parts.conversation.last_words(), error=known)

    async def last_word(self, reason: StopReason, instruction: str) -> RunResult:
        """One more reply, without any other tool than `agent_exit`, to hand over what was found."""
        self._parts.conversation.append(user_message(instruction))
        return await self._closing_reply(reason)

    async def time_is_up(self) -> RunResult:
        """The last step of a run whose total time is over."""
        return await self.last_word(StopReason.TOTAL_TIMEOUT, self._last_words.time_limit)

    async def _step(self) -> RunResult | None:
        await self._frame.gate.wait()
        self._steps += 1
        for words in self._hooks.steering():
            self._parts.conversation.append(user_message(words))
        await self._frame.recorder.barrier()
        reply = await self._query(CallOptions())
        if not reply.message.calls:
            return self._plain_text(reply)
        outputs = await self._act(reply.message.calls)
        ended = next((output.exit for output in outputs if output.exit is not None), None)
        if ended is not None:
            return self._exit(ended, reply.message)
        if self._steps >= self._max_steps:
            return await self._closing_reply(StopReason.MAX_STEPS)
        return None

    async def _query(self, options: CallOptions) -> Completed:
        """One whole reply, appended. A provider that interrupts its own turn is asked to go on with what it said (A34)."""
        for _ in range(PAUSES):
            reply = await self._parts.turn.query(options)
            if reply.message.parts:
                self._parts.conversation.append(reply.message, reply.usage)
            for note in reply.notes:
                self._frame.account.warn(f"{self.role.name}: {note}")
            if reply.finish != "pause" or reply.message.calls:
                return reply
        raise ModelGaveUp(f"The model paused its turn {PAUSES} times in a row without an answer. Try again or choose another model.")

    def _plain_text(self, reply: Completed) -> RunResult | None:
        """A reply without calls is answered with a reminder, or is the result."""
        words = reply.message.text
        if reply.finish in ("refusal", "content_filter"):
            refusal = f"The model declined to answer ({reply.finish}): {words.strip() or 'it gave no reason'}"
            raise ModelGaveUp(refusal)
        if reply.finish in ("length", "unknown"):
            why = "cut at the output limit" if reply.finish == "length" else "ended in an unknown way"
            self._notes.append(f"The answer was {why}; it may be incomplete.")
            return self._result(StopReason.PLAIN_TEXT, grammar.strip(words) or words)
        thought = self._observe(reply.message)
        remind = self._hooks.on_plain_text(Reply(reply.message, thought, self._steps, self._delegated))
        if remind is not None and self._steps < self._max_steps:
            self._parts.conversation.append(user_message(remind))
            return None
        text = grammar.strip(words)
        if not text:
            raise ModelGaveUp(
                "The model ended without an answer: its last reply holds no words for you. Ask again, or choose another model."
            )
        return self._result(StopReason.PLAIN_TEXT, text)

    async def _act(self, calls: Sequence[ToolCall]) -> Sequence[Output]:
        """Run the calls. Their results are in the conversation when this returns or raises."""
        self._observe(self._parts.conversation.last)
        self._frame.recorder.append(EventMessage("agent_activity", {"step": self._steps, "tools": [call.name for call in calls]}))
        await self._frame.recorder.barrier()
        batch = self._parts.act.batch(calls)
        outputs: Sequence[Output] = ()
        count = 0
        try:
            outputs = await batch.run()
            count = self._repetition.observe(calls, outputs)
        finally:
            note = "\n".join(part for part in (reminder(count), self._step_note(outputs)) if part)
            self._append_results(calls, batch.results, note)
        self._delegated = self._delegated or any(call.name.startswith("delegate_") for call in calls)
        if count >= END:
            message = f"{self.role.name} made the same call {count} times with the same result and was ended."
            raise LimitReached(StopReason.LOOP_DETECTED, message)
        return outputs

    def _step_note(self, outputs: Sequence[Output]) -> str:
        if self._steps >= self._max_steps and not any(output.exit for output in outputs):
            return self._last_words.step_limit
        return ""

    def _append_results(self, calls: Sequence[ToolCall], outputs: Sequence[Output], note: str = "") -> None:
        """The answers to one batch, in call order; what the loop has to say rides inside the last one, never in a message of its own."""
        results = [ToolResult(call.id, call.name, output.text, output.is_error) for call, output in zip(calls, outputs, strict=True)]
        if note:
            last = results[-1]
            results[-1] = ToolResult(last.call_id, last.name, f"{last.text}\n\n[yagent] {note}", last.is_error)
        self._parts.conversation.append(result_message(*results))

    async def _closing_reply(self, reason: StopReason) -> RunResult:
        """The forced last answer. Tools stay declared; when the model calls another tool all the same, a second try forbids them."""
        await self._frame.recorder.barrier()
        for forbid in (False, True):
            reply = await self._query(CallOptions(forbid_tools=forbid))
            calls = reply.message.calls
            if not calls:
                text = grammar.strip(reply.message.text) or reply.message.text
                return self._result(reason, text)
            finals = [call for call in calls if call.name == "agent_exit"]
            if len(finals) == len(calls) == 1:
                await self._frame.recorder.barrier()
                batch = self._parts.act.batch(calls)
                try:
                    outputs = await batch.run()
                finally:
                    self._append_results(calls, batch.results)
                if outputs[0].exit is not None:
                    return self._exit(outputs[0].exit, reply.message, reason)
            else:
                refused = Output("Not run: this was your last step. Answer in words now, or call agent_exit alone.", is_error=True)
                self._append_results(calls, [refused] * len(calls))
        return self._result(reason, self._parts.conversation.last_words())

    def _exit(self, ended: Exit, message: Message, reason: StopReason = StopReason.AGENT_EXIT) -> RunResult:
        text = exit_deliverable(ended.handoff, ended.reason, grammar.strip(message.text))
        return RunResult(reason, text, self._steps, ended.handoff, None, tuple(self._notes))

    def _result(self, reason: StopReason, deliverable: str, *, error: YagentError | None = None) -> RunResult:
        return RunResult(reason, deliverable, self._steps, None, error, tuple(self._notes))

    def _observe(self, message: Message | None) -> grammar.Thought | None:
        """Tell what the agent thinks it is doing; count the blocks that could not be read (L-19)."""
        if message is None or not message.text:
            return None
        thought = grammar.parse(message.text)
        if thought is None:
            if self.role.demands_thought:
                logger.info("%s step %d: no readable thought block", self.role.name, self._steps)
            return None
        plan = [PlanItem(state=item.state, text=item.text) for item in thought.plan]
        entry = ThinklinkEntry(
            agent=self.role.name,
            kind="thought",
            goal=thought.goal or None,
            step=thought.step or None,
            reason=thought.reason or None,
            plan=tuple(plan),
        )
        self._frame.publisher.publish(entry)
        return thought
