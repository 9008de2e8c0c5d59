"""What other agents measured, with the same kind of script on the same kind of machine (2 cores, 30 November 2026); carried over, not run.

A dash is what was not measured. Their memory is the sum over the process tree, which counts shared pages once per process; ours is the main
process alone. Their steps ran `sed` in a shell where they have no tool to read a file.
"""

from typing import Final, NamedTuple


class Peer(NamedTuple):
    """Times to the end of `--version` and to the first request in s, gaps in ms, memory in MB, `kept` as a share, sizes in B."""

    name: str
    version: float | None
    first_request: float
    first_gap: float | None
    last_gap: float | None
    memory: int | None
    connections: int | None
    kept: float | None
    prompt_bytes: int


PEERS: Final = (
    Peer("bare openai SDK loop", None, 0.93, 10.5, 101.2, 115, 21, 1.0, 524),
    Peer("codex 0.171", 0.06, 0.24, 63.6, 70.1, 357, 21, 1.0, 38872),
    Peer("claude 2.1", 0.01, 0.54, 65.0, 48.7, 701, 1, 1.0, 87583),
    Peer("pi 0.73", 1.21, 1.94, 12.7, 36.8, 386, 1, 1.0, 5492),
    Peer("gemini 0.61", 2.11, 2.34, 36.3, 53.6, 814, 1, 0.1208, 50202),
    Peer("kimi 1.51", 0.15, 2.60, 32.9, 203.1, 143, 21, 1.0, 49363),
    Peer("qwen 0.24", 0.05, 3.54, 47.8, 55.3, 690, 2, 1.0, 78884),
    Peer("vibe 3.0", 0.03, 3.03, 48.3, 86.1, 454, 21, 1.0, 32222),
    Peer("gptme 0.35", 0.34, 4.45, 350.3, 597.1, 198, 21, 1.0, 36862),
    Peer("aider 0.86", 1.25, 4.38, None, None, 291, None, None, 4306),
    Peer("mini 2.4", None, 4.24, 35.4, 78.3, 484, 1, 1.0, 3376),
    Peer("opencode 1.18", 0.78, 5.64, 379.5, 320.2, 1841, 1, 1.0, 30703),
    Peer("openhands 1.16", 8.23, 8.24, 739.1, 1483.0, 725, 1, 0.2810, 34909),
    Peer("deepagents 0.1", 0.41, 15.37, 173.9, 762.9, 897, 1, 1.0, 50155),
)
