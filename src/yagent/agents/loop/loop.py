"""The loop, once, for the Director and for every role: gate, steer, query, persist, act, observe.

What has to be durable is durable before it takes effect: the reply with its calls before the first tool starts, the results before the next
request (architecture, "Write ahead"). However a batch ends, each call has exactly one result in the conversation and on the record.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from yagent.agents.loop.frame import Frame
from yagent.agents.loop.hooks import LoopHooks, Reply
from yagent.agents.loop.parts import LastWords, LoopParts
from yagent.agents.loop.repetition import END, Repetition, reminder
from yagent.agents.loop.result import RunResult, exit_deliverable
from yagent.agents.loop.resumption import Resumption
from yagent.agents.loop.role import Role
from yagent.agents.loop.stop import LimitReached, Panic, classify
from yagent.agents.loop.turn import PAUSES
from yagent.blackboard.evidence import COMMAND_ID
from yagent.errors import YagentError
from yagent.llm.engine import CallOptions, Completed, ContextTooLong, ModelError, ModelGaveUp
from yagent.protocol.events import ThinklinkEntry
from yagent.protocol.events.shared import PlanItem
from yagent.protocol.messages import Message, Part, ToolCall, ToolResult, user_message
from yagent.protocol.stop import StopReason
from yagent.rollout.marks import CLOSING, EFFECTS, USER_INPUT
from yagent.rollout.records import EventMessage
from yagent.runtime.activity import TotalTimeoutError
from yagent.thoughts import grammar
from yagent.tools.spec import Exit, Output
from yagent.tools.teaching import NOT_BEGUN

logger = logging.getLogger(__name__)

FORCED = 2  # how often a request that a provider finds too long is compressed
SHOWN = 200  # characters of a result in a message

LAST_STEP_OVER = Output("Not run: this was your last step. Answer in words now, or call agent_exit alone.", is_error=True)


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
        self._repeated = 0
        self._steps = 0
        self._begun = 0  # number of the first message of this run in its conversation
        self._delegated = False
        self.result: RunResult | None = None  # set by who carries the run out, when it is over
        self._notes: list[str] = []
        self._made = 0
        self._changed: dict[str, None] = {}
        self._changed_before: frozenset[str] = frozenset()  # by others in this task, before this run began
        self._ran: list[str] = []

    def heard(self, words: str) -> None:
        """The user said this: it is kept apart from all that the program says in his role."""
        self._parts.thoughts.user(words)
        self._frame.recorder.append(EventMessage(USER_INPUT, {"text": words}))

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return self._steps

    async def run(self, opening: Sequence[Message], resumption: Resumption | None = None) -> RunResult:
        """Say the opening messages, or go on where the record ends, until the agent is done. Raises what ended it otherwise; `ended` turns
        that into a result."""
        self._begun = self._parts.conversation.count
        self._changed_before = frozenset(self._frame.account.changed if resumption is None else ())
        for message in opening:
            self._parts.conversation.append(message)
        try:
            result = None if resumption is None else await self._take_up(resumption)
            while result is None:
                result = await self._step()
            return result
        except LimitReached as limit:
            if limit.reason is not StopReason.COST_LIMIT:
                raise
            self._frame.account.warn(str(limit))
            return await self._last_word(limit.reason, self._last_words.cost_limit)

    def ended(self, error: BaseException) -> RunResult:
        """The result of a run that `error` ended."""
        error = self._parts.turn.with_trouble(error) if isinstance(error, TotalTimeoutError) else error
        reason = classify(error)
        if reason is StopReason.TOTAL_TIMEOUT and not self.role.is_delegated:
            reason = StopReason.TIME_LIMIT
        known = error if isinstance(error, YagentError) else None
        if reason is StopReason.PANIC and known is None:
            logger.error("the loop of %s failed", self.role.name, exc_info=error)
            known = Panic(f"{self.role.name} stopped on an unexpected {type(error).__name__}: {error}. The log has the details.")
            known.__cause__ = error
        return self._result(reason, self._words_so_far(), error=known)

    async def time_is_up(self, over: TotalTimeoutError) -> RunResult:
        """The last step of a run whose total time is over."""
        reason = classify(over)
        if reason is StopReason.TIME_LIMIT:
            self._frame.account.warn(f"{self.role.name}: {self._parts.turn.with_trouble(over)}.")
        return await self._last_word(reason, self._last_words.time_limit)

    async def _last_word(self, reason: StopReason, instruction: str) -> RunResult:
        """One more reply, without any other tool than `agent_exit`, to hand over what was found."""
        self._parts.conversation.append(user_message(instruction))
        return await self._closing_reply(reason)

    async def _pass_gate(self) -> None:
        with self._hooks.at_gate(self._steps):
            await self._frame.gate.wait()

    async def _step(self) -> RunResult | None:
        await self._pass_gate()
        self._steps += 1
        for words in self._hooks.steering():
            self.heard(words)
            self._parts.conversation.append(user_message(words))
        reply = await self._query(CallOptions())
        if not reply.message.calls:
            return self._plain_text(reply)
        return await self._after(reply.message, await self._act(reply.message))

    async def _after(self, message: Message, outputs: Sequence[Output]) -> RunResult | None:
        """What a step comes to once its calls have their results."""
        ended = next((output.exit for output in outputs if output.exit is not None), None)
        if ended is not None:
            return self._exit(ended, message)
        if self._steps >= self._max_steps:
            return await self._closing_reply(StopReason.MAX_STEPS)
        return None

    async def _take_up(self, stopped: Resumption) -> RunResult | None:
        """Finish the step that was under way: the newest reply is heard, its calls get the results they lack."""
        self._begun, self._steps, self._made = 0, stopped.step, stopped.calls
        self._changed, self._ran = dict.fromkeys(stopped.changed), list(stopped.ran)
        self._delegated = any(call.name.startswith("delegate_") for message in stopped.messages for call in message.calls)
        await self._pass_gate()
        newest = self._parts.conversation.newest
        if newest is None or newest.role != "assistant":
            if stopped.closing is not None:
                self._frame.recorder.append(EventMessage(CLOSING, {"reason": ""}))  # its limits are others now
            return None
        if stopped.closing is not None:
            return await self._closed(newest, stopped.closing) or await self._closing_reply(stopped.closing)
        if not newest.calls:
            said = grammar.strip(newest.text)
            return (
                self._result(StopReason.PLAIN_TEXT, said) if stopped.is_over and said else self._plain_text(Completed(newest, "stop", None))
            )
        return await self._after(newest, await self._results_of(newest.calls, self._last_step, stopped=stopped))

    async def _query(self, options: CallOptions, *, is_last: bool = False) -> Completed:
        """One whole reply to what is safely on the record, appended. A provider that interrupts its own turn is asked to go on with what
        it said (A34); the pieces are one reply."""
        pieces: tuple[Part, ...] = ()
        for _ in range(PAUSES):
            reply = await self._fitted(options, is_last=is_last)
            if reply.message.parts:
                self._parts.conversation.append(reply.message, reply.usage)
                if self._parts.fitting is not None:
                    self._parts.fitting.replied(reply.usage)
            pieces += reply.message.parts
            for note in reply.notes:
                self._frame.account.warn(f"{self.role.name}: {note}")
            if reply.finish != "pause" or reply.message.calls:
                whole = len(pieces) == len(reply.message.parts)
                return reply if whole else replace(reply, message=replace(reply.message, parts=pieces))
        raise ModelGaveUp(f"The model paused its turn {PAUSES} times in a row without an answer. Try again or choose another model.")

    def _all_changed(self) -> tuple[str, ...]:
        """The files that the conversation has to know of: those of this run, for whoever hands out work those of the whole session."""
        account = self._frame.account
        if not self.role.is_delegated:
            return tuple(dict.fromkeys((*account.changed_earlier, *account.changed)))
        found_changed = (path for path in account.changed if path not in self._changed_before)  # by its commands, for example
        return tuple(dict.fromkeys((*self._changed, *found_changed)))

    async def _fitted(self, options: CallOptions, *, is_last: bool) -> Completed:
        """The reply to a conversation that fits. A provider that finds it too long all the same is believed, twice at most."""
        fitting, frame = self._parts.fitting, self._frame
        options = replace(options, hint=await self._hooks.hint())
        if fitting is not None:
            await fitting.fit(frame, self._steps, self._all_changed(), self._parts.summarise)
        for _ in range(FORCED):
            await frame.recorder.barrier()
            try:
                return await self._parts.turn.query(options, is_last=is_last)
            except ContextTooLong as failure:
                if fitting is None or not await fitting.fit(frame, self._steps, self._all_changed(), self._parts.summarise, is_forced=True):
                    raise
                logger.info("%s: the provider found the request too long, so it was compressed: %s", self.role.name, failure)
        await frame.recorder.barrier()
        return await self._parts.turn.query(options, is_last=is_last)

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

    async def _act(self, message: Message) -> Sequence[Output]:
        """The calls of a message as a step of the run."""
        calls = message.calls
        self._observe(message)
        self._frame.recorder.append(EventMessage("agent_activity", {"step": self._steps, "tools": [call.name for call in calls]}))
        outputs = await self._results_of(calls, self._remark)
        self._delegated = self._delegated or any(call.name.startswith("delegate_") for call in calls)
        if self._repeated >= END:
            what, came = " and ".join(call.name for call in calls), " ".join(outputs[-1].text[:SHOWN].split())
            why = f"{self.role.name} went in a circle {self._repeated} times and was ended. Last came {what}, with the result: {came}"
            raise LimitReached(StopReason.LOOP_DETECTED, why)
        return outputs

    async def _results_of(
        self,
        calls: Sequence[ToolCall],
        remark: Callable[[Sequence[ToolCall], Sequence[Output]], str] = lambda calls, outputs: "",
        *,
        stopped: Resumption | None = None,
    ) -> Sequence[Output]:
        """Make the calls, once their asking is safely on the record. However that ends, each has its one result in the conversation;
        what `remark` has to say about them comes with the last. Of a `stopped` run, those that have a result are not made again."""
        known = {} if stopped is None else stopped.settled
        open_calls = [call for call in calls if call.id not in known]
        noted: set[str] = set()  # calls whose effects are on the record
        outputs: Sequence[Output] = [NOT_BEGUN] * len(open_calls)
        note = ""
        try:
            await self._frame.recorder.barrier()
            batch = self._parts.act.batch(open_calls, partial(self._settle, noted), resumed=stopped is not None)
            try:
                await batch.run()
            finally:
                outputs = batch.results
            note = remark(calls, outputs)
        finally:
            for call, output in zip(open_calls, outputs, strict=True):
                if call.id not in noted:
                    self._note_effects(output)
            self._append_results(calls, {**known, **_results(open_calls, outputs)}, note)
            self._made += sum(call.name != "agent_exit" for call in calls)
        return outputs

    def _note_effects(self, output: Output) -> None:
        """Keep what a call really changed, and what ran after the last change. The record has it before the result, for a run that goes on
        later: wherever that breaks off, nothing the result tells of is denied."""
        if output.changed:
            self._changed.update(dict.fromkeys(output.changed))
            self._frame.account.note_changes(output.changed, output.made)
            self._ran.clear()
        if output.ran:
            self._ran.append(_citable(output))
            self._frame.account.has_run = True
        if output.changed or output.ran:
            self._frame.recorder.append(EventMessage(EFFECTS, {"changed": list(self._changed), "ran": list(self._ran)}))

    def _remark(self, calls: Sequence[ToolCall], outputs: Sequence[Output]) -> str:
        """What the loop has to say after a step: that it goes in circles, that it was the last."""
        self._repeated = self._repetition.observe(calls, outputs)
        return "\n".join(filter(None, (reminder(self._repeated), self._last_step(calls, outputs))))

    def _last_step(self, calls: Sequence[ToolCall], outputs: Sequence[Output]) -> str:
        """What is said with the results of the last step that is allowed, "" before."""
        is_last = self._steps >= self._max_steps and not any(output.exit for output in outputs)
        return self._last_words.step_limit if is_last else ""

    def _settle(self, noted: set[str], call: ToolCall, output: Output) -> None:
        """Record the result of a call, and what it changed, while others of its reply are under way."""
        noted.add(call.id)
        self._note_effects(output)
        self._parts.conversation.settle(_result(call, output))

    def _append_results(self, calls: Sequence[ToolCall], known: Mapping[str, ToolResult], note: str = "") -> None:
        """The answers to one reply, in call order; what the loop has to say rides inside the last one, never in a message of its own."""
        results = [known[call.id] for call in calls]
        if note:
            last = results[-1]
            results[-1] = ToolResult(last.call_id, last.name, f"{last.text}\n\n[yagent] {note}", last.is_error)
        self._parts.conversation.answer(results)

    async def _closing_reply(self, reason: StopReason) -> RunResult:
        """The forced last answer. Tools stay declared; when the model calls another tool all the same, a second try forbids them."""
        self._frame.recorder.append(EventMessage(CLOSING, {"reason": reason.value}))
        try:
            for forbid in (False, True):
                reply = await self._query(CallOptions(forbid_tools=forbid), is_last=True)
                closed = await self._closed(reply.message, reason)
                if closed is not None:
                    return closed
        except LimitReached as limit:
            return self._result(reason, self._words_so_far(), error=limit)
        except ModelError as failure:
            self._notes.append(f"Its last reply could not be had: {failure}")
        return self._result(reason, self._words_so_far())

    async def _closed(self, message: Message, reason: StopReason) -> RunResult | None:
        """The result that a forced last answer gives, None when it calls for more than is left."""
        if not message.calls:
            return self._result(reason, grammar.strip(message.text) or self._words_so_far())
        if [call.name for call in message.calls] != ["agent_exit"]:
            self._append_results(message.calls, _results(message.calls, [LAST_STEP_OVER] * len(message.calls)))
            return None
        (output,) = await self._results_of(message.calls)
        return None if output.exit is None else self._exit(output.exit, message, reason)

    def _words_so_far(self) -> str:
        """The newest words of this run, "" when it has said none. An earlier task of the same conversation is another matter."""
        return next(filter(None, map(grammar.strip, self._parts.conversation.words(self._begun))), "")

    def _exit(self, ended: Exit, message: Message, reason: StopReason = StopReason.AGENT_EXIT) -> RunResult:
        text = exit_deliverable(ended.handoff, ended.reason, grammar.strip(message.text))
        return replace(self._result(reason, text), handoff=ended.handoff)

    def _result(self, reason: StopReason, deliverable: str, *, error: YagentError | None = None) -> RunResult:
        reason = self._frame.account.ended(reason, is_whole=not self.role.is_delegated)
        return RunResult(
            reason,
            deliverable,
            self._steps,
            error=error,
            notes=tuple(self._notes),
            calls=self._made,
            changed=tuple(self._changed),
            ran=tuple(self._ran),
            owes_handoff=self.role.is_delegated,
        )

    def _observe(self, message: Message) -> grammar.Thought | None:
        """Tell what the agent thinks it is doing; log where no block could be read, or what is wrong with it (L-17, L-19)."""
        thought = grammar.parse(message.text)
        if thought is None:
            if self.role.demands_thought:
                self._parts.thoughts.unreadable()
                failures = self._parts.thoughts.failures
                logger.info("%s step %d: no readable thought block (%d so far)", self.role.name, self._steps, failures)
            return None
        for found, raw in grammar.readings(message.text):
            self._parts.thoughts.thought(found, raw)
        if problems := thought.problems():
            logger.info("%s step %d: its thought is not valid: %s", self.role.name, self._steps, ", ".join(problems))
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


def _citable(output: Output) -> str:
    """How a command ended, with the id that stands for it in a hand-over."""
    identity = next(filter(COMMAND_ID.fullmatch, output.names), "")
    return f"{output.ran} ({identity})" if identity else output.ran


def _result(call: ToolCall, output: Output) -> ToolResult:
    return ToolResult(call.id, call.name, output.text, output.is_error)


def _results(calls: Sequence[ToolCall], outputs: Sequence[Output]) -> dict[str, ToolResult]:
    return {call.id: _result(call, output) for call, output in zip(calls, outputs, strict=True)}
