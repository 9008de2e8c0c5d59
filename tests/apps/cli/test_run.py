"""`yagent -p` as a program: its documents, its exit codes, where its model comes from."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.command_line import KEY, CommandLine
from tests.support.fixtures import commit
from tests.support.model_server import Agent, Chaos, ModelServer, Reply, call, delegating, hand_over, status
from tests.support.model_server.scripts import Roles
from yagent.protocol.stop import StopReason

pytestmark = [pytest.mark.real_time, pytest.mark.slow]
ROOT = Path(__file__).parents[3]
RESULT = json.loads((ROOT / "protocol/run-result.schema.json").read_text())
EVENTS = jsonschema.Draft202012Validator(json.loads((ROOT / "protocol/agent-events.schema.json").read_text()))


async def writes(agent: Agent) -> Reply:
    """Creates one file, changes and deletes others."""
    await agent.call("read_file", path="notes.txt")
    await agent.call("search_replace_in_file", path="notes.txt", edits=[{"search": "second", "replace": "2nd"}])
    await agent.call("delete_file", path="old.txt")
    return hand_over(await agent.call("create_file", path="made.txt", content="x"))


WRITING: Roles = {"are the Director": delegating("delegate_coding", "write"), "are Coding": writes}


def test_the_schema_lists_every_stop_reason() -> None:
    assert RESULT["properties"]["stop_reason"]["enum"] == [reason.value for reason in StopReason]


@pytest.mark.parametrize("output", ["json", "stream-json"])
@pytest.mark.parametrize("mode", [[], ["-y"]])
async def test_documents_fit_their_schemas(yagent: CommandLine, model_server: ModelServer, output: str, mode: list[str]) -> None:
    (yagent.workspace / "old.txt").write_text("old\n")
    commit(yagent.workspace, "add", "-A")
    commit(yagent.workspace, "commit", "-q", "-m", "old")
    model_server.play(WRITING)
    result = await yagent.run("-p", "go", "--output", output, *mode)
    lines = result.lines
    for line in lines[:-1]:
        EVENTS.validate(line)
    last = dict(lines[-1])
    jsonschema.validate(last, RESULT)
    assert last.pop("type", None) == (None if output == "json" else "result")
    assert last["exit_code"] == result.code == (0 if mode else 4)
    expected = [("made.txt", "created"), ("notes.txt", "modified"), ("old.txt", "deleted")] if mode else []
    assert sorted((each["path"], each["change"]) for each in last["files_changed"]) == expected
    assert last["usage"]["total_input"] > 0
    assert last["cost"] is None


async def failing_run(yagent: CommandLine, *arguments: str) -> dict[str, Any]:
    """The document of a run that ends some way or other."""
    result = await yagent.run("-p", "go", "--output", "json", *arguments)
    jsonschema.validate(result.document, RESULT)
    assert result.document["exit_code"] == result.code
    assert "Traceback" not in result.told
    return result.document


async def test_exit_code_0_the_answer_alone_is_on_standard_output(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["the answer"]})
    assert (await yagent.run("-p", "go")).answer == "the answer\n"


async def test_exit_code_1_the_model_refuses_for_good(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"are the Director": [Reply(text="I will not", finish="refusal")]})
    document = await failing_run(yagent)
    assert (document["exit_code"], document["status"], document["stop_reason"]) == (1, "error", "llm_error")
    assert document["error"]


@pytest.mark.parametrize("code", [401, 403, 404])
async def test_exit_code_2_the_configuration_is_wrong_at_the_provider(yagent: CommandLine, model_server: ModelServer, code: int) -> None:
    model_server.script = lambda view: Reply(text="x", chaos=[status(code)] * 99)
    document = await failing_run(yagent)
    assert (document["exit_code"], document["status"]) == (2, "error")


async def test_exit_code_3_by_steps(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"are the Director": [call("list_dir", path="."), call("list_dir", path="./"), "what I have"]})
    document = await failing_run(yagent, "--max-steps", "2")
    assert (document["exit_code"], document["stop_reason"], document["answer"]) == (3, "max_steps", "what I have")


async def test_exit_code_3_by_time(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.script = lambda view: Reply(text="never", chaos=[Chaos("hang_before_headers")])
    document = await failing_run(yagent, "--timeout", "2s")
    assert (document["exit_code"], document["stop_reason"]) == (3, "time_limit")


PRICED = """[global.llm.providers.played]
api_base_url = "{url}"
model = "played-model"
price_input = 1000.0
price_output = 1000.0
"""


async def test_exit_code_3_by_cost(yagent: CommandLine, model_server: ModelServer) -> None:
    yagent.configure(PRICED.format(url=model_server.url))
    model_server.play({"are the Director": [call("list_dir", path="."), "never said"]})
    document = await failing_run(yagent, "--max-cost", "0.01")
    assert (document["exit_code"], document["stop_reason"]) == (3, "cost_limit")
    assert document["cost"] > 0.01
    assert len(model_server.views) == 1


@pytest.mark.parametrize(
    ("configured", "flag", "reason"),
    [('task_timeout = "1ms"\n', "--timeout", "time_limit"), ("agent.max_cost = 0.01\n", "--max-cost", "cost_limit")],
)
async def test_zero_is_no_limit_whatever_the_configuration_says(
    yagent: CommandLine, model_server: ModelServer, configured: str, flag: str, reason: str
) -> None:
    yagent.configure(configured + PRICED.format(url=model_server.url))
    model_server.play({"are the Director": [call("list_dir", path="."), "done"]})
    limited = await failing_run(yagent)
    assert (limited["exit_code"], limited["stop_reason"]) == (3, reason)
    model_server.play({"are the Director": [call("list_dir", path="."), "done"]})
    free = await yagent.run("-p", "go", flag, "0")
    assert (free.code, free.answer) == (0, "done\n"), free.told


async def test_an_endless_cost_is_no_amount(yagent: CommandLine, model_server: ModelServer) -> None:
    yagent.configure(PRICED.format(url=model_server.url))
    result = await yagent.run("-p", "go", "--max-cost", "inf")
    assert (result.code, "--max-cost inf is no amount" in result.told) == (2, True)
    assert not model_server.exchanges


async def test_no_limit_of_cost_needs_no_price(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["done"]})
    assert (await yagent.run("-p", "go", "--max-cost", "0")).code == 0


async def test_a_cost_limit_without_a_price_is_refused_and_names_the_key(yagent: CommandLine, model_server: ModelServer) -> None:
    result = await yagent.run("-p", "go", "--max-cost", "1")
    assert (result.code, result.out) == (2, b"")
    assert "price_input" in result.told
    assert len(result.told.splitlines()) == 3
    assert not model_server.views


async def test_exit_code_75_the_provider_is_unavailable(yagent: CommandLine, model_server: ModelServer) -> None:
    yagent.configure(PRICED.format(url=model_server.url) + "[llm]\nmax_retries = 1\nstep_retries = 0\n")
    model_server.script = lambda view: Reply(text="x", chaos=[status(503, retry_after="0")] * 99)
    document = await failing_run(yagent)
    assert (document["exit_code"], document["stop_reason"]) == (75, "llm_error")


async def test_exit_code_75_nobody_listens(yagent: CommandLine, model_server: ModelServer) -> None:
    yagent.configure(PRICED.format(url="http://127.0.0.1:9/v1") + "[llm]\nmax_retries = 1\nstep_retries = 0\n")
    document = await failing_run(yagent)
    assert document["exit_code"] == 75
    assert "127.0.0.1:9" in document["error"]


async def test_nothing_is_told_with_quiet_but_the_answer(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play(WRITING)
    result = await yagent.run("-p", "go", "--quiet")
    assert (result.code, result.told) == (4, "")


async def test_progress_on_a_pipe_is_plain_lines(yagent: CommandLine, model_server: ModelServer) -> None:
    (yagent.workspace / "old.txt").write_text("old\n")
    model_server.play(WRITING)
    result = await yagent.run("-p", "go", "-y")
    assert "\x1b" not in result.told
    assert [line for line in result.told.splitlines() if "create_file" in line] == ["  coding#1 ✓ create_file made.txt (+1 -0)"]


@pytest.mark.parametrize("directory", ["home", "root"])
@pytest.mark.parametrize("flag", ["-y", "-Y"])
async def test_yolo_is_refused_where_everything_would_be_inside(
    yagent: CommandLine, model_server: ModelServer, directory: str, flag: str
) -> None:
    yagent.workspace = yagent.home if directory == "home" else Path("/")
    result = await yagent.run("-p", "go", flag)
    assert (result.code, result.out) == (2, b"")
    assert not model_server.exchanges


@pytest.mark.parametrize(
    "arguments",
    [
        ("-d", "parser"),
        ("-d", "coding,parser"),
        ("--output", "xml"),
        ("--max-steps", "0"),
        ("--max-steps", "-1"),
        ("--max-cost", "much"),
        ("--max-cost", "-1"),
        ("--max-cost", "nan"),
        ("--timeout", "soon"),
        ("--timeout", "-1s"),
        ("--timeout", ""),
        ("--provider", "nobody"),
        ("--allow", "nonsense("),
        ("-c", "/nonexistent.toml"),
    ],
)
async def test_exit_code_2_wrong_usage(yagent: CommandLine, model_server: ModelServer, arguments: tuple[str, ...]) -> None:
    result = await yagent.run("-p", "go", *arguments)
    assert (result.code, result.out) == (2, b"")
    assert "Traceback" not in result.told
    assert result.told
    assert not model_server.exchanges


async def test_words_without_an_option_are_told_how_a_task_is_given(yagent: CommandLine) -> None:
    result = await yagent.run("fix", "the", "bug")
    assert (result.code, result.out) == (2, b"")
    assert 'yagent -p "…"' in result.told
    assert "python" not in result.told
    assert "Did you mean 'sessions'?" in (await yagent.run("session")).told
    assert "Did you mean '--version'?" in (await yagent.run("version")).told


async def test_two_prompts_are_a_mistake(yagent: CommandLine) -> None:
    result = await yagent.run("-p", "a", "-p", "b")
    assert (result.code, "several prompts" in result.told) == (2, True)


async def test_help_says_that_an_allow_list_with_yolo_is_a_ceiling(yagent: CommandLine) -> None:
    assert "ceiling" in (await yagent.run("--help")).answer


async def test_run_options_do_not_vanish_before_a_command(yagent: CommandLine) -> None:
    result = await yagent.run("-p", "go", "sessions", "list")
    assert (result.code, "sessions" in result.told) == (2, True)


async def test_the_version_is_printed_wherever_it_is_asked_for(yagent: CommandLine) -> None:
    said = {(await yagent.run(*arguments)).answer for arguments in (("--version",), ("-V",), ("--quiet", "--version"))}
    assert len(said) == 1
    assert said.pop().startswith("yagent ")


async def test_no_provider_is_three_plain_lines(yagent: CommandLine) -> None:
    yagent.environment.clear()
    result = await yagent.run("-p", "go")
    assert (result.code, result.out, len(result.told.splitlines())) == (2, b"", 3)
    assert "yagent setup" in result.told
    assert "yagent demo" in result.told
    assert "\x1b" not in result.told


VENDORS = [
    ("OPENAI", "OpenAI", "authorization"),
    ("ANTHROPIC", "Anthropic", "x-api-key"),
    ("DEEPSEEK", "DeepSeek", "authorization"),
    ("OPENROUTER", "OpenRouter", "authorization"),
    ("DASHSCOPE", "Alibaba", "authorization"),
    ("MOONSHOT", "Moonshot", "authorization"),
    ("ZHIPUAI", "Zhipu", "authorization"),
]


@pytest.mark.parametrize(("vendor", "name", "header"), VENDORS)
async def test_a_vendors_variables_are_enough(yagent: CommandLine, model_server: ModelServer, vendor: str, name: str, header: str) -> None:
    model_server.play({"are the Director": ["ok"]})
    anthropic = vendor == "ANTHROPIC"
    base = model_server.url.removesuffix("/v1") if anthropic else model_server.url
    yagent.environment = {f"{vendor}_API_KEY": KEY, f"{vendor}_BASE_URL": base}
    result = await yagent.run("-p", "go")
    assert (result.code, result.answer) == (0, "ok\n")
    assert model_server.exchanges[-1].path == ("/v1/messages" if anthropic else "/v1/chat/completions")
    assert {exchange.headers[header].removeprefix("Bearer ") for exchange in model_server.exchanges} == {KEY}
    (chosen,) = [line for line in result.told.splitlines() if f"{vendor}_API_KEY" in line]
    assert name in chosen


async def test_a_described_provider_wins_over_every_vendor(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["ok"]})
    yagent.environment |= {"OPENAI_API_KEY": "sk-other-123456789", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert (await yagent.run("-p", "go")).code == 0
    assert model_server.exchanges[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("code", [0, 400, 401, 404, 500])
async def test_the_key_appears_nowhere_but_in_the_header(yagent: CommandLine, model_server: ModelServer, code: int, tmp_path: Path) -> None:
    """Error bodies echo it, a command prints the environment: nothing that is left or said holds it."""

    async def coding(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command="env; cat /proc/self/environ | tr '\\0' '\\n'"))

    echo = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}", "type": "x"}}).encode()
    roles: Roles = {"are the Director": delegating("delegate_coding", "look"), "are Coding": coding}
    if code:
        roles = {"are the Director": [Reply(text="x", chaos=[status(code, body=echo, retry_after="0")] * 99)]}
    model_server.play(roles)
    yagent.configure(PRICED.format(url=model_server.url) + 'api_key_env = "MY_MODEL"\n[llm]\nmax_retries = 1\nstep_retries = 0\n')
    yagent.environment |= {"MY_MODEL": KEY, "OPENAI_API_KEY": KEY[::-1]}
    result = await yagent.run("-p", "go", "-Y", "--output", "stream-json")
    assert all(exchange.headers["authorization"] == f"Bearer {KEY}" for exchange in model_server.exchanges)
    left = [path for place in (yagent.data, yagent.workspace) for path in place.rglob("*") if path.is_file()]
    assert len(left) > 3
    for secret in (KEY, KEY[::-1]):
        assert secret.encode() not in result.out + result.err
        assert [path for path in left if secret.encode() in path.read_bytes()] == []
        assert all(secret.encode() not in exchange.raw for exchange in model_server.exchanges)


async def test_records_are_private(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["ok"]})
    await yagent.run("-p", "go")
    for path in (yagent.data, *yagent.data.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="elsewhere a process does not tell its environment so")
@pytest.mark.parametrize("background", [False, True])
async def test_a_key_that_a_program_finds_is_not_shown(yagent: CommandLine, model_server: ModelServer, background: bool) -> None:
    (yagent.workspace / "look.py").write_text(
        "import glob\n"
        "for path in glob.glob('/proc/[0-9]*/environ'):\n"
        "    try: held = open(path, encoding='latin-1').read().split('\\0')\n"
        "    except OSError: continue\n"
        f"    print(*(each for each in held if 'HOME={yagent.home}' in held and each.startswith('YAGENT_API')))\n"
    )

    async def coding(agent: Agent) -> Reply:
        if not background:
            return hand_over(await agent.call("run_bash", command="python3 look.py"))
        await agent.call("load_tool", names=["read_background"])
        said = [await agent.call("run_bash", command="python3 look.py", is_background=True)]
        while "exited with code" not in said[-1]:
            said.append(await agent.call("read_background", id="bg1", wait=30))
        return hand_over("\n".join(said))

    model_server.play({"are the Director": delegating("delegate_coding", "look"), "are Coding": coding})
    result = await yagent.run("-p", "go", "-Y", "--output", "stream-json")
    assert result.code == 0
    assert "YAGENT_API_KEY=[redacted]" in result.answer
    kept = [path.read_bytes() for path in yagent.data.rglob("*") if path.is_file()]
    bodies = [exchange.raw for exchange in model_server.exchanges]
    assert not any(KEY.encode() in data for data in (result.out, result.err, *kept, *bodies))
