"""How notes and artifacts are kept."""

from yagent.records import dataclass

WEEK = 168 * 3600.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackboardSettings:
    """What is kept, and how much of it is shown.

    `enabled` False: no note is written, read, shown or removed; it is the one predicate for all four. `index_max_notes` 0: no index.
    `index_line_chars` 0: lines are not clipped. `ttl` in seconds, None: boards are never removed. `artifacts` False: nothing is too long
    for a conversation.
    """

    enabled: bool = True
    index_max_notes: int = 12
    index_line_chars: int = 160
    summary_max_runes: int = 1200  # code points of a conclusion where its note or artifact is referred to
    ttl: float | None = WEEK
    max_notes_per_board: int = 200
    artifacts: bool = True
    artifact_tokens: int = 500  # of a deliverable; a longer one is stored
