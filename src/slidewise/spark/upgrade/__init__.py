"""Change a stream's definition while it runs: what becomes of each aggregate, and the conversion of a shard's state."""
