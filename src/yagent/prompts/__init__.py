"""Every word a model reads is in a file under `prompts/`; this room finds the file and fills it."""
