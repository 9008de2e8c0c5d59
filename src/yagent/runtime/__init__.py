"""Concurrency primitives, time, files, logs: everything that needs no knowledge of agents."""
