"""What agents leave for each other: notes with their evidence, and artifacts too long for a conversation."""
