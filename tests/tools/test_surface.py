"""Who may call what, as a model sees it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tools.golden import assert_matches
from tests.tools.scopes import PROMPTS, shipped_registry, surface_of
from yagent.agents.roles.prompt import system_prompt
from yagent.agents.roles.roster import ROSTER
from yagent.tools.parameters import schema_of
from yagent.tools.profiles import CHAT, DIRECTOR, PROFILES, Profile
from yagent.tools.registry import Registry, select
from yagent.tools.spec import Effect
from yagent.tools.surface import Surface, tool_call_is_parallelizable

GOLDEN = Path(__file__).with_name("tool_surfaces.golden")
DIRECTOR_TOOL_BYTES = 8000


def chat_wire(surface: Surface) -> str:
    """The tools array as Chat Completions carries it."""
    tools = [
        {"type": "function", "function": {"name": each.name, "description": each.description, "parameters": each.parameters}}
        for each in surface.declarations()
    ]
    return json.dumps(tools, ensure_ascii=False, separators=(",", ":"))


def flags_of(surface: Surface, name: str) -> str:
    """What a golden line says about a tool."""
    spec = surface.find(name)
    assert spec is not None
    parallel = "parallel" if surface.is_loaded(name) and tool_call_is_parallelizable(surface, name) else "alone"
    kind = "mutates" if spec.mutates else "serial" if spec.serial else "read-only"
    return f"{spec.frequency} {kind} {parallel} {spec.effect} priority={spec.priority} timeout={spec.timeout}"


def test_surfaces_are_as_agreed() -> None:
    lines = []
    for name in PROFILES:
        surface = surface_of(name)
        surface.load(surface.cold_names)
        lines += [f"[{name}]", *(f"{tool}: {flags_of(surface, tool)}" for tool in surface.names), ""]
    assert_matches(GOLDEN, "\n".join(lines))


def test_no_tool_of_the_director_writes_or_runs_commands_even_when_its_labels_fit() -> None:
    specs = [replace(spec, effect=Effect.FS_READ, name=f"sly_{spec.name}") for spec in shipped_registry().specs if spec.mutates]
    assert specs
    surface = select(Registry([*shipped_registry().specs, *specs], lambda name: "A tool."), DIRECTOR)
    assert [name for name in surface.names if name.startswith("sly_")] == []
    assert Effect.SHELL not in replace(DIRECTOR, effects=frozenset(Effect)).granted


def test_the_directors_tools_leave_room_for_its_prompt() -> None:
    tools = len(chat_wire(surface_of("director")).encode())
    prompt = system_prompt(PROMPTS, ROSTER["director"], "English", ())
    assert tools <= DIRECTOR_TOOL_BYTES
    assert tools + len(json.dumps(prompt, ensure_ascii=False).encode()) <= 16_000


@pytest.mark.parametrize("role", PROFILES)
def test_declarations_stay_byte_identical_when_cold_tools_are_loaded(role: str) -> None:
    surface = surface_of(role)
    before, fingerprint = chat_wire(surface), surface.hash
    surface.load(surface.names)
    assert chat_wire(surface) == before
    assert surface.hash == fingerprint == surface_of(role).hash


def test_a_cold_tool_is_declared_by_one_line_and_one_property() -> None:
    surface = surface_of("coding")
    assert surface.cold_names == ("read_background", "stop_background", "micro_agent", "design")
    declared = {each.name: each for each in surface.declarations()}
    for name in surface.cold_names:
        assert "\n" not in declared[name].description
        assert "load_tool" in declared[name].description
        assert list(declared[name].parameters["properties"]) == ["arguments"]
    assert "search_replace_in_file" in declared


def test_load_tool_is_offered_only_where_something_can_be_loaded() -> None:
    assert "load_tool" in surface_of("coding").names
    assert "load_tool" not in surface_of("director").names


def test_nobody_to_ask_means_no_ask_on_any_surface() -> None:
    for role in PROFILES:
        assert "ask_user_for_help" not in surface_of(role, can_ask=False).names
    assert "ask_user_for_help" in surface_of("director").names


def test_disabled_roles_cannot_be_delegated_to() -> None:
    surface = surface_of("director", disabled_roles=frozenset({"devops", "chat"}))
    assert [name for name in surface.names if name.startswith("delegate_")] == ["delegate_repo", "delegate_coding"]


@pytest.mark.parametrize(
    ("meant", "sent"),
    [("read_file", "Read_File"), ("read_file", "readfile"), ("list_dir", "list_directory"), ("agent_exit", "agent_exits")],
)
def test_the_nearest_name_is_found(meant: str, sent: str) -> None:
    assert surface_of("coding").nearest(sent)[0] == meant


def test_delegations_run_side_by_side_only_on_the_director_and_only_to_read_only_profiles() -> None:
    director = surface_of("director")
    assert [name for name in director.names if name.startswith("delegate_") and tool_call_is_parallelizable(director, name)] == [
        "delegate_repo",
        "delegate_chat",
    ]
    assert not tool_call_is_parallelizable(surface_of("repo"), "delegate_devops")


def test_a_profile_that_gains_a_changing_effect_makes_delegations_to_it_serial() -> None:
    writing_chat = replace(CHAT, effects=CHAT.effects | {Effect.FS_WRITE})
    profiles: dict[str, Profile] = {**PROFILES, "chat": writing_chat}
    surface = select(shipped_registry(), DIRECTOR, profiles=profiles)
    assert not tool_call_is_parallelizable(surface, "delegate_chat")
    assert tool_call_is_parallelizable(surface, "delegate_repo")


def test_calls_that_only_teach_may_run_beside_others() -> None:
    surface = surface_of("coding")
    assert tool_call_is_parallelizable(surface, "no_such_tool")
    assert tool_call_is_parallelizable(surface, "stop_background")
    surface.load(["stop_background"])
    assert not tool_call_is_parallelizable(surface, "stop_background")


def test_the_exit_status_is_one_of_three_words() -> None:
    spec = surface_of("chat").find("agent_exit")
    assert spec is not None
    handoff = schema_of(spec.parameters)["properties"]["handoff"]
    assert handoff["properties"]["status"]["enum"] == ["ok", "partial", "error"]
    assert handoff["required"] == ["conclusion", "status"], "who names none all the same has checked nothing: partial"


def test_delegations_take_a_task_and_references() -> None:
    spec = surface_of("director").find("delegate_repo")
    assert spec is not None
    assert list(schema_of(spec.parameters)["properties"]) == ["task", "context_refs"]
