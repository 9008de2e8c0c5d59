"""Is a network address this machine itself?"""

from __future__ import annotations

import re

from yagent.patterns import pattern

_ADDRESS = pattern(
    r"(?:https?://)?(?:localhost|127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}|\[::1\])(?::[0-9]{1,5})?(?:[/?#].*)?", re.IGNORECASE
)


def is_loopback(target: str) -> bool:
    """Say whether an HTTP URL or `host[:port]` is this machine. Anything unusual (a user part, an odd spelling of the address) is not."""
    return _ADDRESS.fullmatch(target) is not None
