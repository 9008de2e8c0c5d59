"""Every key of the configuration changes something that can be seen from outside (B-10): the map from key to what it changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.model_server import Agent, Call, Chaos, ModelServer, Reply, call, delegating, hand_over, status
from tests.support.model_server.scripts import Role, Roles
from tests.support.session import Opened, Sessions
from tests.support.virtual_time import VirtualClock
from yagent.config.schema import keys
from yagent.errors import YagentError
from yagent.protocol.events import ModelInfo, ToolCallResult, ToolCallStart
from yagent.protocol.messages import Usage
from yagent.protocol.result import TaskResult

ONCE = "[llm]\nmax_retries = 0\nstep_retries = 0\n"


@dataclass(frozen=True, slots=True)
class Seen:
    """What one run showed. `seconds` are the played clock's."""

    server: ModelServer
    result: TaskResult
    opened: Opened
    seconds: float

    @property
    def first(self) -> Mapping[str, Any]:
        """The body of the first request."""
        return self.server.views[0].body

    @property
    def authorization(self) -> object:
        """The key as it was sent."""
        return self.server.exchanges[0].headers.get("authorization")

    @property
    def models(self) -> set[str]:
        """Every model that was asked."""
        return {str(view.body["model"]) for view in self.server.views}

    @property
    def tool_events(self) -> list[str]:
        """In which order calls began and ended."""
        payloads = [event.payload for event in self.opened.events]
        return [type(payload).__name__ for payload in payloads if isinstance(payload, ToolCallStart | ToolCallResult)]


@dataclass(frozen=True, slots=True)
class Row:
    """A key: the same run `without` and with it (`more` lines in the provider, `text` after it) looks different through `look`."""

    look: Callable[[Seen], object]
    text: str = ""
    more: str = ""
    roles: Roles = field(default_factory=lambda: {"are the Director": ["ok"]})
    without: str = ""
    without_more: str = ""


def cost(seen: Seen) -> object:
    return seen.result.cost


def model(seen: Seen) -> object:
    return seen.first["model"]


def tools_of_coding(seen: Seen) -> object:
    return seen.server.views[1].body["tools"]


def exit_code(seen: Seen) -> object:
    return seen.result.exit_code


def stop_reason(seen: Seen) -> object:
    return seen.result.stop_reason


def requests(seen: Seen) -> object:
    return len(seen.server.exchanges)


def peak(seen: Seen) -> object:
    return seen.server.peak_in_flight


def seconds(seen: Seen) -> object:
    return round(seen.seconds)


def delegation_ends(seen: Seen) -> object:
    return [(each.role, each.stop_reason, each.steps) for each in seen.result.delegations]


def working(part: Role, role: str = "Coding") -> Roles:
    """The Director hands one task to a role and says what came back."""
    return {"are the Director": delegating(f"delegate_{role.lower()}", "go"), f"are {role}": part}


async def endless(agent: Agent) -> Reply:
    """Works as long as it may."""
    for number in range(60):
        said = await agent.call("thinking" if "thinking" in agent.view.tools else "list_dir", **_different(agent, number))
        if "last step" in said:
            break
    return hand_over("enough") if "agent_exit" in agent.view.tools else Reply(text="enough")


def _different(agent: Agent, number: int) -> dict[str, str]:
    return {"thought": f"{number}?"} if "thinking" in agent.view.tools else {"path": "." + "/" * number}


async def writes(agent: Agent) -> Reply:
    """Writes a file."""
    return hand_over(await agent.call("create_file", path="made", content="x"))


async def shows_token(agent: Agent) -> Reply:
    """Prints a variable that looks secret."""
    return hand_over(await agent.call("run_bash", command="printenv DEPLOY_TOKEN"))


async def thinks(agent: Agent) -> Reply:
    """Uses a tool that asks a model of its own."""
    return hand_over(await agent.call("deepthinking", question="why?"))


async def reads_three(agent: Agent) -> str:
    """Three reads in one batch."""
    results = await agent.calls(*(Call("read_file", {"path": "notes.txt", "start_line": line}) for line in (1, 2, 1)))
    return results[0].text


READS: Roles = {"are the Director": [call("read_file", path="notes.txt"), "ok"]}
TWO_SLOW: Roles = {
    "are the Director": delegating("delegate_repo", "one", "two"),
    "are Repo": [Reply(calls=hand_over("x").calls, pace=1.0)],
}
UNREACHABLE = 'api_base_url = "https://127.0.0.1:1/v1"'
PRICES = "price_input = 1.0\nprice_output = 1.5\nprice_cache_read = 2.0\nprice_cache_write = 2.5\n"
PRICED: Roles = {"are the Director": [Reply(text="ok", usage=Usage(1000, 100, 200, 300))]}
HANDS_OVER = working([hand_over("x")])
THINKS: Roles = {**working(thinks), "of three who think": ["a thought"]}
DEAR: Roles = {"are the Director": [Reply(calls=[Call("list_dir", {"path": "."})], usage=Usage(1000, 100, 0, 0)), "ok"]}


def trouble(*troubles: Chaos) -> Roles:
    """A Director whose reply meets trouble."""
    return {"are the Director": [Reply(text="ok", chaos=troubles)]}


def priced(key: str, price: str) -> Row:
    """A row of a price."""
    prices = f'api_format = "anthropic"\n{PRICES}'
    return Row(cost, more=prices.replace(f"{key} = {price}", f"{key} = 9.0"), without_more=prices, roles=PRICED)


def step_limit(role: str) -> Row:
    """A row of a role's step limit."""
    return Row(delegation_ends, f"[agent]\n{role.lower()}_max_steps = 3\n", roles=working(endless, role))


PROVIDER = "global.llm.providers.<name>."
ROWS: dict[str, Row] = {
    "task_timeout": Row(stop_reason, 'task_timeout = "30s"', roles=trouble(Chaos("hang_before_headers"))),
    "global.llm.use_provider": Row(model, '[global.llm]\nuse_provider = "other"', without='[global.llm]\nuse_provider = "played"'),
    PROVIDER + "model": Row(model, more='model = "another"', without_more='model = "played-model"'),
    PROVIDER + "api_base_url": Row(
        lambda seen: seen.server.exchanges[0].path, more='api_base_url = "{url}/deeper"', without_more='api_base_url = "{url}"'
    ),
    PROVIDER + "api_key": Row(lambda seen: seen.authorization, more='api_key = "k-1234567"'),
    PROVIDER + "api_key_env": Row(lambda seen: seen.authorization, more='api_key_env = "DEPLOY_TOKEN"'),
    PROVIDER + "api_format": Row(lambda seen: seen.server.exchanges[0].path, more='api_format = "anthropic"'),
    PROVIDER + "context_window": Row(lambda seen: seen.opened.told(ModelInfo), more="context_window = 12345"),
    PROVIDER + "temperature": Row(lambda seen: seen.first.get("temperature"), more="temperature = 0.25"),
    PROVIDER + "max_tokens": Row(lambda seen: {**seen.first, "messages": 0, "prompt_cache_key": 0}, more="max_tokens = 777"),
    PROVIDER + "reasoning_effort": Row(
        lambda seen: {**seen.first, "input": 0, "prompt_cache_key": 0},
        more='api_format = "responses"\nmodel = "gpt-5.5"\nreasoning_effort = "high"',
        without_more='api_format = "responses"\nmodel = "gpt-5.5"',
    ),
    PROVIDER + "price_input": priced("price_input", "1.0"),
    PROVIDER + "price_output": priced("price_output", "1.5"),
    PROVIDER + "price_cache_read": priced("price_cache_read", "2.0"),
    PROVIDER + "price_cache_write": priced("price_cache_write", "2.5"),
    "agents.llm.use_provider": Row(model, '[agents.llm]\nuse_provider = "other"'),
    "agents.llm.<agent>.use_provider": Row(model, '[agents.llm.director]\nuse_provider = "other"'),
    "tools.llm.use_provider": Row(lambda seen: seen.models, '[tools.llm]\nuse_provider = "other"', roles=THINKS),
    "tools.llm.<tool>.use_provider": Row(lambda seen: seen.models, '[tools.llm.deepthinking]\nuse_provider = "other"', roles=THINKS),
    "tools.deferred.enabled": Row(tools_of_coding, "[tools.deferred]\nenabled = false", roles=HANDS_OVER),
    "tools.deferred.hot": Row(tools_of_coding, '[tools.deferred]\nhot = ["design"]', roles=HANDS_OVER),
    "agent.lang": Row(lambda seen: seen.server.views[0].system, '[agent]\nlang = "Klingon"'),
    "agent.yolo": Row(exit_code, '[agent]\nyolo = "yolo"', roles=working(writes)),
    "agent.delegation_reminder": Row(requests, '[agent]\ndelegation_reminder = "always"', roles={"are the Director": ["a"] * 9}),
    "agent.director_max_steps": Row(stop_reason, "[agent]\ndirector_max_steps = 3", roles={"": endless}),
    "agent.coding_max_steps": step_limit("Coding"),
    "agent.repo_max_steps": step_limit("Repo"),
    "agent.chat_max_steps": step_limit("Chat"),
    "agent.devops_max_steps": step_limit("DevOps"),
    "agent.max_cost": Row(stop_reason, "[agent]\nmax_cost = 0.0001", roles=DEAR, more=PRICES, without_more=PRICES),
    "agent.delegate_total_timeout": Row(
        delegation_ends, '[agent]\ndelegate_total_timeout = "50s"', roles=working([Reply(text="", calls=hand_over("x").calls, pace=30.0)])
    ),
    "agent.max_parallel_readonly_tools": Row(
        lambda seen: seen.tool_events, "[agent]\nmax_parallel_readonly_tools = 1", roles={"are the Director": reads_three}
    ),
    "agent.max_parallel_delegations": Row(peak, "[agent]\nmax_parallel_delegations = 1", roles=TWO_SLOW),
    "llm.timeout": Row(seconds, f'{ONCE}timeout = "100s"', without=ONCE, roles=trouble(Chaos("keep_alives", seconds=50, count=40))),
    "llm.header_timeout": Row(seconds, f'{ONCE}header_timeout = "7s"', without=ONCE, roles=trouble(Chaos("hang_before_headers"))),
    "llm.chunk_timeout": Row(seconds, f'{ONCE}chunk_timeout = "7s"', without=ONCE, roles=trouble(Chaos("hang_mid_stream"))),
    "llm.ca_file": Row(
        lambda seen: seen.result.error, f'{ONCE}ca_file = "/nonexistent.pem"', without=ONCE, more=UNREACHABLE, without_more=UNREACHABLE
    ),
    "llm.max_retries": Row(requests, "[llm]\nmax_retries = 1", roles=trouble(*[status(500)] * 30)),
    "llm.step_retries": Row(requests, "[llm]\nstep_retries = 0", roles=trouble(*[status(500)] * 30)),
    "llm.max_in_flight_requests": Row(peak, "[llm]\nmax_in_flight_requests = 1", roles=TWO_SLOW),
    "shell.pass_env": Row(
        lambda seen: "tok-123" in seen.result.answer,
        '[shell]\npass_env = ["DEPLOY_TOKEN"]',
        without='[permissions]\nallow = ["shell(printenv *)"]',
        roles=working(shows_token),
    ),
    "permissions.allow": Row(exit_code, '[permissions]\nallow = ["edit(made)"]', roles=working(writes)),
    "permissions.ask": Row(exit_code, '[permissions]\nask = ["read(notes.txt)"]', roles=READS),
    "permissions.deny": Row(lambda seen: seen.server.views[-1].results[0].text, '[permissions]\ndeny = ["read(notes.txt)"]', roles=READS),
}
HELD_ELSEWHERE = {
    # what the second run of a session does
    *(f"resume.{name}" for name in ("enable", "replay_token_budget", "max_replay_messages")),
    *(f"resume.{name}" for name in ("degrade_on_workspace_change", "checkpoint_workspace")),
    # what the rooms do with them is held in tests/blackboard and tests/compression
    *(key.path for key in keys() if key.path.startswith(("blackboard.", "compression."))),
    # it takes a defect for nothing at all to happen in a delegation; tests/agents/delegation shows what the setting then does
    "agent.delegate_idle_timeout",
}


def test_no_key_is_left_out() -> None:
    assert {key.path for key in keys()} == ROWS.keys() | HELD_ELSEWHERE


@pytest.mark.parametrize("path", ROWS)
async def test_a_key_changes_something(sessions: Sessions, clock: VirtualClock, path: str) -> None:
    row = ROWS[path]
    without = await seen(sessions, clock, row, row.without_more, row.without)
    with_it = await seen(sessions, clock, row, row.more or row.without_more, "\n".join(_joined(row.without, row.text)))
    assert without != with_it


def _joined(without: str, text: str) -> list[str]:
    """Two pieces of configuration; a section that both name is the second one's."""
    return [text] if text.partition("\n")[0] == without.partition("\n")[0] else [without, text]


async def seen(sessions: Sessions, clock: VirtualClock, row: Row, more: str, text: str) -> object:
    """Run with a configuration; what the row looks at, or the error that stopped the start."""
    async with ModelServer() as server:
        server.play(row.roles)
        sessions.configure(file(server.url, more, text))
        environ = {"HOME": str(sessions.home), "PATH": "/usr/bin:/bin", "DEPLOY_TOKEN": "tok-123"}
        started = clock.now()
        try:
            async with sessions.open(environ=environ, clock=clock) as opened:
                result = await opened.do("go")
        except YagentError as failure:
            return str(failure)
        return row.look(Seen(server, result, opened, clock.now() - started))


def file(url: str, more: str, text: str) -> str:
    """A configuration with two providers; `text` without a section comes first, as top-level keys must."""
    lines = {"api_base_url": f'"{url}"', "model": '"played-model"'}
    for line in more.replace("{url}", url).splitlines():
        name, _, value = line.partition(" = ")
        lines[name] = value
    played = "".join(f"{name} = {value}\n" for name, value in lines.items())
    use = "" if "[global.llm]" in text else '[global.llm]\nuse_provider = "played"\n'
    other = f'[global.llm.providers.other]\napi_base_url = "{url}"\nmodel = "other-model"\n'
    return f"{text}\n{use}[global.llm.providers.played]\n{played}{other}"
