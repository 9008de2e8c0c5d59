"""One agent, one conversation: query the model, act with tools, observe."""
