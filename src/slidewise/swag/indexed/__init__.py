"""SWAGs that also answer without any number of their oldest rows, in O(log n) calls of combine: a live definition reads
windows as of a time to come from them. Each keeps its own partials and, beside every row, a product of a dyadic block.
"""
