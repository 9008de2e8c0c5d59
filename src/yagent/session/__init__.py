"""The composition root: builds everything once, owns its lifetime, turns ops into runs."""
