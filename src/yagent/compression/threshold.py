"""From which size on a conversation is compressed (L-02, B-107, decisions "Wiring")."""

from yagent.records import dataclass

SHARE = 0.75  # of the catalogue's window
UNKNOWN_WINDOW = 120_000  # tokens: the threshold where nobody knows the window
KEPT_OF_RESULT = 200  # tokens
MARGIN = 0.05  # of the window, for what an estimate may be off


@dataclass(frozen=True, slots=True)
class CompressionSettings:
    """What a user may set. `context_compression_threshold` in tokens, absent, 0 or less: derived from the catalogue alone.

    `ultimate_compression_keep_plans`: how many of the newest thoughts the third tier keeps, 0 for all.
    """

    enable_context_compression: bool = True
    context_compression_threshold: int = 0
    tool_result_keep_tokens: int = KEPT_OF_RESULT
    enable_ultimate_compression: bool = True
    ultimate_compression_keep_plans: int = 0

    @property
    def kept_of_result(self) -> int:
        """Tokens that stay of a shortened tool result."""
        return self.tool_result_keep_tokens if self.tool_result_keep_tokens > 0 else KEPT_OF_RESULT


@dataclass(frozen=True, slots=True)
class Window:
    """What is known of a model's window, in tokens. `total` None where nobody knows; `reserved` is kept free for the reply."""

    total: int | None = None
    reserved: int = 0


def threshold_of(window: Window, configured: int = 0, override: str = "") -> int:
    """The size in tokens above which a conversation is compressed, at least 1.

    `override` is the text of the environment variable, which beats the catalogue and the configuration; what is no positive whole number
    is ignored. Whatever it says, a reply has to fit as well: no threshold is above the window less what is reserved and the margin.
    """
    specified = _whole_number(override) or _specified(window.total, configured)
    if window.total is None:
        return specified
    return max(1, min(specified, window.total - window.reserved - round(window.total * MARGIN)))


def _specified(total: int | None, configured: int) -> int:
    derived = UNKNOWN_WINDOW if total is None else int(total * SHARE)
    if configured <= 0:
        return derived
    return configured if total is None else min(derived, configured)


def _whole_number(text: str) -> int:
    """0 for what is none."""
    plain = text.strip()
    return int(plain) if plain.isascii() and plain.isdecimal() and len(plain) < 10 else 0
