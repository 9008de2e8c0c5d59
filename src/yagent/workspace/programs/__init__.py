"""What is known of programs by their name and arguments: which only read, which change the files they name, which always ask."""
