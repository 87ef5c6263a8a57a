"""Values inside operators' states: numbers of two floats, hashes, ordered values, and checks of what was stored."""
