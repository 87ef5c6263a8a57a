"""Definitions one event at a time, with state that survives."""
