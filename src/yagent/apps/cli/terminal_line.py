"""A question on the terminal that a command asks before anything runs: one line in answer."""

import os
import termios


def ask_line(descriptor: int, text: str) -> str | None:
    """Show `text` and wait for a line; None when the terminal is closed. What was typed before is no answer. Blocks."""
    data = memoryview(text.encode("utf-8", "backslashreplace"))
    try:
        termios.tcflush(descriptor, termios.TCIFLUSH)
        while data:
            data = data[os.write(descriptor, data) :]
        line = os.read(descriptor, 65536)
    except OSError:
        return None
    return line.decode("utf-8", "replace").strip() if line else None
