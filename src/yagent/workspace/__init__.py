"""The only door to the user's tree and to processes."""
