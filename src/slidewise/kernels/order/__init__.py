"""Order statistics over windows: ranks, radix sort, and trees of values."""
