"""Reads of a live definition: the aggregates of keys as of a time, which change nothing.

`get` reads one key, `get_many` a table of keys and times.
"""
