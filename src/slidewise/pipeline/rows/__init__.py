"""Rows of a source: reading, parsing, cleaning, and their order in the files."""
