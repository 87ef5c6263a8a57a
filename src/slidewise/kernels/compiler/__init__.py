"""Compilation by Numba: Python's arithmetic for users' functions, fingerprints, and the cache of machine code."""
