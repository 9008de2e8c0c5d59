"""OpenAI Chat Completions, the format every compatible server speaks."""
