"""Names and ids on the wire."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.llm.quirks import CallIdRule
from yagent.llm.tool_names import CallIds, ToolNames, legal_name

LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@given(st.lists(st.text(max_size=80) | st.sampled_from(["a.b", "a_b", "a b", "mcp__" + "x" * 90]), unique=True, max_size=8))
def test_mapping_is_legal_unique_and_reversible_in_any_order(declared: list[str]) -> None:
    names = ToolNames(declared)
    wires = [names.wire(name) for name in declared]
    assert all(LEGAL.fullmatch(wire) for wire in wires)
    assert len(set(wires)) == len(declared)
    assert [names.original(wire) for wire in wires] == declared
    assert [ToolNames(reversed(declared)).wire(name) for name in declared] == wires


def test_legal_names_are_untouched_and_others_readable() -> None:
    names = ToolNames(["read_file", "mcp.server.search"])
    assert (names.wire("read_file"), names.wire("mcp.server.search")) == ("read_file", "mcp_server_search")
    assert names.original("unheard_of") == "unheard_of"
    assert legal_name("") == "unnamed_tool"


@pytest.mark.parametrize("call_id", ["functions.read_file:0", "functions.bash:1", "call_x", "toolu_1", "3f2a", "a b"])
def test_own_ids_go_back_unchanged(call_id: str) -> None:
    ids = CallIds(CallIdRule(pattern="[A-Za-z0-9_-]+"))
    assert ids.of_call(call_id, own=True) == ids.of_result(call_id) == call_id


def test_foreign_ids_become_legal_and_stay_unique() -> None:
    ids = CallIds(CallIdRule(pattern="[A-Za-z0-9]{9}", prefix="", digits=9))
    given_ids = ["functions.read_file:0", "functions.read_file:1", "", "abcdefghi"]
    wires = [ids.of_call(call_id, own=False) for call_id in given_ids]
    assert all(re.fullmatch("[A-Za-z0-9]{9}", wire) for wire in wires)
    assert len(set(wires)) == 4
    assert wires[3] == "abcdefghi"
    assert [ids.of_result(call_id) for call_id in given_ids] == wires


def test_an_id_used_twice_is_replaced_the_second_time() -> None:
    ids = CallIds(CallIdRule())
    first = ids.of_call("call_0", own=True)
    second = ids.of_call("call_0", own=True)
    assert first != second == ids.of_result("call_0")
