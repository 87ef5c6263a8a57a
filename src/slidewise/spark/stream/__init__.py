"""A definition over a Spark stream: the query, its shards, late rows, and rows packed in and out."""
