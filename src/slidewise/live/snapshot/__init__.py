"""Snapshots: all state of a live definition as versioned, checksummed bytes."""
