"""A definition over a Spark stream: shards, waiting rows, late rows, answers."""
