"""The command line: parse, then call."""
