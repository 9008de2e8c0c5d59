"""yagent: a Director plans, specialists act, and every run is a replayable record."""
