"""Functions and processors that run in Spark's Python workers, and how they get there."""
