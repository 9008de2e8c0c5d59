"""The task of every chaos run: what the agents do, and every state in which it may leave the files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from tests.support.fixtures import commit
from tests.support.model_server import Agent, Call, Cast, Reply, RequestView, hand_over

PROMPT = "Bring the greeting and the total up to date, and note each step in effects.log."
ANSWER = "Grüße 夢: the total is 42; effects noted: first, second."
LOST = ("nothing was executed", "was not executed")  # the arguments did not arrive whole
OVER = ("Not run:", "was cancelled", "did not finish within")  # the agent may not go on

# path -> the contents it may have: before, and after each whole step
STATES: Mapping[str, tuple[str | None, ...]] = {
    "greeting.txt": ("hello\nträume\n", "hello\nGrüße 夢\n"),
    "totals.py": ("TOTAL = 41\n", "TOTAL = 42\n"),
    "notes.md": (None, "# Notizen\n\nfür später: 夢\n"),
    "effects.log": (None, "first\n", "first\nsecond\n"),
}


class Over(Exception):
    """The agent is told to stop, or its last reply never arrived."""


def lay_out(place: Path) -> None:
    """The repository before the task."""
    place.mkdir(parents=True)
    for name, states in STATES.items():
        if states[0] is not None:
            (place / name).write_text(states[0], encoding="utf-8")
    commit(place, "init", "-q")
    commit(place, "add", "-A")
    commit(place, "commit", "-q", "-m", "start")


def damage(place: Path, *, complete: bool) -> list[str]:
    """What no whole step can have left; for a `complete` task, whatever is not its end."""
    found = []
    for name, states in STATES.items():
        path = place / name
        text = path.read_text(encoding="utf-8") if path.exists() else None
        if text not in (states[-1:] if complete else states):
            found.append(f"{name} holds {text!r}")
    known = {*STATES, ".git"}
    return [*found, *(f"{path.name} was left" for path in place.iterdir() if path.name not in known)]


def cast() -> Cast:
    """A fresh script."""
    return Cast({"are the Director": _director, "are Repo": _repo, "are Coding": _coding})


async def insist(agent: Agent, *calls: Call) -> list[str]:
    """Make the calls, and again those that arrived broken; the texts of their results. Raises `Over`."""
    texts: dict[int, str] = {}
    missing = dict(enumerate(calls))
    while missing:
        wanted = list(missing.values())
        view = await agent.reply(Reply(text="Es geht weiter – 進む.", calls=wanted, reasoning="überlegt 考"))
        if not _arrived(view, wanted):
            raise Over
        for index, result in zip(list(missing), view.results, strict=False):  # of several calls the later ones may be lost
            if any(words in result.text for words in OVER):
                raise Over
            if not any(words in result.text for words in LOST):
                texts[index] = result.text
                del missing[index]
    return [texts[index] for index in range(len(calls))]


def _arrived(view: RequestView, wanted: list[Call]) -> bool:
    """Whether the last thing the agent said is these calls, or the first of them."""
    since = next(index for index, entry in reversed(list(enumerate(view.entries))) if entry.role == "assistant")
    while since and view.entries[since - 1].role == "assistant":  # one dialect has an entry for each call
        since -= 1
    made = [call.name for entry in view.entries[since:] for call in entry.calls]
    return 0 < len(made) == len(view.results) <= len(wanted) and made == [call.name for call in wanted][: len(made)]


async def leave(agent: Agent, reply: Reply) -> NoReturn:
    """Say the last words, as often as they do not arrive whole."""
    while True:
        await agent.reply(reply)


async def _director(agent: Agent) -> Reply:
    try:
        await insist(agent, Call("list_dir", {"path": "."}))
        tasks = ("Where is the greeting? ¿Dónde?", "Where is the total? 合計")
        found = await insist(agent, *(Call("delegate_repo", {"task": task}) for task in tasks))
        task = {"task": "Bring both up to date – völlig.", "context_refs": ["agent:repo#1", "agent:repo#2"]}
        done = await insist(agent, Call("delegate_coding", task)) if not _failed(found) else found
    except Over:
        await leave(agent, hand_over("Stopped before it was done – abgebrochen.", status="partial"))
    failed = _failed(done)
    if failed:
        await leave(agent, hand_over(f"Not done – nicht fertig: {failed[:400]}", status="error"))
    noted = "first, second" if "first\nsecond" in done[0] else "not all"
    await leave(agent, Reply(f"Grüße 夢: the total is {'42' if 'TOTAL = 42' in done[0] else 'wrong'}; effects noted: {noted}."))


def _failed(results: list[str]) -> str:
    return next((text for text in results if " · ok · agent_exit · " not in text), "")


async def _repo(agent: Agent) -> Reply:
    word, path = ("träume", "greeting.txt") if "greeting" in agent.task else ("TOTAL", "totals.py")
    try:
        found = await insist(agent, Call("search_by_regex", {"pattern": word}))
        read = await insist(agent, Call("read_file", {"path": path}))
    except Over:
        await leave(agent, hand_over("Stopped while looking.", status="partial"))
    assert path in found[0], found
    assert word in read[0], read
    await leave(agent, hand_over(f"{word} is in {path} – gefunden.", facts=[{"claim": word, "where": f"{path}:1"}]))


async def _coding(agent: Agent) -> Reply:
    total = {"path": "totals.py", "edits": [{"search": "TOTAL = 41", "replace": "TOTAL = 42"}]}
    greeting = {"path": "greeting.txt", "edits": [{"search": "träume", "replace": "Grüße 夢"}]}
    try:
        await insist(agent, Call("read_file", {"path": "greeting.txt"}), Call("read_file", {"path": "totals.py"}))
        notes = {"path": "notes.md", "content": STATES["notes.md"][1]}
        await insist(agent, Call("search_replace_in_file", greeting), Call("create_file", notes))
        await insist(agent, Call("run_bash", {"command": "echo first >> effects.log"}))
        await insist(agent, Call("search_replace_in_file", total))
        await insist(agent, Call("run_bash", {"command": "echo second >> effects.log"}))
        shown = await insist(agent, Call("run_bash", {"command": "cat totals.py effects.log"}))
    except Over:
        await leave(agent, hand_over("Stopped while changing.", status="partial"))
    await leave(agent, hand_over(f"Done – erledigt:\n{shown[0]}", facts=[{"claim": "both are up to date", "where": "totals.py:1"}]))
