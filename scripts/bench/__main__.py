"""Measure what yagent costs besides the model, against the least a program on the same HTTP library can cost: python -m scripts.bench.

Needs the development environment (`scripts/check` makes it) and, to install what is measured, the package index.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.bench.installation import Installation, install
from scripts.bench.measure import Program, programs, run_program, run_time
from scripts.bench.report import Series, bar_table, bars, comparison, conditions, write_section


def main() -> int:
    """Measure, print, and say by the exit code whether every promise was held."""
    options = _options()
    with TemporaryDirectory(prefix="yagent-bench-") as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        made = Installation(folder.resolve()) if options.as_is else install(folder.resolve())
        rounds, long, steps = (3, 1, 40) if options.quick else (options.rounds, options.long, 200)
        floor, ours = measure(made, rounds, long, steps)
    judged = bars(floor, ours)
    parts = [conditions(floor, steps), bar_table(judged), comparison(floor, ours)]
    print("\n\n".join(parts))
    if options.write:
        write_section("measured", "\n\n".join(parts))
    # Few runs say little about time, so that a quick one is only judged by what does not depend on it.
    return int(not all(bar.held for bar in judged if bar.structural or not options.quick))


def measure(made: Installation, rounds: int, long: int, steps: int) -> tuple[Series, Series]:
    """Everything in turns, so that a slow minute of the machine is slow for both; the first of each warms up and does not count."""
    both = programs(made)
    starts = [[run_program(made, program, 0) for program in both] for _ in range(rounds + 1)][1:]
    commands = ((str(made.python), "-c", "pass"), (str(made.yagent), "--version"))
    times = [[run_time(words, made) for words in commands] for _ in range(2 * rounds + 1)][1:]
    runs = [[run_program(made, program, steps) for program in both] for _ in range(long)]

    def series(which: int, program: Program) -> Series:
        return Series(
            program.name,
            tuple(each[which] for each in starts),
            tuple(each[which] for each in runs),
            tuple(each[which] for each in times),
        )

    floor, ours = both
    return series(0, floor), series(1, ours)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few runs, to see that it works; judged by what does not depend on time")
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="starts of each program (15)")
    parser.add_argument("--long", type=int, default=5, metavar="N", help="runs of 200 steps of each program (5)")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="install into this folder and keep it")
    parser.add_argument("--as-is", action="store_true", help="measure what --folder holds, without installing anew")
    options = parser.parse_args()
    if options.as_is and options.folder is None:
        parser.error("--as-is needs --folder")
    return options


if __name__ == "__main__":
    sys.exit(main())
