"""Who carries the bytes: the only package that knows an HTTP library."""
