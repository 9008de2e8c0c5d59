"""Tests of scripts/bench: what it computes from what it saw. Nothing here measures time."""
