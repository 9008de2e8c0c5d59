"""Environment switches: each is one predicate, and everything that asks, asks here."""

from collections.abc import Mapping


def concurrency_enabled(environ: Mapping[str, str]) -> bool:
    """False only for `YAGENT_CONCURRENCY=0`, exactly that text: read-only tools and delegations then run one after another (B-106)."""
    return environ.get("YAGENT_CONCURRENCY") != "0"


def resume_enabled(environ: Mapping[str, str]) -> bool:
    """False only for `YAGENT_RESUME=0`, exactly that text: no checkpoints are written and nothing is continued (B-105)."""
    return environ.get("YAGENT_RESUME") != "0"


def blackboard_enabled(environ: Mapping[str, str]) -> bool:
    """False only for `YAGENT_BLACKBOARD=0`, exactly that text: no note is written, read, shown or removed (B-101)."""
    return environ.get("YAGENT_BLACKBOARD") != "0"


def artifacts_enabled(environ: Mapping[str, str]) -> bool:
    """False only for `YAGENT_ARTIFACT_DISABLE=1`, exactly that text: long results stay in the conversation (B-103)."""
    return environ.get("YAGENT_ARTIFACT_DISABLE") != "1"
