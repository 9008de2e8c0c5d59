"""The sections on what is kept of conversations and results: going on with them, shrinking them, handing them on."""

from yagent.config import values
from yagent.config.declared import DEFAULT_AT_ZERO, key
from yagent.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeSection:
    """`[resume]`: going on with a session that was stopped."""

    enable: bool = key(
        values.FLAG,
        default=True,
        rule="false: no checkpoints are written and nothing is continued; so does `YAGENT_RESUME=0`",
        text="Keep what a session needs to go on, and let it.",
        consumer="session.resume",
    )
    replay_token_budget: int = key(
        values.WHOLE,
        0,
        "0 or less: what the model's window allows",
        "Tokens of a stopped delegation's conversation up to which it is continued; a longer one is reported to the Director instead.",
        consumer="session.resume",
    )
    max_replay_messages: int = key(
        values.WHOLE,
        2000,
        "0: no limit; less than 0: the default",
        "Messages of a stopped delegation's conversation up to which it is continued.",
        consumer="session.resume",
    )
    degrade_on_workspace_change: str = key(
        values.one_of("warn", "block"),
        "warn",
        "unknown: a notice and the default",
        "When the files changed since a delegation stopped: `warn` (it goes on and a line says so) or `block` (it is reported instead).",
        consumer="session.resume",
    )
    checkpoint_workspace: bool = key(
        values.FLAG,
        default=True,
        rule="false: git is not asked when a run stops, and no change can be noticed",
        text="Note at a stop which commit is checked out and whether files differ from it.",
        consumer="session.resume",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionSection:
    """`[compression]`: making a conversation fit the model's window."""

    enable_context_compression: bool = key(
        values.FLAG,
        default=True,
        rule="false: no tier ever runs; a conversation that outgrows the window ends the run",
        text="Shrink a conversation before it outgrows the model's window.",
        consumer="compression.policy",
    )
    context_compression_threshold: int = key(
        values.WHOLE,
        0,
        "0 or less: from the model's window alone; `YAGENT_COMPRESS_THRESHOLD` wins",
        "Tokens of a request from which on the conversation is shrunk.",
        consumer="compression.threshold",
    )
    tool_result_keep_tokens: int = key(
        values.COUNT, 200, DEFAULT_AT_ZERO, "Tokens that the first tier leaves of an old tool result.", consumer="compression.rule"
    )
    enable_ultimate_compression: bool = key(
        values.FLAG,
        default=True,
        rule="false: the third tier never runs",
        text="Rebuild the conversation from its record when the other tiers are not enough.",
        consumer="compression.tiers",
    )
    ultimate_compression_keep_plans: int = key(
        values.WHOLE,
        0,
        "0 or less: all of them",
        "How many of the newest thoughts the third tier keeps.",
        consumer="compression.ultimate",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackboardSection:
    """`[blackboard]`: the notes that delegations leave."""

    index_max_notes: int = key(
        values.WHOLE,
        12,
        "0: the list is not shown; less than 0: the default",
        "Notes in the list that every request of the Director and every delegation is given.",
        consumer="blackboard.index",
    )
    index_line_chars: int = key(
        values.WHOLE,
        160,
        "0: lines are not clipped; less than 0: the default",
        "Characters of one line of that list.",
        consumer="blackboard.index",
    )
    summary_max_runes: int = key(
        values.COUNT,
        1200,
        DEFAULT_AT_ZERO,
        "Characters of a conclusion where it stands for a longer result.",
        consumer="blackboard.artifacts",
    )
    ttl: float | None = key(
        values.DURATION,
        168 * 3600.0,
        "0: nothing is removed",
        "Notes of a session to which none was added for this long are removed, and long results as old.",
        consumer="blackboard.gc",
    )
    max_notes_per_board: int = key(
        values.COUNT, 200, DEFAULT_AT_ZERO, "Notes kept of one session; the oldest go first.", consumer="blackboard.gc"
    )
