"""How functions become machine code: Numba with Python's meaning of numbers, fingerprints, and the cache on disk."""
