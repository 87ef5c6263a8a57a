"""A shard's state: pages, small keys in shared buckets, large keys in pages of their own, waiting rows, compression."""
