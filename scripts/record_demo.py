"""Record the demonstration anew: play it, and keep the record of that play as the new recording.

The model's words stay those of the last recording; what the tools answered is replaced by what they answer now. Run it when a tool's text
has changed on purpose, and read the differences it prints. A recording with new words comes from an ordinary run in a copy of
`src/yagent/data/demo/repository`: copy its files from the data directory by hand.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDING = ROOT / "src" / "yagent" / "data" / "demo" / "recording"


def main() -> int:
    """Play once to record, once to compare; the exit code is that of the second."""
    with tempfile.TemporaryDirectory() as place:
        _play(Path(place))
        files = sorted((Path(place) / "data" / "rollout").rglob("*.jsonl"))
        if not files:
            sys.stderr.write("record_demo: the demonstration left no record; see what it said above\n")
            return 1
        shutil.rmtree(RECORDING)
        RECORDING.mkdir()
        for path in files:
            (RECORDING / path.name).write_bytes(path.read_bytes())
    with tempfile.TemporaryDirectory() as place:
        return _play(Path(place))


def _play(home: Path) -> int:
    environ = {**os.environ, "YAGENT_HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-m", "yagent", "demo", "--fast"], env=environ, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
