"""What only the Director has."""
