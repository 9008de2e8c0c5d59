"""Typed settings: read with provenance, edited without touching what was not asked for. Imported by `session` and `apps` alone."""
