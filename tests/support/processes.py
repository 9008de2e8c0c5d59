"""Looking for processes that a test may have left running."""

from __future__ import annotations

import secrets
import subprocess
import time


def unique_sleep() -> str:
    """A command that does nothing for hours, and that no other test runs."""
    return f"sleep 98765.{secrets.randbelow(10**9):09}"


def running(mark: str) -> list[str]:
    """Command lines of living processes that hold a text."""
    found = subprocess.run(["ps", "-axwwo", "stat=,args="], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in found if mark in line and not line.startswith("Z")]


def gone(mark: str, *, within: float = 10.0) -> bool:
    """Whether no process with the text is left, or will be in a moment."""
    deadline = time.monotonic() + within
    while running(mark):
        if time.monotonic() > deadline:
            return False
        subprocess.run(["sleep", "0.05"], check=True)
    return True
