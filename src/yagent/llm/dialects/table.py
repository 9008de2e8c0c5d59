"""Which dialect an `api_format` names."""

from yagent.llm.dialects.chat import CHAT
from yagent.llm.dialects.messages import MESSAGES
from yagent.llm.dialects.port import Dialect
from yagent.llm.dialects.responses import RESPONSES
from yagent.llm.engine import ModelConfigurationError

DIALECTS = {dialect.name: dialect for dialect in (CHAT, RESPONSES, MESSAGES)}


def dialect_for(api_format: str) -> Dialect:
    """The dialect of an `api_format`. Raises `ModelConfigurationError` for a name that is none."""
    dialect = DIALECTS.get(api_format)
    if dialect is None:
        raise ModelConfigurationError(f"api_format {api_format!r} does not exist; use one of {', '.join(DIALECTS)}.")
    return dialect
