"""Capability profiles: which effects an agent may have on the world, as data."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from yagent.records import dataclass
from yagent.tools.spec import AnySpec, Effect

CHANGING_EFFECTS: Final = frozenset({Effect.FS_WRITE, Effect.SHELL})


@dataclass(frozen=True, slots=True)
class Profile:
    """What one role may do. `delegates` names the roles it may start; `parallel_delegations` lets read-only ones of them run side by side.

    `denied` wins over `effects`: a profile that denies changing effects stays without them whatever else is added to it.
    """

    name: str
    effects: frozenset[Effect]
    delegates: frozenset[str] = frozenset()
    denied: frozenset[Effect] = frozenset()
    parallel_delegations: bool = False

    @property
    def granted(self) -> frozenset[Effect]:
        """The effects it really has."""
        return self.effects - self.denied

    @property
    def is_read_only(self) -> bool:
        """It can neither write files nor run commands by itself (what it delegates is judged there)."""
        return not self.granted & CHANGING_EFFECTS

    def grants(self, spec: AnySpec) -> bool:
        """Whether a tool belongs to this profile. A tool that changes something never belongs to a read-only one, whatever its label."""
        if spec.delegates_to:
            return spec.delegates_to in self.delegates
        return spec.effect in self.granted and not (spec.mutates and self.is_read_only)


DIRECTOR: Final = Profile(
    "director",
    frozenset({Effect.FS_READ, Effect.COGNITION, Effect.CONTEXT, Effect.FLOW, Effect.ASK, Effect.DELEGATE}),
    delegates=frozenset({"repo", "coding", "chat", "devops"}),
    denied=CHANGING_EFFECTS,
    parallel_delegations=True,
)
CODING: Final = Profile(
    "coding",
    frozenset(
        {
            Effect.FS_READ,
            Effect.FS_WRITE,
            Effect.SHELL,
            Effect.COGNITION,
            Effect.REFLECTION,
            Effect.CONTEXT,
            Effect.FLOW,
            Effect.ASK,
        }
    ),
)
REPO: Final = Profile(
    "repo", frozenset({Effect.FS_READ, Effect.COGNITION, Effect.CONTEXT, Effect.FLOW, Effect.DELEGATE}), delegates=frozenset({"devops"})
)
CHAT: Final = Profile("chat", frozenset({Effect.COGNITION, Effect.CONTEXT, Effect.FLOW, Effect.ASK}))
DEVOPS: Final = Profile("devops", frozenset({Effect.FS_READ, Effect.SHELL, Effect.CONTEXT, Effect.FLOW, Effect.ASK}))

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType({each.name: each for each in (DIRECTOR, CODING, REPO, CHAT, DEVOPS)})
