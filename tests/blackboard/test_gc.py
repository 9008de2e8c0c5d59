"""Old boards go, old notes of full boards go, and nothing else does."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from yagent.blackboard.gc import collect, collect_artifacts, prune
from yagent.blackboard.settings import BlackboardSettings

NOW = datetime(2026, 6, 1, tzinfo=UTC)
NOTE = b"---\n{}\n---\n"
DEFAULTS = BlackboardSettings()


def note(notes: Path, name: str, *, hours: float, data: bytes = NOTE) -> Path:
    """A file of a board, last written so many hours ago."""
    path = notes / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    moment = (NOW - timedelta(hours=hours)).timestamp()
    os.utime(path, (moment, moment))
    return path


def left(notes: Path) -> list[str]:
    return sorted(path.relative_to(notes).as_posix() for path in notes.rglob("*") if path.is_file() or path.is_symlink())


def test_a_board_untouched_for_a_week_goes_and_one_touched_since_stays_whole(tmp_path: Path) -> None:
    note(tmp_path, "old/repo/0001.md", hours=500)
    note(tmp_path, "old/coding/0001.md", hours=169)
    note(tmp_path, "new/repo/0001.md", hours=500)
    note(tmp_path, "new/coding/0001.md", hours=167)
    assert collect(tmp_path, NOW, DEFAULTS) == ("old",)
    assert left(tmp_path) == ["new/coding/0001.md", "new/repo/0001.md"]
    assert not (tmp_path / "old").exists()


def test_a_ttl_of_never_removes_no_board(tmp_path: Path) -> None:
    note(tmp_path, "old/repo/0001.md", hours=100_000)
    assert collect(tmp_path, NOW, BlackboardSettings(ttl=None)) == ()
    assert left(tmp_path) == ["old/repo/0001.md"]


def test_a_board_in_use_stays_however_old(tmp_path: Path) -> None:
    note(tmp_path, "mine/repo/0001.md", hours=500)
    assert collect(tmp_path, NOW, DEFAULTS, in_use={"mine"}) == ()
    assert left(tmp_path) == ["mine/repo/0001.md"]


def test_switched_off_nothing_is_removed(tmp_path: Path) -> None:
    note(tmp_path, "old/repo/0001.md", hours=500)
    assert collect(tmp_path, NOW, BlackboardSettings(enabled=False)) == ()
    assert left(tmp_path) == ["old/repo/0001.md"]


def test_without_a_directory_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert collect(tmp_path / "none", NOW, DEFAULTS) == ()


def test_a_full_board_loses_its_oldest_notes(tmp_path: Path) -> None:
    for number in range(1, 6):
        note(tmp_path, f"b/{'repo' if number % 2 else 'chat'}/{number:04}.md", hours=10 - number)
    assert collect(tmp_path, NOW, BlackboardSettings(max_notes_per_board=2)) == ()
    assert left(tmp_path) == ["b/chat/0004.md", "b/repo/0005.md"]


def test_a_board_of_just_as_many_as_it_holds_loses_none(tmp_path: Path) -> None:
    for number in range(1, 4):
        note(tmp_path, f"b/repo/{number:04}.md", hours=number)
    assert prune(tmp_path / "b", 3) == 0
    assert prune(tmp_path / "b", 1) == 2
    assert left(tmp_path) == ["b/repo/0001.md"]


def test_artifacts_go_after_their_time_and_nothing_else_beside_them(tmp_path: Path) -> None:
    note(tmp_path, "20260101-000000-0123abcd", hours=169)
    note(tmp_path, "20260101-000000-0123abce", hours=167)
    note(tmp_path, "20260101-000000-mine", hours=500)
    note(tmp_path, "somewhere/else", hours=500)
    (tmp_path / "20260101-000000-0123abcf").symlink_to(tmp_path / "somewhere/else")
    assert collect_artifacts(tmp_path, NOW, BlackboardSettings(ttl=None)) == 0
    assert collect_artifacts(tmp_path, NOW, DEFAULTS) == 1
    kept = ["20260101-000000-0123abce", "20260101-000000-0123abcf", "20260101-000000-mine", "somewhere/else"]
    assert left(tmp_path) == kept
    assert collect_artifacts(tmp_path / "nowhere", NOW, DEFAULTS) == 0


def test_what_is_no_note_stays_whatever_its_age(tmp_path: Path) -> None:
    note(tmp_path, "b/repo/0001.md", hours=500)
    note(tmp_path, "b/repo/.yagent-0123.tmp", hours=500)
    note(tmp_path, "journal/2020/january.md", hours=50_000, data=b"# Dear diary\n")
    note(tmp_path, "b/coding/plan.txt", hours=500)
    outside = note(tmp_path.parent / f"{tmp_path.name}-outside", "repo/0001.md", hours=500)
    (tmp_path / "linked").symlink_to(outside.parent.parent)
    (tmp_path / "b" / "linked").symlink_to(outside.parent)
    (tmp_path / "b" / "repo" / "linked.md").symlink_to(outside)
    assert collect(tmp_path, NOW, DEFAULTS) == ()
    assert left(tmp_path) == ["b/coding/plan.txt", "b/linked", "b/repo/linked.md", "journal/2020/january.md", "linked"]
    assert outside.exists()


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 400), min_size=1, max_size=12), st.integers(1, 5))
def test_the_newest_notes_are_always_kept(tmp_path: Path, ages: list[int], most: int) -> None:
    notes = tmp_path / os.urandom(4).hex()
    for number, hours in enumerate(ages):
        note(notes, f"b/repo/{number:04}.md", hours=hours)
    collect(notes, NOW, BlackboardSettings(max_notes_per_board=most))
    kept = [ages[int(Path(name).stem)] for name in left(notes)]
    assert sorted(kept) == ([] if min(ages) > 168 else sorted(ages)[:most])
