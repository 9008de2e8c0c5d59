"""What is wrong with a search pattern, in one line and with what to send instead."""

from __future__ import annotations

import re
import warnings

_SHOWN = 24

# What Python says, and what we say; the character at the reported position is the one to escape.
_WORDS = {
    "missing ), unterminated subpattern": "unclosed (",
    "unterminated character set": "unclosed [",
    "unbalanced parenthesis": "unopened )",
    "nothing to repeat": "nothing to repeat",
    "multiple repeat": "two repetitions in a row",
    "bad escape (end of pattern)": "a lone backslash",
}


def pattern_problem(pattern: str, said: str) -> str:
    """Why an engine refused a pattern. `said` is what it printed: used where Python's parser does not find one of the usual faults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern)
        except re.error as error:
            if error.msg in _WORDS and error.pos is not None:
                return _located(_WORDS[error.msg], pattern, error.pos)
        except (RecursionError, OverflowError):
            return "the pattern is nested too deeply, or counts too far; search for a simpler one, or set fixed_text=true"
    reasons = [line.removeprefix("error: ") for line in said.splitlines() if line.startswith("error: ")]
    reason = reasons[0] if reasons else said.strip().splitlines()[-1] if said.strip() else "it is not valid"
    return f"the pattern is refused: {reason}; escape special characters with a backslash, or set fixed_text=true"


def _located(what: str, pattern: str, at: int) -> str:
    before = pattern[max(0, at + 1 - _SHOWN) : at + 1]
    return f"the pattern is not valid: {what} at {before!r}; write \\{pattern[at]} for the character itself, or set fixed_text=true"
