"""The one table of model-family differences. The first row that matches format, host and model wins; rows inherit by `replace`.

Host patterns are searched in the host name, model patterns in the lower-case model name (with whatever vendor prefix it has). A host's row
stands before the rows of model families behind any host. Versions are spelled out: nothing is assumed of a model that did not exist when
its row was written. What a row gets wrong is corrected by the server's own complaint (`dialects.parameters.learn`).
"""

import re
from dataclasses import replace

from yagent.llm.quirks import CallIdRule, EffortRule, Quirks
from yagent.records import dataclass

_NOTHING: frozenset[str] = frozenset()
_PLAIN_EFFORT = EffortRule(verbatim="reasoning_effort")
_THINKING_SWITCH = EffortRule(
    levels={"none": {"thinking": {"type": "disabled"}}}, verbatim="reasoning_effort", beside={"thinking": {"type": "enabled"}}
)
_THINKING_ONLY = EffortRule(
    levels={
        "none": {"thinking": {"type": "disabled"}},
        **{level: {"thinking": {"type": "enabled"}} for level in ("minimal", "low", "medium", "high", "max")},
    }
)
_ENABLE_THINKING = EffortRule(
    levels={
        "none": {"enable_thinking": False},
        "low": {"enable_thinking": True, "thinking_budget": 1024},
        "medium": {"enable_thinking": True, "thinking_budget": 8192},
        "high": {"enable_thinking": True, "thinking_budget": 24576},
        "max": {"enable_thinking": True},
    }
)
_BUDGETS = EffortRule(
    levels={
        level: {"thinking": {"type": "enabled", "budget_tokens": budget}}
        for level, budget in (("low", 1024), ("medium", 8192), ("high", 24576), ("max", 32000))  # C-09
    }
)
_ADAPTIVE = EffortRule(
    levels={
        level: {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}} for level in ("low", "medium", "high", "xhigh", "max")
    }
)

# Chat Completions ------------------------------------------------------------------------------------------------------------------

_CHAT = Quirks()
_OPENAI = Quirks(omit=_NOTHING, limit_parameter="max_completion_tokens", effort=_PLAIN_EFFORT, replay="never", think_tags=False)
_OPENAI_REASONING = replace(_OPENAI, omit=frozenset({"temperature"}), system_role="developer")
_OPENAI_O_SERIES = replace(_OPENAI_REASONING, omit=frozenset({"temperature", "parallel_tool_calls"}))
_DEEPSEEK = replace(_CHAT, effort=_THINKING_SWITCH, dsml=True, missing_reasoning="")
_DEEPSEEK_ELSEWHERE = replace(_CHAT, dsml=True)
_R1 = replace(_CHAT, replay="never")
_KIMI_ELSEWHERE = replace(_CHAT, replay="always")
_KIMI = replace(_KIMI_ELSEWHERE, omit=frozenset({"parallel_tool_calls"}), effort=_THINKING_ONLY, missing_reasoning="")
_KIMI_FIXED_TEMPERATURE = replace(_KIMI, omit=_KIMI.omit | {"temperature"})
_GLM_ELSEWHERE = replace(_CHAT, replay="always")
_GLM = replace(
    _GLM_ELSEWHERE,
    omit=_CHAT.omit | {"tool_choice"},
    effort=EffortRule(
        levels={
            "none": {"thinking": {"type": "disabled"}},
            **{level: {"thinking": {"type": "enabled", "clear_thinking": False}} for level in ("low", "medium", "high", "max")},
        }
    ),
)
_GLM_TOOL_STREAM = replace(_GLM, always={"tool_stream": True})
_QWEN = replace(_CHAT, effort=_ENABLE_THINKING)
_MIMO = replace(_CHAT, limit_parameter="max_completion_tokens", effort=_THINKING_ONLY, replay="always", missing_reasoning="")
_MINIMAX = replace(_CHAT, always={"reasoning_split": True}, effort=EffortRule(), replay="always")
_OPENROUTER = replace(
    _CHAT,
    always={"usage": {"include": True}},
    effort=EffortRule(levels={"none": {"reasoning": {"enabled": False}}}, verbatim="reasoning.effort"),
    replay="always",
    reasoning_field="reasoning",
)
_OPENROUTER_CLAUDE = replace(_OPENROUTER, cache_marks=True, long_cache={"ttl": "1h"})
_MISTRAL = replace(
    _CHAT,
    omit=_CHAT.omit | {"stream_options"},
    effort=_PLAIN_EFFORT,
    replay="never",
    call_ids=CallIdRule(pattern=r"[A-Za-z0-9]{9}", prefix="", digits=9),
)
_GEMINI = replace(
    _CHAT,
    effort=_PLAIN_EFFORT,
    replay="never",
    think_tags=False,
    foreign_call_extra={"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}},
)
_XAI = replace(_CHAT, effort=_PLAIN_EFFORT, replay="never", think_tags=False)
_GROQ = replace(_CHAT, limit_parameter="max_completion_tokens", effort=_PLAIN_EFFORT, reasoning_field="reasoning")
_GPT_OSS = replace(_CHAT, effort=_PLAIN_EFFORT, reasoning_field="reasoning")

# Responses -------------------------------------------------------------------------------------------------------------------------

_RESPONSES = Quirks(
    limit_parameter="max_output_tokens",
    effort=EffortRule(verbatim="reasoning.effort", beside={"reasoning": {"summary": "auto"}}),
    replay="always",
    think_tags=False,
)
_OPENAI_RESPONSES = replace(_RESPONSES, omit=_NOTHING)
_OPENAI_RESPONSES_REASONING = replace(_OPENAI_RESPONSES, omit=frozenset({"temperature"}))

# Messages --------------------------------------------------------------------------------------------------------------------------

_MESSAGES = Quirks(
    omit=_NOTHING,
    default_limit=8192,  # C-06
    effort=_BUDGETS,
    thinking_fixes={"temperature": 1.0},  # C-10
    turn_starts_with_thinking=True,
    replay="always",
    think_tags=False,
    cache_marks=True,
    long_cache={"ttl": "1h"},
    call_ids=CallIdRule(pattern=r"[A-Za-z0-9_-]{1,64}", prefix="toolu_"),
)
_INTERLEAVED = replace(_MESSAGES, headers={"anthropic-beta": "interleaved-thinking-2025-05-14"})
_CLAUDE_ADAPTIVE = replace(_MESSAGES, effort=_ADAPTIVE, thinking_fixes={}, turn_starts_with_thinking=False)
_CLAUDE_FIXED_TEMPERATURE = replace(_CLAUDE_ADAPTIVE, omit=frozenset({"temperature"}))
_COMPATIBLE = replace(_MESSAGES, long_cache={}, turn_starts_with_thinking=False)
_COMPATIBLE_BEARER = replace(_COMPATIBLE, bearer=True)


@dataclass(frozen=True, slots=True)
class Row:
    """Where `quirks` hold. An empty pattern matches everything."""

    api_format: str
    host: str
    model: str
    quirks: Quirks


_REASONING_GPT = r"\bgpt-(5|6)(?!.*chat)"
_OPENAI_HOST = r"(^|\.)openai\.(com|azure\.com)$"
_ZAI, _MOONSHOT = r"(^|\.)(z\.ai|bigmodel\.cn)$", r"(^|\.)(moonshot\.(cn|ai)|kimi\.com)$"
_ANTHROPIC_HOST, _OPENROUTER_HOST = r"(^|\.)anthropic\.com$", r"(^|\.)openrouter\.ai$"

TABLE: tuple[Row, ...] = (
    Row("openai", _OPENAI_HOST, r"\bo[134](-|$)", _OPENAI_O_SERIES),
    Row("openai", _OPENAI_HOST, _REASONING_GPT, _OPENAI_REASONING),
    Row("openai", _OPENAI_HOST, "", _OPENAI),
    Row("openai", r"(^|\.)deepseek\.com$", "", _DEEPSEEK),
    Row("openai", _MOONSHOT, r"kimi-k2(\.[567]|-thinking)|kimi-for-coding", _KIMI_FIXED_TEMPERATURE),
    Row("openai", _MOONSHOT, "", _KIMI),
    Row("openai", _ZAI, r"glm-(4\.[67]|5)", _GLM_TOOL_STREAM),
    Row("openai", _ZAI, "", _GLM),
    Row("openai", r"(^|\.)aliyuncs\.com$", r"deepseek", replace(_QWEN, dsml=True)),
    Row("openai", r"(^|\.)(aliyuncs\.com|siliconflow\.(cn|com))$", r"kimi|glm", replace(_QWEN, replay="always")),
    Row("openai", r"(^|\.)(aliyuncs\.com|siliconflow\.(cn|com))$", "", _QWEN),
    Row("openai", r"(^|\.)xiaomimimo\.com$", "", _MIMO),
    Row("openai", r"(^|\.)(minimax\.io|minimaxi\.com)$", "", _MINIMAX),
    Row("openai", _OPENROUTER_HOST, r"(^|/)claude", _OPENROUTER_CLAUDE),
    Row("openai", _OPENROUTER_HOST, "", _OPENROUTER),
    Row("openai", r"(^|\.)mistral\.ai$", "", _MISTRAL),
    Row("openai", r"(^|\.)googleapis\.com$", "", _GEMINI),
    Row("openai", r"(^|\.)x\.ai$", "", _XAI),
    Row("openai", r"(^|\.)(groq\.com|cerebras\.ai)$", "", _GROQ),
    Row("openai", "", r"deepseek-(r1|reasoner-0)", _R1),
    Row("openai", "", r"deepseek", _DEEPSEEK_ELSEWHERE),
    Row("openai", "", r"kimi-k2", _KIMI_ELSEWHERE),
    Row("openai", "", r"glm-(4\.[567]|5)", _GLM_ELSEWHERE),
    Row("openai", "", r"mimo-v2", replace(_CHAT, replay="always")),
    Row("openai", "", r"gemini-", _GEMINI),
    Row("openai", "", r"gpt-oss", _GPT_OSS),
    Row("openai", "", "", _CHAT),
    Row("responses", _OPENAI_HOST, rf"\bo[134](-|$)|{_REASONING_GPT}", _OPENAI_RESPONSES_REASONING),
    Row("responses", _OPENAI_HOST, "", _OPENAI_RESPONSES),
    Row("responses", "", "", _RESPONSES),
    Row("anthropic", _OPENROUTER_HOST, "", _COMPATIBLE_BEARER),
    Row("anthropic", f"{_ZAI}|{_MOONSHOT}", "", _COMPATIBLE_BEARER),
    Row("anthropic", "", r"claude-(opus|sonnet)-4-6", _CLAUDE_ADAPTIVE),
    Row("anthropic", "", r"claude-opus-4-[78]|claude-(opus|sonnet|haiku|fable|mythos)-5|claude-mythos-preview", _CLAUDE_FIXED_TEMPERATURE),
    Row("anthropic", _ANTHROPIC_HOST, r"claude-(opus|sonnet|haiku)-4", _INTERLEAVED),
    Row("anthropic", "", r"claude|^$", _MESSAGES),
    Row("anthropic", r"(^|\.)(deepseek|minimaxi)\.com$|(^|\.)minimax\.io$|aliyuncs", "", _COMPATIBLE),
    Row("anthropic", "", "", _MESSAGES),
)


def quirks_for(api_format: str, host: str, model: str) -> Quirks:
    """The row for a model behind a host; the defaults of the format for whatever the table does not know."""
    host, model = host.lower(), model.lower()
    for row in TABLE:
        if row.api_format == api_format and re.search(row.host, host) and re.search(row.model, model):
            return row.quirks
    return Quirks()
