"""Tasks whose process is killed at any moment: each goes on from its record to the same end, and nothing takes effect twice."""
