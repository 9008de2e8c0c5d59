"""All tools of a process, checked as a whole; and the choice of those that one agent gets."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from yagent.errors import YagentError
from yagent.tools.parameters import schema_of
from yagent.tools.profiles import PROFILES, Profile
from yagent.tools.spec import AnySpec, Effect
from yagent.tools.surface import COLD_ARGUMENT, Surface

BRIEF_LIMIT: Final = 100  # characters of a description's first line
LOADER: Final = "load_tool"
_LEGAL_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")  # what every provider accepts


class RegistryError(YagentError):
    """The tools of this process do not fit together; `problems` has one line each. A mistake of whoever added a tool, found at start-up."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("the tool registry is inconsistent: " + "; ".join(problems))
        self.problems = tuple(problems)


class Registry:
    """Tools in the order in which models see them. `describe(name)` gives a tool's description text and raises OSError or YagentError
    when there is none."""

    def __init__(self, specs: Sequence[AnySpec], describe: Callable[[str], str]) -> None:
        self.specs = tuple(specs)
        self._describe = describe

    def description(self, name: str) -> str:
        """The tool's description; its first line is its brief."""
        return self._describe(name).strip()

    def problems(self) -> tuple[str, ...]:
        """Everything that is wrong, one line each."""
        counts = Counter(spec.name for spec in self.specs)
        twice = [f"{name}: {count} tools have this name" for name, count in counts.items() if count > 1]
        return (*twice, *(f"{spec.name}: {problem}" for spec in self.specs for problem in self._problems_of(spec)))

    def validate(self) -> None:
        """Raises RegistryError with all problems."""
        problems = self.problems()
        if problems:
            raise RegistryError(problems)

    def _problems_of(self, spec: AnySpec) -> Iterator[str]:
        """What is wrong with one tool."""
        if not _LEGAL_NAME.fullmatch(spec.name):
            yield "a name has lower-case letters, digits and underscores, begins with a letter and has at most 64 characters"
        yield from self._description_problems(spec.name)
        yield from _schema_problems(spec)
        if spec.effect is Effect.FS_WRITE and not spec.mutates:
            yield "it writes files, so it must say mutates=True"
        if (spec.effect is Effect.DELEGATE) != bool(spec.delegates_to):
            yield "the effect 'delegate' and delegates_to go together"
        if spec.timeout is not None and spec.timeout <= 0:
            yield "a timeout is a positive number of seconds, or None for no limit"

    def _description_problems(self, name: str) -> Iterator[str]:
        """What is wrong with a tool's description."""
        try:
            brief = self.description(name).partition("\n")[0]
        except (OSError, YagentError) as error:
            yield f"its description cannot be read ({error})"
            return
        if not brief:
            yield "its description is empty"
        if len(brief) > BRIEF_LIMIT:
            yield f"the first line of its description has {len(brief)} characters, at most {BRIEF_LIMIT} fit a list"


def _schema_problems(spec: AnySpec) -> Iterator[str]:
    """What is wrong with a tool's parameters."""
    try:
        properties: Mapping[str, Mapping[str, object]] = schema_of(spec.parameters)["properties"]
    except TypeError as error:
        yield f"its parameters have no schema ({error})"
        return
    yield from (f"the parameter {name} has no description" for name, schema in properties.items() if "description" not in schema)
    if spec.frequency == "cold" and COLD_ARGUMENT in properties:
        yield f"a cold tool cannot have a parameter called {COLD_ARGUMENT}"


def select(
    registry: Registry,
    profile: Profile,
    *,
    profiles: Mapping[str, Profile] = PROFILES,
    disabled_roles: frozenset[str] = frozenset(),
    can_ask: bool = True,
) -> Surface:
    """The tools of one agent.

    `profiles` tells which roles are read-only (by their effects, D-56); delegations to `disabled_roles` are left out; without `can_ask`
    nothing that needs a person's answer is offered. `load_tool` is there when something can be loaded.
    """

    def offered(spec: AnySpec) -> bool:
        return profile.grants(spec) and spec.delegates_to not in disabled_roles and (can_ask or spec.effect is not Effect.ASK)

    chosen = [spec for spec in registry.specs if offered(spec)]
    if all(spec.frequency == "hot" for spec in chosen):
        chosen = [spec for spec in chosen if spec.name != LOADER]
    parallel = profile.delegates if profile.parallel_delegations else frozenset()
    return Surface(
        profile.name,
        chosen,
        descriptions={spec.name: registry.description(spec.name) for spec in chosen},
        read_only_roles=frozenset(role for role in parallel if role in profiles and profiles[role].is_read_only),
    )
