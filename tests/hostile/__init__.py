"""Repositories, machines and amounts of data that mean no good: what yagent says and does in them, as a real process."""
