"""External sort of a task's rows: runs, spilling and merging."""
