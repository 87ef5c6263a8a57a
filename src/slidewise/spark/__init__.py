"""Definitions on Spark: over batch DataFrames, and over streams with state in pages; `transform` is the entry."""
