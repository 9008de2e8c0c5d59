"""What a person is told when something failed that should not have: one short message, and where the report lies (A-17)."""

import os
from collections.abc import Mapping
from types import TracebackType

from yagent.apps.cli.progress import write_to_standard_error
from yagent.protocol.visible import visible
from yagent.runtime.clock import SystemClock
from yagent.runtime.log import Redactor, crash_report
from yagent.runtime.paths import DataHome
from yagent.session.build import user_home
from yagent.workspace.environment import looks_secret


def tell_of_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The hook for what nobody caught: report it and say so. The interpreter then ends with exit code 1."""
    for line in reported(error, os.environ):
        write_to_standard_error(f"yagent: {visible(line)}")


def reported(error: BaseException, environ: Mapping[str, str]) -> list[str]:
    """Write the report; the lines to show. Nothing secret of the environment is in either."""
    redactor = Redactor(value for name, value in environ.items() if looks_secret(name, value))
    home = DataHome.from_environment(environ, user_home(environ))
    report = None if home.problem is not None else crash_report(error, home.logs_dir, clock=SystemClock(), redactor=redactor)
    what = f"Something failed that should not have: {redactor.redact(f'{type(error).__name__}: {error}')}"
    where = f"The report is {os.fspath(report)}." if report is not None else "No report could be written."
    return [*what.splitlines()[:1], where, "This is a defect of yagent; please report it with that file."]
