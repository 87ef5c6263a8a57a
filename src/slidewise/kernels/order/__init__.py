"""Order of rows and values: grouping by key, radix sort, ranks, quantiles, and trees of values."""
