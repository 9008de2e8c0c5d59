"""What one agent may call: the only source of declarations, of names, and of admission to run in parallel."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from yagent.protocol.messages import JsonObject, Message, ToolDeclaration
from yagent.tools.parameters import schema_of
from yagent.tools.spec import AnySpec

COLD_ARGUMENT: Final = "arguments"
_COLD_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {COLD_ARGUMENT: {"type": "string", "description": "One JSON object in text: the arguments as load_tool shows them."}},
}
_COLD_HINT: Final = "Call load_tool first to see its arguments."

OFTEN_MEANT: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("edit", "edit_file", "str_replace", "str_replace_editor", "apply_patch", "patch", "replace", "search_replace", "multi_edit"),
        ("search_replace_in_file", "delegate_coding"),
    ),
    **dict.fromkeys(("write", "write_file", "new_file", "save_file"), ("create_file", "delegate_coding")),
    **dict.fromkeys(
        ("bash", "shell", "run", "exec", "execute", "run_command", "run_shell_command", "terminal", "run_bash"),
        ("run_bash", "delegate_devops"),
    ),
    **dict.fromkeys(("grep", "search", "rg", "search_files", "find_in_files", "codebase_search"), ("search_by_regex",)),
    **dict.fromkeys(("ls", "list", "list_files", "glob", "list_directory"), ("list_dir", "print_dir_tree")),
    **dict.fromkeys(("cat", "view", "view_file", "open", "open_file", "read"), ("read_file",)),
    **dict.fromkeys(("finish", "done", "complete", "submit", "final_answer", "exit"), ("agent_exit",)),
}  # what models call by the names of other programs' tools, best first


class Surface:
    """The tools of one agent.

    `specs` come in the order in which they are declared; `descriptions` holds each tool's text for the model. A delegation to one of
    `read_only_roles` may run beside other read-only calls; the set is empty where delegations are serial.
    """

    def __init__(
        self, profile: str, specs: Sequence[AnySpec], *, descriptions: Mapping[str, str], read_only_roles: frozenset[str] = frozenset()
    ) -> None:
        self.profile = profile
        self.read_only_roles = read_only_roles
        self._specs = {spec.name: spec for spec in specs}
        self._descriptions = descriptions
        self._loaded: set[str] = set()
        self._shown: set[str] = set()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tools, in the order of their declarations."""
        return tuple(self._specs)

    def find(self, name: str) -> AnySpec | None:
        """The tool of exactly this name."""
        return self._specs.get(name)

    def nearest(self, name: str) -> tuple[str, ...]:
        """Names the caller may have meant, best first; empty when none is close."""
        meant = [known for known in OFTEN_MEANT.get(name.casefold().rpartition("__")[2], ()) if known in self._specs]
        if meant:
            return tuple(meant)
        folded = {known.casefold(): known for known in self._specs}
        return tuple(folded[match] for match in get_close_matches(name.casefold(), folded, n=3, cutoff=0.6))

    def declarations(self) -> tuple[ToolDeclaration, ...]:
        """The tools as the model sees them. Constant for the life of the surface, also after cold tools were loaded."""
        return tuple(self._declaration(spec) for spec in self._specs.values())

    def full_declaration(self, name: str) -> ToolDeclaration:
        """A tool with its whole description and schema: what `load_tool` shows of a cold one."""
        return ToolDeclaration(name, self._descriptions[name], schema_of(self._specs[name].parameters))

    @property
    def hash(self) -> str:
        """Fingerprint of the declarations; equal hashes mean byte-identical tools on the wire."""
        listed = [(each.name, each.description, each.parameters) for each in self.declarations()]
        return hashlib.sha256(json.dumps(listed, ensure_ascii=False).encode()).hexdigest()[:16]

    @property
    def cold_names(self) -> tuple[str, ...]:
        """The tools whose arguments are shown on request only."""
        return tuple(name for name, spec in self._specs.items() if spec.frequency == "cold")

    def is_loaded(self, name: str) -> bool:
        """May be executed: hot, or cold and already shown to the model."""
        spec = self._specs.get(name)
        return spec is not None and (spec.frequency == "hot" or name in self._loaded)

    def load(self, names: Iterable[str]) -> None:
        """Note that the model has seen the arguments of these tools. Unknown names are ignored: a resumed run may lack a tool."""
        self._loaded.update(name for name in names if name in self._specs)

    def show(self, names: Iterable[str]) -> None:
        """Note that an answer shows the arguments of these tools: they are open from the model's next message on, not for calls that were
        written beside the one that is answered."""
        self._shown.update(names)

    def next_message(self) -> None:
        """The calls that follow were written after all answers so far."""
        self.load(self._shown)
        self._shown.clear()

    def restore(self, messages: Iterable[Message]) -> None:
        """Open the cold tools that a conversation has opened: what `load_tool` showed, and what was called, which shows it too (D-13)."""
        for message in messages:
            for call in message.calls:
                self.load((call.name, *_named(call.arguments)) if call.name == "load_tool" else (call.name,))

    def _declaration(self, spec: AnySpec) -> ToolDeclaration:
        """What stands in the tools array: the whole tool when hot, one line and one free-form property when cold."""
        if spec.frequency == "hot":
            return self.full_declaration(spec.name)
        brief = self._descriptions[spec.name].partition("\n")[0]
        return ToolDeclaration(spec.name, f"{brief} {_COLD_HINT}", _COLD_SCHEMA)


def _named(arguments: str) -> tuple[str, ...]:
    """The `names` of a `load_tool` call."""
    names = json.loads(arguments).get("names", ())
    return tuple(name for name in (names if isinstance(names, list) else (names,)) if isinstance(name, str))


def tool_call_is_parallelizable(surface: Surface, name: str) -> bool:
    """The one admission rule (D-20): may a call of this name run beside other read-only calls?

    Calls that only teach (unknown names, cold tools not loaded yet) may; delegations may where the surface lists their role as read-only.
    """
    spec = surface.find(name)
    if spec is None or not surface.is_loaded(name):
        return True
    if spec.delegates_to:
        return spec.delegates_to in surface.read_only_roles
    return spec.is_read_only
