"""Many runs and their statistics: `python -m tests.chaos --runs 500`. Exits 1 when a run had a fault."""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos import process
from tests.chaos.report import faults, table
from tests.chaos.run import Verdict, run
from tests.chaos.trouble import weather
from tests.support.virtual_time import VirtualClock, VirtualTimeLoop


def carried_out(seed: int, *, as_process: bool) -> Verdict:
    """One run on a loop of its own."""
    with tempfile.TemporaryDirectory(prefix="chaos-") as place:
        if as_process:
            return asyncio.run(process.run(seed, Path(place) / "run"))
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            return runner.run(run(weather(seed), Path(place) / "run", VirtualClock()))


def main() -> int:
    """Run the seeds asked for."""
    parser = argparse.ArgumentParser(prog="chaos", description="whole tasks over bad lines, in virtual time")
    parser.add_argument("--runs", type=int, default=500, help="how many runs (default: 500)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first seed (default: 0)")
    parser.add_argument("--processes", action="store_true", help="as real processes, in real time")
    parser.add_argument("--verbose", action="store_true", help="one line for each run, and what it said when it was not the answer")
    arguments = parser.parse_args()
    started = time.monotonic()
    verdicts = []
    for seed in range(arguments.first, arguments.first + arguments.runs):
        verdicts.append(verdict := carried_out(seed, as_process=arguments.processes))
        if arguments.verbose:
            where = f"{verdict.weather.kind}, {verdict.weather.dialect}"
            told = f": {verdict.told!r}" if verdict.exit_code else ""
            print(f"{seed}: {where}: {verdict.outcome} ({verdict.stop_reason}), {verdict.attempts} attempts, {verdict.seconds:.0f} s{told}")
    print(table(verdicts))
    hours = sum(each.seconds for each in verdicts) / 3600
    print(f"\n{len(verdicts)} runs in {time.monotonic() - started:.0f} s; for them {hours:.1f} hours passed.")
    found = faults(verdicts)
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
