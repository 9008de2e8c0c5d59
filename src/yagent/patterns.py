"""Regular expressions that are compiled when they are first used.

Compiling one takes about as long as importing the module around it, and most runs use few of all there are.
"""

import re
from typing import TYPE_CHECKING, Any

__all__ = ["pattern"]

if TYPE_CHECKING:
    from re import compile as pattern
else:

    def pattern(source: str, flags: int = 0) -> "_Pattern":
        """`re.compile`, but later."""
        return _Pattern(source, flags)


class _Pattern:
    """Has the methods and attributes of the compiled pattern, each from when it is first asked for."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, value)
        return value
