"""One way to talk to a model."""
