"""What a tool is, which tools there are, and which of them an agent may use."""
