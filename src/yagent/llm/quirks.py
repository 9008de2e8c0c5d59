"""How model families differ on the wire: what may differ, and how a row is found. The rows themselves are in `quirks_table`."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, TypeAlias

from yagent.records import dataclass

ReasoningReplay: TypeAlias = Literal["never", "with_calls", "always"]
Fields: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallIdRule:
    """Which tool call ids a server takes when it did not make them itself, and the form of the replacement."""

    pattern: str = r"[A-Za-z0-9_.:\-]{1,64}"
    prefix: str = "call_"
    digits: int = 24


@dataclass(frozen=True, slots=True)
class EffortRule:
    """What a configured reasoning effort becomes in the body.

    `levels` maps an effort to the fields it sets. An effort that is not listed sends its own name as `verbatim` (a dotted path, "" for
    not at all) together with `beside`.
    """

    levels: Mapping[str, Fields] = field(default_factory=dict)
    verbatim: str = ""
    beside: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quirks:
    """One family behind one kind of server. The defaults suit a server nobody has described.

    omit                parameters that are never sent
    always              fields that are sent with every request
    limit_parameter     the name of the output limit
    default_limit       the output limit when nothing is configured and the catalogue knows none; None: the field stays off the wire
    limit_cap           the most that is asked for when nothing is configured
    effort              see `EffortRule`
    thinking_fixes      fields forced while a thinking budget is set (Anthropic: temperature 1)
    budget_headroom     tokens the output limit must exceed a thinking budget by
    turn_starts_with_thinking  while thinking has a budget, a turn that calls tools must have begun with a thinking block
    system_role         role of the system prompt (Chat Completions)
    replay              on which assistant messages reasoning text is sent back
    reasoning_field     under which name it is sent back
    think_tags          reasoning may lead the text, inside <think> tags
    dsml                tool calls may be written into the text in DeepSeek's markup
    cache_marks         the server takes `cache_control` marks on content blocks
    long_cache          what a mark of a long-lived dialogue carries besides its type
    call_ids            see `CallIdRule`
    missing_reasoning   what stands in for reasoning on a call another model made, where the server insists on the field; None: nothing
    foreign_call_extra  fields given to tool calls another model made (Gemini insists on a signature)
    bearer              the key travels as `Authorization: Bearer`, whatever the dialect's custom
    headers             further request headers
    """

    omit: frozenset[str] = frozenset({"prompt_cache_key", "parallel_tool_calls"})
    always: Fields = field(default_factory=dict)
    limit_parameter: str = "max_tokens"
    default_limit: int | None = None
    limit_cap: int = 32_000
    effort: EffortRule = EffortRule(verbatim="reasoning_effort", beside={"thinking": {"type": "enabled"}})
    thinking_fixes: Fields = field(default_factory=dict)
    budget_headroom: int = 4096
    turn_starts_with_thinking: bool = False
    system_role: Literal["system", "developer"] = "system"
    replay: ReasoningReplay = "with_calls"
    reasoning_field: str = "reasoning_content"
    think_tags: bool = True
    dsml: bool = False
    cache_marks: bool = False
    long_cache: Fields = field(default_factory=dict)
    call_ids: CallIdRule = CallIdRule()
    missing_reasoning: str | None = None
    foreign_call_extra: Fields | None = None
    bearer: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
