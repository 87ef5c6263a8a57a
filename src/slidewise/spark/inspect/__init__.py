"""A look inside a stream's checkpoint: what its shards hold, whether it is sound, and its keys for other lanes."""
