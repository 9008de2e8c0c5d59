"""How a person or a program reaches yagent."""
