"""How yagent gets onto a machine: launcher, set-up, wheel."""
