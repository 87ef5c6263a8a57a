"""Jobs over streams: source, queries, progress, the checkpoint's lock, and the command that runs them."""
