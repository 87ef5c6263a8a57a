"""Snapshots: all state of a live definition as versioned, checksummed bytes.

`snapshot` writes and reads all but what is a key's own: that is `key_states`, or `beat_states` on a beat. `checks` has
what must hold of everything that is read, `envelope` the header and the checksum.
"""
