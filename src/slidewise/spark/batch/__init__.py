"""A definition over a Spark DataFrame: plan, shuffle, and sorted batches through the engine."""
