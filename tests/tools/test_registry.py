"""The registry is checked as a whole; each rule has a fixture that makes it fire."""

from dataclasses import dataclass, replace
from typing import Annotated

import pytest

from tests.tools.scopes import shipped_registry
from yagent.prompts.text import PromptError
from yagent.tools.parameters import Describe
from yagent.tools.registry import BRIEF_LIMIT, Registry, RegistryError
from yagent.tools.spec import AnySpec, CallContext, Effect, Output, Spec


@dataclass(frozen=True, slots=True)
class Described:
    """Parameters as they should be."""

    path: Annotated[str, Describe("A path.")]


@dataclass(frozen=True, slots=True)
class Undescribed:
    """A parameter nobody explains."""

    path: str


@dataclass(frozen=True, slots=True)
class Unshowable:
    """A parameter without a JSON form."""

    path: Annotated[complex, Describe("A path.")]


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A parameter called like the wrapper of cold tools."""

    arguments: Annotated[str, Describe("Arguments.")]


async def nothing(parameters: object, call: CallContext) -> Output:
    """Do nothing."""
    return Output("")


SOUND: AnySpec = Spec("look", Effect.FS_READ, Described, nothing)


def described(name: str) -> str:
    """Descriptions of the fixtures."""
    texts = {"blank": " \n", "long": "x" * (BRIEF_LIMIT + 1) + "\nmore", "fits": "x" * BRIEF_LIMIT}
    if name == "nowhere":
        raise PromptError("no such file")
    return texts.get(name, "Look at something.\nMore.")


@pytest.mark.parametrize(
    ("specs", "complaint"),
    [
        ([SOUND, SOUND], "look: 2 tools have this name"),
        ([replace(SOUND, name="Look-Up")], "a name has lower-case letters"),
        ([replace(SOUND, name="")], "a name has lower-case letters"),
        ([replace(SOUND, name="x" * 65)], "a name has lower-case letters"),
        ([replace(SOUND, name="nowhere")], "nowhere: its description cannot be read (no such file)"),
        ([replace(SOUND, name="blank")], "blank: its description is empty"),
        ([replace(SOUND, name="long")], "has 101 characters"),
        ([replace(SOUND, parameters=Unshowable)], "its parameters have no schema"),
        ([replace(SOUND, parameters=Undescribed)], "the parameter path has no description"),
        ([replace(SOUND, parameters=Ambiguous, frequency="cold")], "a cold tool cannot have a parameter called arguments"),
        ([replace(SOUND, effect=Effect.FS_WRITE)], "it must say mutates=True"),
        ([replace(SOUND, effect=Effect.DELEGATE)], "'delegate' and delegates_to go together"),
        ([replace(SOUND, delegates_to="repo")], "'delegate' and delegates_to go together"),
        ([replace(SOUND, timeout=0.0)], "a timeout is a positive number"),
    ],
)
def test_each_rule_fires(specs: list[AnySpec], complaint: str) -> None:
    problems = Registry(specs, described).problems()
    assert len(problems) == 1
    assert complaint in problems[0]


def test_the_fixtures_are_sound_apart_from_their_one_fault() -> None:
    hot = replace(SOUND, name="hot", parameters=Ambiguous)
    sound = [SOUND, hot, replace(SOUND, name="fits"), replace(SOUND, name="open", timeout=None)]
    assert Registry(sound, described).problems() == ()


def test_all_problems_are_raised_together() -> None:
    with pytest.raises(RegistryError) as caught:
        Registry([replace(SOUND, name="blank"), replace(SOUND, name="long", timeout=-1.0)], described).validate()
    assert len(caught.value.problems) == 3
    assert all(name in str(caught.value) for name in ("blank", "long"))


def test_the_shipped_tools_are_sound() -> None:
    assert shipped_registry().problems() == ()


def test_a_shipped_tool_without_its_description_is_found_by_name() -> None:
    registry = shipped_registry()

    def describe(name: str) -> str:
        return described("nowhere") if name == "run_bash" else registry.description(name)

    with pytest.raises(RegistryError, match="run_bash: its description cannot be read"):
        Registry(registry.specs, describe).validate()
