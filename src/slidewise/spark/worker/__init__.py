"""What runs in Spark's Python workers, and how it gets there."""
