"""Which dialect an `api_format` names. A run needs one of them, so each is imported when it is asked for."""

from collections.abc import Callable, Mapping

from yagent.llm.dialects.port import Dialect
from yagent.llm.engine import ModelConfigurationError


def dialect_for(api_format: str) -> Dialect:
    """The dialect of an `api_format`. Raises `ModelConfigurationError` for a name that is none."""
    dialect = DIALECTS.get(api_format)
    if dialect is None:
        raise ModelConfigurationError(f"api_format {api_format!r} does not exist; use one of {', '.join(DIALECTS)}.")
    return dialect()


def _chat() -> Dialect:
    from yagent.llm.dialects.chat import CHAT

    return CHAT


def _responses() -> Dialect:
    from yagent.llm.dialects.responses import RESPONSES

    return RESPONSES


def _messages() -> Dialect:
    from yagent.llm.dialects.messages import MESSAGES

    return MESSAGES


DIALECTS: Mapping[str, Callable[[], Dialect]] = {"openai": _chat, "responses": _responses, "anthropic": _messages}
