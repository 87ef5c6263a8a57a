"""Sorting inside a task in bounded memory: runs, spilling and merging."""
