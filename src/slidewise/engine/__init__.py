"""The engine: what tables, live batches, Spark batch and Spark streams share. Sort, windows, kernels, codec."""
