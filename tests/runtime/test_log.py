"""Logs and crash reports: the right file, the right mode, no secrets, no harm when the disk says no."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.virtual_time import VirtualClock, settle
from yagent.runtime.clock import SystemClock
from yagent.runtime.log import GATHER_SECONDS, MASK, ROOT, DailyFiles, Redactor, configure, crash_report, lines_belong_to, remove_old
from yagent.runtime.supervise import Domain, in_thread

KEY = "marker-key-0123456789"


class FixedClock(SystemClock):
    """A calendar that tests turn by hand."""

    moment = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)

    def wall(self) -> datetime:
        return self.moment


@pytest.fixture
def calendar() -> FixedClock:
    return FixedClock()


@pytest.fixture
async def gathering(files: DailyFiles) -> AsyncIterator[None]:
    async with Domain("session") as domain:
        domain.go("log files", files.gather())
        await settle()
        yield


@pytest.fixture
def files(tmp_path: Path, calendar: FixedClock) -> Iterator[DailyFiles]:
    logger = logging.getLogger(ROOT)
    level = logger.level
    with_umask = os.umask(0)
    handler = configure(tmp_path / "logs", clock=calendar, redactor=Redactor([KEY]))
    yield handler
    logger.removeHandler(handler)
    handler.close()
    logger.setLevel(level)
    os.umask(with_umask)


def test_no_file_exists_before_something_is_written(files: DailyFiles, tmp_path: Path) -> None:
    assert not (tmp_path / "logs").exists()
    logging.getLogger("yagent.session").info("hello")
    assert os.listdir(tmp_path / "logs") == ["app-2026-03-01.log"]


def test_each_kind_has_its_file_and_all_are_private(files: DailyFiles, tmp_path: Path) -> None:
    logging.getLogger("yagent.llm.retry").info("waiting")
    logging.getLogger("yagent.llm").error("refused")
    logging.getLogger("yagent.tools.batch").info("ran")
    logging.getLogger("yagent.agents.delegation").info("began")
    logging.getLogger("yagent.llmfoo").debug("below the level")
    directory = tmp_path / "logs"
    assert sorted(os.listdir(directory)) == [f"{kind}-2026-03-01.log" for kind in ("app", "delegate", "llm", "llm-error", "tool")]
    assert (directory / "llm-2026-03-01.log").read_text().count("\n") == 2
    assert (directory / "llm-error-2026-03-01.log").read_text() == "2026-03-01T23:59:00.000+00:00 - ERROR yagent.llm: refused\n"
    assert (directory / "app-2026-03-01.log").read_text().count("\n") == 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


async def test_a_task_has_its_kinds_in_a_directory_of_its_own(files: DailyFiles, tmp_path: Path) -> None:
    async def task(name: str) -> None:
        lines_belong_to(name)
        logging.getLogger("yagent.tools").info("called")

    async with Domain("session") as domain:
        for name in ("session-1", "session-2", "session-1", "../outside", ""):
            await domain.go("task", task(name))
    directory = tmp_path / "logs"
    found = {str(path.relative_to(directory)): path.read_text().count("\n") for path in directory.rglob("*.log")}
    assert found == {
        "app-2026-03-01.log": 5,
        "session-1/tool-2026-03-01.log": 2,
        "session-2/tool-2026-03-01.log": 1,
        "tool-2026-03-01.log": 2,
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.rglob("*")} == {0o600, 0o700}
    assert not (tmp_path / "outside").exists()


def test_what_is_older_than_thirty_days_is_removed(tmp_path: Path) -> None:
    kept = [
        "app-2026-03-01.log",
        "crash-2026-03-02-101010-1-7.txt",
        "mine-2020-01-01.log",
        "notes.txt",
        "a-2/llm-2026-03-30.log",
        "b-1/own.txt",
    ]
    old = [
        "app-2026-02-28.log",
        "crash-2025-12-31-101010-1-7.txt",
        "a-1/llm-2026-01-01.log",
        "a-2/tool-2026-02-27.log",
        "b-1/tool-2026-01-01.log",
    ]
    for name in (*kept, *old):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("line")
    (tmp_path / "empty").mkdir()
    outside = tmp_path.parent / "outside"
    outside.mkdir()
    (outside / "app-2020-01-01.log").write_text("of another")
    (tmp_path / "link").symlink_to(outside)
    remove_old(tmp_path, date(2026, 3, 31))
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == sorted(kept)
    assert not (tmp_path / "a-1").exists()
    assert (outside / "app-2020-01-01.log").exists()
    remove_old(tmp_path / "missing", date(2026, 3, 31))


async def test_every_line_says_whose_it_is(files: DailyFiles, tmp_path: Path) -> None:
    async def task(name: str) -> None:
        lines_belong_to(name)
        await in_thread(logging.getLogger("yagent").info, "done")

    files.owner = "session"
    async with Domain("session") as domain:
        for name in ("session-1", "session-2"):
            await domain.go("task", task(name))
        logging.getLogger("yagent").info("idle")
    assert [line.split(" ")[1:] for line in written(tmp_path)] == [
        ["session-1", "INFO", "yagent:", "done"],
        ["session-2", "INFO", "yagent:", "done"],
        ["session", "INFO", "yagent:", "idle"],
    ]


def test_text_of_several_lines_cannot_pass_for_somebody_elses(files: DailyFiles, tmp_path: Path) -> None:
    files.owner = "session"
    logging.getLogger("yagent").info("one\n2026-03-01T23:59:00.000+00:00 other INFO yagent: forged\n\nlast")
    begin = "2026-03-01T23:59:00.000+00:00 session "
    lines = written(tmp_path)
    assert [line.startswith(begin) for line in lines] == [True] * 4
    assert [line.removeprefix(begin)[:2] for line in lines] == ["IN", "| ", "| ", "| "]


def test_a_new_day_begins_a_new_file(files: DailyFiles, tmp_path: Path, calendar: FixedClock) -> None:
    logging.getLogger("yagent").info("late")
    calendar.moment = datetime(2026, 3, 2, tzinfo=UTC)
    logging.getLogger("yagent").info("early")
    assert sorted(os.listdir(tmp_path / "logs")) == ["app-2026-03-01.log", "app-2026-03-02.log"]


def test_secrets_are_hidden_in_messages_arguments_and_tracebacks(files: DailyFiles, tmp_path: Path) -> None:
    logger = logging.getLogger("yagent.llm")
    logger.info("key is %s", KEY)
    try:
        raise ValueError(f"server said: Authorization: Bearer {KEY} and sk-proj-abcdefghijkl")
    except ValueError:
        logger.exception("call failed")
    for path in (tmp_path / "logs").iterdir():
        text = path.read_text()
        assert KEY not in text
        assert "abcdefghijkl" not in text
        assert MASK in text


def test_arguments_that_do_not_fit_are_told_and_do_no_harm(files: DailyFiles, tmp_path: Path) -> None:
    logger = logging.getLogger("yagent")
    logger.propagate = False
    try:
        logger.info("%d files", "many")
    finally:
        logger.propagate = True
    assert "'%d files' (its arguments do not fit" in (tmp_path / "logs" / "app-2026-03-01.log").read_text()


def test_trouble_with_the_directory_is_remembered_and_never_raised(tmp_path: Path, calendar: FixedClock) -> None:
    (tmp_path / "logs").write_bytes(b"a file in the way")
    files = configure(tmp_path / "logs", clock=calendar, redactor=Redactor())
    try:
        assert files.problem is None
        logging.getLogger("yagent").warning("hello")
        assert files.problem is not None
        assert "goes on without it" in files.problem
    finally:
        logging.getLogger(ROOT).removeHandler(files)
        files.close()


@pytest.mark.parametrize("in_the_way", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/full")])
def test_what_is_in_a_files_place_holds_nothing_up_and_is_told_once(
    in_the_way: Callable[[Path], None], files: DailyFiles, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    in_the_way(tmp_path / "logs/app-2026-03-01.log")
    assert files.trouble() is None
    logging.getLogger("yagent").info("hello")
    assert "goes on without it" in (files.trouble() or "")
    assert files.trouble() is None


def test_a_pipe_that_is_read_is_no_log_either(files: DailyFiles, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    os.mkfifo(tmp_path / "logs/app-2026-03-01.log")
    reader = os.open(tmp_path / "logs/app-2026-03-01.log", os.O_RDONLY | os.O_NONBLOCK)
    logging.getLogger("yagent").info("hello")
    assert "is not a regular file" in (files.trouble() or "")
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_configuring_again_replaces_the_first_set_up(files: DailyFiles, tmp_path: Path, calendar: FixedClock) -> None:
    second = configure(tmp_path / "other", clock=calendar, redactor=Redactor())
    try:
        logging.getLogger("yagent").info("once")
        assert not (tmp_path / "logs").exists()
        assert (tmp_path / "other" / "app-2026-03-01.log").read_text().count("once") == 1
    finally:
        logging.getLogger(ROOT).removeHandler(second)
        second.close()


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Authorization: Bearer abc.def-ghi", "abc.def-ghi"),
        ('{"authorization": "Basic dXNlcjpwYXNz"}', "dXNlcjpwYXNz"),
        ("authorization=tok_12345678 next", "tok_12345678"),
        ("sent bearer abcdef123456", "abcdef123456"),
        ("x-api-key: zzz-yyy", "zzz-yyy"),
        ('"api_key": "zzz"', "zzz"),
        ("OPENAI_API_KEY=qwertyuiop", "qwertyuiop"),
        ("GET /v1?key=AIzaSyX&alt=sse", "AIzaSyX"),
        ("https://ada:lovelace@proxy:3128/", "lovelace"),
        ("Incorrect API key provided: sk-ant-REDACTED.", "sk-ant-REDACTED"),
    ],
)
def test_what_looks_like_a_credential_is_hidden(text: str, hidden: str) -> None:
    redacted = Redactor().redact(text)
    assert hidden not in redacted
    assert MASK in redacted


@pytest.mark.parametrize("text", ["the bearer of news", "task-based work in disk-usage.py", "http://host:80/at@2x.png", "risk-averse"])
def test_ordinary_words_stay(text: str) -> None:
    assert Redactor(["of", ""]).redact(text) == text


@given(st.text(st.characters(exclude_characters=MASK), min_size=6, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_a_known_secret_never_survives(secret: str, before: str, after: str) -> None:
    redactor = Redactor()
    redactor.add(secret, secret[:6])
    redacted = redactor.redact(before + secret + after)
    assert secret not in redacted


def test_a_crash_report_is_private_complete_and_without_secrets(tmp_path: Path, calendar: FixedClock) -> None:
    try:
        raise RuntimeError(f"lost {KEY}")
    except RuntimeError as error:
        path = crash_report(error, tmp_path / "logs", clock=calendar, redactor=Redactor([KEY]))
    assert path is not None
    assert path.parent == tmp_path / "logs"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    assert "RuntimeError: lost [redacted]" in text
    assert "test_log.py" in text
    assert KEY not in text


def test_a_crash_report_that_cannot_be_written_is_none(tmp_path: Path, calendar: FixedClock) -> None:
    (tmp_path / "logs").write_bytes(b"")
    assert crash_report(RuntimeError("x"), tmp_path / "logs", clock=calendar, redactor=Redactor()) is None


async def test_log_lines_carry_the_injected_time(tmp_path: Path, clock: VirtualClock) -> None:
    files = configure(tmp_path, clock=clock, redactor=Redactor())
    try:
        await clock.sleep(90)
        logging.getLogger("yagent").warning("x")
        assert (tmp_path / "app-2026-01-01.log").read_text().startswith("2026-01-01T00:01:30.000+00:00 - WARNING")
    finally:
        logging.getLogger(ROOT).removeHandler(files)
        files.close()


async def test_lines_of_a_session_are_written_together_and_soon(gathering: None, tmp_path: Path, clock: VirtualClock) -> None:
    logging.getLogger("yagent.tools").info("one")
    logging.getLogger("yagent").info("two")
    assert not (tmp_path / "logs").exists()
    await clock.sleep(GATHER_SECONDS)
    await settle()
    assert [line.rpartition(": ")[2] for line in written(tmp_path)] == ["one", "two"]


async def test_a_warning_brings_what_was_before_it_to_the_disk_at_once(gathering: None, tmp_path: Path) -> None:
    logging.getLogger("yagent").info("one")
    logging.getLogger("yagent").warning("two")
    assert [line.rpartition(": ")[2] for line in written(tmp_path)] == ["one", "two"]


async def test_another_thread_waits_for_nobody(gathering: None, tmp_path: Path) -> None:
    logging.getLogger("yagent").info("one")
    await in_thread(logging.getLogger("yagent").info, "two")
    assert [line.rpartition(": ")[2] for line in written(tmp_path)] == ["one", "two"]


async def test_the_end_of_gathering_loses_nothing(files: DailyFiles, tmp_path: Path) -> None:
    async with Domain("session") as domain:
        domain.go("log files", files.gather())
        await settle()
        logging.getLogger("yagent").info("one")
    logging.getLogger("yagent").info("two")
    assert [line.rpartition(": ")[2] for line in written(tmp_path)] == ["one", "two"]


def written(directory: Path) -> list[str]:
    return (directory / "logs" / "app-2026-03-01.log").read_text().splitlines()
