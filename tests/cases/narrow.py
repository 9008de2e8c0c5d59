"""A model behind a window that refuses what is larger, and the sessions that talk to it."""

from __future__ import annotations

from tests.support.model_server import Call, Chaos, Reply, RequestView, status
from tests.support.session import Sessions

SUMMARISER = "You summarise"
OVERFLOW = b'{"error":{"message":"too long","code":"context_length_exceeded"}}'
PROVIDER = """[global.llm.providers.own]
api_base_url = "{url}"
model = "played-model"
api_format = "{api_format}"
"""
THOUGHT = "<thought>\ngoal: {goal}\nstep: next\nreason: asked\nplan:\n- [x] look around\n- [ ] write the notes\n- [ ] tag it\n</thought>"


def size(view: RequestView) -> int:
    """Tokens, as the server counts them."""
    return sum(len(part.encode()) for part in view.segments) // 4


def bare(sessions: Sessions, **more: str) -> dict[str, str]:
    """What a process would see that has no provider but those of the configuration."""
    kept = {name: value for name, value in sessions.environment().items() if not name.startswith("YAGENT_")}
    return {**kept, **more}


class Narrow:
    """A model behind a window: what is larger is refused. It reads on, and its summaries are `summary`."""

    def __init__(self, window: int, summary: str, *, steps: int = 30, words: str = "", lines: int = 40) -> None:
        self.window = window
        self.summary = summary
        self.steps = steps
        self.words = words
        self.lines = lines
        self.summaries: list[RequestView] = []
        self.refused: list[str] = []
        self.taken = 0

    def __call__(self, view: RequestView) -> Reply:
        refusal: tuple[Chaos, ...] = ()
        if size(view) > self.window:
            self.refused.append("".join(view.segments))
            refusal = (status(400, body=OVERFLOW),)
        if SUMMARISER in view.identity:
            self.summaries.append(view)
            return Reply(self.summary, chaos=refusal, piece=4096)
        if refusal:
            return Reply("never", chaos=refusal)
        self.taken += 1
        if self.taken > self.steps:
            return Reply("all done")
        first = self.taken * self.lines - self.lines + 1
        lines = {"path": "long.txt", "start_line": first, "end_line": first + self.lines - 1}
        return Reply(THOUGHT.format(goal="read it all") + self.words, calls=(Call("read_file", lines),), piece=4096)


def write_long(sessions: Sessions) -> None:
    """Put a long file into the workspace."""
    (sessions.workspace / "long.txt").write_text("".join(f"line {number} of a long text with words in it\n" for number in range(4000)))
