"""A definition over a Spark DataFrame: plan, shuffle, and evaluation of sorted rows in each task."""
