"""The shipped tools, one module per family. Each builder makes a `Spec` from what the tool needs."""
