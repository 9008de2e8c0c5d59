"""The nouns every room may speak: frozen data, no input or output, no behaviour."""
