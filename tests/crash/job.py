"""The task of every crash: who does what, played as a function of the request alone.

Every agent has a plan of deeds. What of it is done it reads from its own conversation, so that it goes on after a resume as a good model
would: a call whose outcome is unknown makes it look first, and only what did not take effect is done again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.fixtures import commit
from tests.support.model_server import Call, Reply, RequestView, ScriptError, hand_over

PROMPT = "Carry out PLAN.md: both parts and the note, each step logged in steps.log and committed."
WARM_UP = "Say hello."
GREETING = "Hello – grüezi."
LOG = ("nested", "step-1a", "step-1b", "step-2", "step-3")
SUBJECTS = ("the third commit", "the second commit", "the first commit", "start")  # newest first
ANSWER = f"The plan is carried out; logged: {', '.join(LOG)}."
FILES: Mapping[str, str] = {
    "PLAN.md": "# Plan – 計画\n\nFirst half: one.\nSecond half: two.\n",
    "parts/base.txt": "base: old words\n",
}
UNKNOWN = "outcome unknown"
TRIES = 3  # how often the same call may fail before the script gives up


@dataclass(frozen=True, slots=True)
class Deed:
    """A call that has to be made once. `mark` is the line of a look that shows its effect; "" where doing it again harms nobody."""

    call: Call
    mark: str = ""

    @property
    def key(self) -> str:
        """What tells it from others."""
        return _key(self.call.name, self.call.arguments)


@dataclass(frozen=True, slots=True)
class Plan:
    """What one agent does: batches of deeds, then its last words. `looks` is for those who may find some of it done already."""

    name: str
    identity: str
    task: str
    batches: Sequence[Sequence[Deed]]
    looks: bool = False


def _bash(command: str, mark: str = "") -> Deed:
    return Deed(Call("run_bash", {"command": command}), mark)


def _log(line: str) -> Deed:
    return _bash(f"echo {line} >> steps.log", line)


def _commit(subject: str) -> Deed:
    return _bash(f"git add -A && git commit -q -m '{subject}' && git status --short", subject)


def _read(path: str) -> Deed:
    return Deed(Call("read_file", {"path": path}))


def _make(path: str, line: str) -> Deed:
    return Deed(Call("create_file", {"path": path, "content": f"{line}\n"}), line)


def _delegate(role: str, task: str) -> Deed:
    return Deed(Call(f"delegate_{role}", {"task": task}))


LOOK = _bash("cat steps.log; git log --format=%s; git status --short; cat parts/*.txt")
_LIST = Deed(Call("list_dir", {"path": "."}))
_SEARCH = Deed(Call("search_by_regex", {"pattern": "half"}))
_EDIT = Deed(
    Call("search_replace_in_file", {"path": "parts/base.txt", "edits": [{"search": "old words", "replace": "neue Wörter 夢"}]}),
    "base: neue Wörter 夢",
)

PLANS: Sequence[Plan] = (
    Plan(
        "director",
        "are the Director",
        "Carry out PLAN.md",
        (
            (_read("PLAN.md"), _LIST),
            (
                _delegate("repo", "What does the first half need? Let the start be logged."),
                _delegate("repo", "What does the second half need?"),
            ),
            (_delegate("coding", "Make part one; some of it may be done already."),),
            (_read("parts/one.txt"),),
            (_delegate("coding", "Make part two; some of it may be done already."),),
            (_read("parts/base.txt"), _SEARCH),
            (_delegate("devops", "Log and commit the third step, unless it is done already."),),
            (_delegate("chat", "Word the summary."),),
            (_read("steps.log"),),
        ),
    ),
    Plan(
        "repo-first",
        "are Repo",
        "first half",
        ((_read("PLAN.md"), _read("parts/base.txt")), (_delegate("devops", "Log the start, unless it is logged already."),)),
    ),
    Plan("repo-second", "are Repo", "second half", ((_SEARCH,), (_read("PLAN.md"),), (_LIST, _read("parts/base.txt")))),
    Plan("devops-nested", "are DevOps", "Log the start", ((_log("nested"),),), looks=True),
    Plan(
        "coding-one",
        "are Coding",
        "part one",
        (
            (_make("parts/one.txt", "one: made"), _log("step-1a"), _make("parts/extra.txt", "extra: made")),
            (_log("step-1b"), _commit("the first commit")),
        ),
        looks=True,
    ),
    Plan(
        "coding-two",
        "are Coding",
        "part two",
        ((_read("parts/base.txt"),), (_EDIT, _log("step-2")), (_commit("the second commit"),)),
        looks=True,
    ),
    Plan("devops-third", "are DevOps", "third step", ((_log("step-3"),), (_commit("the third commit"),)), looks=True),
    Plan("chat", "are Chat", "summary", ()),
)


def lay_out(place: Path) -> None:
    """The repository before the task."""
    for name, text in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    commit(place, "init", "-q", "--template=")
    for name, value in (("user.name", "t"), ("user.email", "t@example.invalid"), ("commit.gpgsign", "false")):
        commit(place, "config", name, value)
    commit(place, "add", "-A")
    commit(place, "commit", "-q", "-m", "start")


def plan_of(view: RequestView) -> Plan:
    """Whose request it is."""
    asked = _tagged(view.task)
    if asked.strip() == WARM_UP:  # an earlier task of the same conversation
        asked = next((entry.text for entry in view.entries if entry.role == "user" and entry.text == PROMPT), asked)
    found = [plan for plan in PLANS if plan.identity in view.identity and plan.task in asked]
    if len(found) != 1:
        raise ScriptError(f"{len(found)} plans fit {view.identity!r} with the task {asked[:200]!r}")
    return found[0]


def script(view: RequestView) -> Reply:
    """What the model says to a request."""
    if view.user_text and _tagged(view.user_text).strip() == WARM_UP:
        return Reply(GREETING)
    plan = plan_of(view)
    made = list(_made(view))
    state = _State(plan)
    for call, text in made:
        state.take_in(call, text)
    batch = state.next_batch()
    if batch:
        return _calling(plan, len(made), batch)
    if plan.name == "director":
        logged = next(text for call, text in reversed(made) if call == _read("steps.log").key)
        found = [line for line in LOG if line in logged]
        return Reply(f"The plan is carried out; logged: {', '.join(found)}.", reasoning="fertig 完")
    if not made and plan.batches:
        raise ScriptError(f"{plan.name} has nothing to do")
    return _calling(plan, len(made), [Deed(hand_over(f"{plan.name} is done – erledigt.").calls[0])])


def told_unknown(view: RequestView) -> set[str]:
    """The calls of a request whose outcome it calls unknown."""
    return {result.call_id for entry in view.entries for result in entry.results if UNKNOWN in result.text}


class _State:
    """How far a plan has come, as its conversation tells."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._deeds = {deed.key: deed for batch in plan.batches for deed in batch}
        self._done: set[str] = set()
        self._doubtful: set[str] = set()
        self._looked = not plan.looks
        self._failures: dict[str, int] = {}

    def take_in(self, key: str, text: str) -> None:
        unknown = UNKNOWN in text
        if key == LOOK.key:
            if not unknown:
                self._look(text)
        elif unknown:
            if self._deeds[key].mark:
                self._doubtful.add(key)
        elif _failed(key, text):
            self._failures[key] = self._failures.get(key, 0) + 1
            if self._failures[key] >= TRIES:
                raise ScriptError(f"{self._plan.name}: {key} failed {TRIES} times, at last with {text[:400]!r}")
        else:
            self._done.add(key)

    def _look(self, text: str) -> None:
        self._looked = True
        lines = text.splitlines()
        for key, deed in self._deeds.items():
            if deed.mark and deed.mark in lines:
                self._done.add(key)
        self._doubtful.clear()

    def next_batch(self) -> Sequence[Deed]:
        if self._doubtful or not self._looked:
            return [LOOK]
        for batch in self._plan.batches:
            if left := [deed for deed in batch if deed.key not in self._done]:
                return left
        return []


def _calling(plan: Plan, number: int, batch: Sequence[Deed]) -> Reply:
    """A reply whose calls are numbered through the whole conversation, so that the same request gives the same reply in every run."""
    calls = [Call(deed.call.name, deed.call.arguments, f"{plan.name}-{number + index}") for index, deed in enumerate(batch)]
    return Reply("Es geht weiter – 進む.", calls, reasoning="überlegt 考")


def _made(view: RequestView) -> Iterator[tuple[str, str]]:
    """The calls of a conversation with their results."""
    results = {result.call_id: result.text for entry in view.entries for result in entry.results}
    for entry in view.entries:
        for call in entry.calls:
            if call.id not in results:
                raise ScriptError(f"the call {call.id} has no result")
            yield _key(call.name, json.loads(call.arguments)), results[call.id]


def _failed(key: str, text: str) -> bool:
    if key.startswith("delegate_"):
        return " · ok · " not in text
    return key.startswith("run_bash") and "exit code 0" not in text


def _key(name: str, arguments: object) -> str:
    return f"{name} {json.dumps(arguments, sort_keys=True, ensure_ascii=False)}"


def _tagged(task: str) -> str:
    """The words of the task itself, without the context around them."""
    for tag in ("request", "task"):
        _, found, rest = task.rpartition(f"<{tag}>")
        if found:
            return rest.partition(f"</{tag}>")[0]
    return task
