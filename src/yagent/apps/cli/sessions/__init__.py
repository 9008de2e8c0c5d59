"""`yagent sessions`: what was recorded, read, handed on, begun again and removed."""
