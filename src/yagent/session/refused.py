"""What a session cannot do now."""

from typing import ClassVar

from yagent.errors import YagentError
from yagent.protocol.stop import USAGE


class TaskRefused(YagentError):
    """A task cannot start now, or what was asked of a running one cannot be done."""

    exit_code: ClassVar[int] = USAGE
