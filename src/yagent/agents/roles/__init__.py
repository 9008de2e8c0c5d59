"""The roster as data."""
