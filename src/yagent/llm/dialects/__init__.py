"""The three wire formats. Each package knows one; nothing outside knows any."""
