"""One run of a role for another agent."""
