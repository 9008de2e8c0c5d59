"""The crash matrix: `python -m tests.crash`. Exits 1 when a cut had a fault."""

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path

from tests.crash.matrix import every_trial
from tests.crash.report import faults, table, write
from tests.crash.verdict import Verdict

DOCUMENT = Path(__file__).parents[2] / "docs/rollout-and-resume.md"


def main() -> int:
    """Carry out the kills asked for."""
    parser = argparse.ArgumentParser(prog="crash_matrix", description="kill a task at every moment, resume it to its end")
    parser.add_argument("--kind", default="", help="only kinds that hold these words")
    parser.add_argument("--name", default="", help="only kills whose name holds these words")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one kill of N (default: 1)")
    parser.add_argument("--verbose", action="store_true", help="one line for each kill")
    parser.add_argument("--write", action="store_true", help=f"put the table into {DOCUMENT.name}")
    arguments = parser.parse_args()
    logging.getLogger().addHandler(logging.NullHandler())  # what fails is in the verdicts
    started = time.monotonic()
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory(prefix="crash-") as place:
        trials = every_trial(Path(place))
        wanted = (trial for trial in trials if arguments.kind in trial.kind and arguments.name in trial.name)
        for number, trial in enumerate(wanted):
            if number % arguments.every:
                continue
            verdicts.append(verdict := trial.verdict())
            for fault in faults([verdict]):
                print(fault, file=sys.stderr, flush=True)
            if arguments.verbose:
                how = f"began anew: {verdict.anew}" if verdict.anew else f"told of {verdict.told}"
                print(f"{verdict.kind}, {verdict.name}: {how}, {verdict.seconds:.1f} s", flush=True)
    print(text := table(verdicts))
    print(f"\n{len(verdicts)} kills in {time.monotonic() - started:.0f} s, {len(faults(verdicts))} faults.")
    if arguments.write:
        write(DOCUMENT, text)
    return 1 if faults(verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
