"""The rules of the house that no reviewer should have to remember."""
