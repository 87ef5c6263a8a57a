"""Values inside operators' states: double-doubles, hashes, sorted multisets, and checks of deserialised states."""
