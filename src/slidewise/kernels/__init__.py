"""The compiled passes over arrays."""
