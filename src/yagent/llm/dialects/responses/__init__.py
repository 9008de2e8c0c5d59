"""OpenAI Responses API, stateless: nothing is stored at the provider."""
