"""Numbers to tables."""

from dataclasses import replace

from scripts.bench.exchanges import Seen
from scripts.bench.measure import Run
from scripts.bench.peers import PEERS
from scripts.bench.report import PAGE, Series, bar_table, bars, comparison

SEEN = Seen(requests=3, connections=1, first_request=0.0, gaps=(1.0, 2.0), kept=1.0, first_bytes=10, last_bytes=20)


def series(*, start: float, gaps: tuple[float, ...] = (1.0, 1.0), seen: Seen = SEEN) -> Series:
    """A program that always took the same time."""
    run = Run(start, 50.0, replace(seen, gaps=gaps))
    return Series("program", (run,), (run,), (0.02,))


def missed(floor: Series, ours: Series) -> list[str]:
    """The bars that were not held."""
    return [bar.what.split(",")[0] for bar in bars(floor, ours) if not bar.held]


def test_equal_programs_hold_every_bar() -> None:
    assert missed(series(start=0.2), series(start=0.2)) == []


def test_each_bar_can_be_missed() -> None:
    floor = series(start=0.1)
    assert missed(floor, series(start=0.2)) == ["process start to first request"]
    assert missed(floor, series(start=0.1, gaps=(11.0,) * 40)) == ["gap per step"]
    assert missed(floor, series(start=0.1, gaps=(1.0,) * 20 + (4.0,) * 20)) == ["growth of the gap to the last 20 steps beyond the floor's"]
    assert missed(floor, replace(series(start=0.1), shortest=(0.2,))) == ["`--version`"]
    assert missed(floor, series(start=0.1, seen=replace(SEEN, kept=0.9999, connections=2))) == [
        "prefix kept from request to request",
        "connections of a sequential run",
    ]


def test_the_tables_have_a_row_for_everybody() -> None:
    floor, ours = series(start=0.1), series(start=0.2)
    table = comparison(floor, ours).splitlines()
    assert len(table) == 2 + 2 + len(PEERS)
    assert {line.count("|") for line in table} == {10}
    assert "**no**" in bar_table(bars(floor, ours))


def test_the_page_shows_everybody() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [peer.name for peer in PEERS if f"| {peer.name} |" not in page] == []
