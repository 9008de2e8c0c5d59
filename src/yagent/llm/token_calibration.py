"""What the providers' own counts say about our estimates, for each model, kept from run to run (X-11)."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yagent.llm.token_estimate import Size
from yagent.records import dataclass
from yagent.runtime import atomic, supervise
from yagent.runtime.clock import Clock
from yagent.runtime.regular_file import open_regular

logger = logging.getLogger(__name__)

_MOST = 1 << 20  # bytes of the file: what is larger is none of ours
_MODELS = 200  # kept, the ones written last
_RANGE = (0.4, 2.5)  # in which a factor is believed
_FADE = 0.95  # what an observation still weighs at the next one
_PRIOR = 0.2  # what "no correction" weighs, in observations
_TRUST = 12  # what earlier runs weigh at most
_OUTLIER = 0.4  # relative error from which on an observation counts less the farther off it is
_BELIEVED = (0.2, 5.0)  # ratio of reported to estimated; what is outside is no count of this text
_FULL_WEIGHT = 400  # tokens from which on an observation counts whole


@dataclass(frozen=True, slots=True)
class Calibration:
    """Factors of a model: for plain ASCII and for other scripts. `seen` observations made them, 0 for none."""

    plain: float = 1.0
    wide: float = 1.0
    seen: int = 0

    def tokens(self, size: Size) -> float:
        """The size with the corrections."""
        return size.exact + self.plain * size.plain + self.wide * size.wide


class Fitting:
    """Least squares over the relative errors, newest first, in which single wrong reports count little."""

    def __init__(self, known: Calibration) -> None:
        self.calibration = known
        weight = float(min(max(known.seen, _PRIOR), _TRUST))
        self._plain = self._wide = weight
        self._both = 0.0
        self._to_plain, self._to_wide = weight * known.plain, weight * known.wide

    def observe(self, size: Size, reported: int) -> None:
        """A provider counted `reported` tokens for what was estimated as `size`. What cannot be about the same text is left out."""
        expected = self.calibration.tokens(size)
        if expected <= 0 or size.plain + size.wide <= 0 or not _BELIEVED[0] < reported / expected < _BELIEVED[1]:
            return
        error = abs(expected - reported) / reported
        weight = min(1.0, reported / _FULL_WEIGHT) * min(1.0, _OUTLIER / max(error, _OUTLIER))
        plain, wide, target = size.plain / reported, size.wide / reported, 1 - size.exact / reported
        self._plain = self._plain * _FADE + weight * plain * plain
        self._wide = self._wide * _FADE + weight * wide * wide
        self._both = self._both * _FADE + weight * plain * wide
        self._to_plain = self._to_plain * _FADE + weight * plain * target
        self._to_wide = self._to_wide * _FADE + weight * wide * target
        determinant = self._plain * self._wide - self._both * self._both
        if determinant > 1e-9:
            self.calibration = Calibration(
                _believed((self._to_plain * self._wide - self._to_wide * self._both) / determinant),
                _believed((self._to_wide * self._plain - self._to_plain * self._both) / determinant),
                self.calibration.seen + 1,
            )


class CalibrationStore:
    """The factors of all models, in one file of ours. It only ever makes estimates better, so nothing that happens to it stops a run."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._known: dict[str, Calibration] = {}
        self._new: dict[str, Calibration] = {}

    def get(self, fingerprint: str) -> Calibration:
        """What is known of a model."""
        return self._new.get(fingerprint) or self._known.get(fingerprint) or Calibration()

    def put(self, fingerprint: str, calibration: Calibration) -> None:
        """Remember; `save` writes it."""
        self._new[fingerprint] = calibration

    async def load(self) -> None:
        """Read the file, if there is one."""
        self._known = await supervise.in_thread(self._read)

    async def save(self) -> None:
        """Write what is new beside what others wrote meanwhile."""
        if not self._new:
            return
        try:
            await supervise.in_thread(atomic.make_private_directory, self._path.parent)
            async with atomic.locked(self._path, clock=self._clock):
                await supervise.in_thread(self._merge)
        except (OSError, atomic.LockTimeoutError, atomic.NotRegularFileError) as error:
            logger.warning("the calibration of token counts was not saved: %s", error)

    def _merge(self) -> None:
        merged = {name: value for name, value in self._read().items() if name not in self._new} | self._new
        newest = dict(list(merged.items())[-_MODELS:])
        data = {name: {"plain": round(each.plain, 4), "wide": round(each.wide, 4), "seen": each.seen} for name, each in newest.items()}
        atomic.write_bytes(self._path, json.dumps({"version": 1, "models": data}, indent=1).encode() + b"\n", durable=False)

    def _read(self) -> dict[str, Calibration]:
        try:
            with open_regular(self._path) as file:
                data = json.loads(file.read(_MOST))
            return {str(name): _calibration(each) for name, each in data["models"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, atomic.NotRegularFileError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            logger.warning("the calibration of token counts in %s cannot be read and is started anew: %s", self._path, error)
            return {}


def _calibration(data: Mapping[str, Any]) -> Calibration:
    return Calibration(_believed(float(data["plain"])), _believed(float(data["wide"])), max(int(data["seen"]), 0))


def _believed(factor: float) -> float:
    return min(max(factor, _RANGE[0]), _RANGE[1])
