"""The `<thought>` block agents write before they act."""
