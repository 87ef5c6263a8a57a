"""`push_many`: batches of events through the engine."""
