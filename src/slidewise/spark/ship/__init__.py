"""This package, sent to Spark's executors, and a look at what they have beside it."""
