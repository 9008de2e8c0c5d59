"""Whole tasks over bad lines: every run ends with the right answer or an honest exit code, and leaves nothing broken."""
