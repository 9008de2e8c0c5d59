"""What a run is doing, as a live tree of agents on a terminal: one line an agent, with what it does now."""

from dataclasses import field

from rich.console import Console
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from yagent.apps.cli.progress import Lines, ending, one_line, subject_of
from yagent.apps.cli.suspension import is_in_foreground
from yagent.protocol.events import (
    DelegationEnded,
    DelegationStarted,
    Event,
    LlmCallStart,
    ThinklinkEntry,
    ToolCallStart,
    UserHelpNeeded,
    UserHelpResponse,
)
from yagent.records import dataclass

FRAMES_PER_SECOND = 8


@dataclass(slots=True)
class _Agent:
    name: str
    doing: str = ""
    step: int = 0
    state: str = "●"
    children: list["_Agent"] = field(default_factory=list)


class LiveProgress:
    """Draws the tree in place; above it scroll the lines that a pipe would get. Asks take the terminal for themselves meanwhile."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._director = _Agent("Director")
        self._agents: dict[str, _Agent] = {"": self._director}
        self._lines = Lines()
        self._live: Live | None = None
        self._asks: set[str] = set()
        self._held: list[str] = []  # lines that wait for the end of a question

    def show(self, event: Event) -> None:
        """Draw one event."""
        match event.payload:
            case UserHelpNeeded():
                self._asks.add(event.payload.request_id)
                self._stop()
            case UserHelpResponse():
                self._asks.discard(event.payload.request_id)
        self._change(event)
        self.say(self._lines.of(event))
        if not self._asks:
            self._start()
            self._release()

    def say(self, line: str) -> None:
        """Have a line drawn with the next event."""
        if line:
            self._held.append(line)

    def close(self) -> None:
        """Leave the terminal as it was, with every line that was held back."""
        self._stop()
        self._release()

    def rest(self) -> None:
        """Leave the terminal to others for now."""
        self._stop()

    def go_on(self) -> None:
        """Draw again, unless somebody is asked."""
        if not self._asks:
            self._start()

    def _start(self) -> None:
        """Draw from here on. A drawing that was stopped is never taken up again: it would go over what was written since."""
        if self._live is None and is_in_foreground(2) is not False:
            self._live = Live(console=self._console, refresh_per_second=FRAMES_PER_SECOND, transient=True, get_renderable=self._tree)
            self._live.start()

    def _stop(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def _release(self) -> None:
        lines, self._held = self._held, []
        for line in lines:
            self._console.print(Text(line))

    def _change(self, event: Event) -> None:
        agent = self._agents.get(event.delegation_id or "", self._director)
        payload = event.payload
        match payload:
            case DelegationStarted():
                child = _Agent(payload.name, one_line(payload.task, 80))
                self._agents[payload.delegation_id] = child
                self._agents.get(payload.parent_delegation_id or "", self._director).children.append(child)
            case DelegationEnded():
                agent.state, word = ending(payload)
                agent.doing = f"{word} · {payload.duration_ms / 1000:.0f} s"
            case LlmCallStart():
                agent.step = payload.call_no
                agent.doing = agent.doing or "thinks"
            case ToolCallStart():
                agent.doing = subject_of(payload)
            case ThinklinkEntry():
                agent.doing = one_line(payload.step or payload.goal or agent.doing)

    def _tree(self) -> Tree:
        tree = Tree(_label(self._director))
        _grow(tree, self._director)
        return tree


def _label(agent: _Agent) -> Text:
    return Text(f"{agent.state} {agent.name}  step {agent.step}  {agent.doing}", no_wrap=True, overflow="ellipsis")


def _grow(tree: Tree, agent: _Agent) -> None:
    for child in agent.children:
        _grow(tree.add(_label(child)), child)
