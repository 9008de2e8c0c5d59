"""Who thinks: one loop, roles as data, delegations, and what only the Director has."""
