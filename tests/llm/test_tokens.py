"""Counting messages and heads."""

import hashlib
from pathlib import Path

import pytest

from tests.support.virtual_time import VirtualClock
from yagent.llm.token_calibration import CalibrationStore
from yagent.llm.token_ranks import exact_counter, rank_folders, vocabulary_of
from yagent.llm.tokens import TokenCounter
from yagent.protocol.messages import Message, Reasoning, Text, ToolCall, ToolDeclaration, ToolResult, result_message, user_message

WORDS = "The function reads the file and reports every problem it finds with its line number. "


def test_every_part_of_a_message_counts() -> None:
    counter = TokenCounter("openai:p:m")
    empty = counter.of_message(Message("assistant", ()))
    parts = (Text(WORDS), Reasoning(WORDS), ToolCall("a", "read_file", f'{{"text": "{WORDS}"}}'), ToolResult("a", "read_file", WORDS))
    sizes = [counter.of_message(Message("assistant", (part,))) - empty for part in parts]
    assert all(size >= counter.count(WORDS) for size in sizes)
    assert abs(counter.of_message(Message("assistant", parts)) - empty - sum(sizes)) <= 2


def test_reasoning_that_cannot_be_read_counts_by_its_length() -> None:
    counter = TokenCounter("responses:p:m")
    sealed = Message("assistant", (Reasoning("", {"type": "reasoning", "content": [{"encrypted": "x" * 6000}]}),))
    assert 900 < counter.of_message(sealed) < 1300


def test_the_head_is_counted_with_what_every_tool_declares() -> None:
    counter = TokenCounter("openai:p:m")
    tool = ToolDeclaration("read_file", WORDS, {"type": "object", "properties": {"path": {"type": "string"}}})
    assert counter.of_head(WORDS, (tool,)) > counter.of_head(WORDS, ()) + counter.count(WORDS)


def test_a_count_learns_from_what_is_reported_also_for_messages_counted_before() -> None:
    counter = TokenCounter("anthropic:p:m")
    messages = [user_message(WORDS * 40) for _ in range(8)]
    before = counter.of_message(messages[0])
    for message in messages:
        counter.observe((message,), round(before * 1.4))
    assert counter.of_message(messages[0]) == pytest.approx(before * 1.4, rel=0.05)
    assert counter.count(WORDS * 40) == pytest.approx(before * 1.4, rel=0.05)


async def test_what_one_counter_learned_the_next_one_begins_with(tmp_path: Path, clock: VirtualClock) -> None:
    store = CalibrationStore(tmp_path / "tokens.json", clock)
    counter = TokenCounter("anthropic:p:m", store)
    plain = counter.count(WORDS * 40)
    for _ in range(8):
        counter.observe((user_message(WORDS * 40),), plain * 2)
    await store.save()
    later = CalibrationStore(tmp_path / "tokens.json", clock)
    await later.load()
    assert TokenCounter("anthropic:p:m", later).count(WORDS * 40) == pytest.approx(plain * 2, rel=0.1)
    assert TokenCounter("anthropic:p:other", later).count(WORDS * 40) == plain


def test_a_message_is_remembered_by_identity_and_never_taken_for_another() -> None:
    counter = TokenCounter("openai:p:m")
    sizes = [counter.of_message(user_message("word " * (1 + number % 7))) for number in range(10_000)]
    assert sizes == sizes[:7] * 1428 + sizes[:4]
    assert sizes[6] > sizes[3] > sizes[0]
    kept = user_message(WORDS)
    first = counter.of_message(kept)
    counter.forget()
    assert counter.of_message(kept) == first


def test_folders_of_rank_files_are_ours_and_those_of_the_environment(tmp_path: Path) -> None:
    folders = rank_folders({"TIKTOKEN_CACHE_DIR": "/cache", "DATA_GYM_CACHE_DIR": ""}, tmp_path)
    assert folders[:2] == (tmp_path / "tiktoken", Path("/cache"))
    assert len(folders) == 3


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("gpt-4o-mini", "o200k_base"),
        ("openai/gpt-5.2-codex", "o200k_base"),
        ("gpt-4.1", "o200k_base"),
        ("chatgpt-4o-latest", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("GPT-OSS-120b", "o200k_base"),
        ("gpt-4-1106-preview", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-35-turbo", "cl100k_base"),
        ("claude-opus-5", ""),
        ("deepseek-chat", ""),
        ("qwen3-coder", ""),
        ("o-model", ""),
        ("my-gpt", ""),
        ("", ""),
    ],
)
async def test_a_vocabulary_is_known_by_the_name_of_the_model(model: str, vocabulary: str, tmp_path: Path) -> None:
    found = vocabulary_of(model)
    assert (found.name if found else "") == vocabulary
    assert await exact_counter(model, (tmp_path,)) is None


async def test_without_rank_files_nothing_is_fetched_and_the_estimate_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")  # a request would fail
    counter = TokenCounter("openai:openai:gpt-5")
    await counter.load((tmp_path, tmp_path / "missing"))
    assert counter.count(WORDS) == TokenCounter("openai:openai:gpt-5").count(WORDS) > 0


async def test_a_rank_file_that_is_not_the_published_one_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    name = hashlib.sha1(b"https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken").hexdigest()
    (tmp_path / name).write_bytes(b"IQ== 0\n")
    counter = TokenCounter("openai:openai:gpt-5")
    await counter.load((tmp_path,))
    assert counter.count(WORDS) == TokenCounter("openai:openai:gpt-5").count(WORDS)
    assert "is not o200k_base as published" in caplog.text


def test_results_count_like_words() -> None:
    counter = TokenCounter("openai:p:m")
    assert counter.of_message(result_message(ToolResult("a", "read_file", WORDS))) > counter.count(WORDS)
