"""FiBA, the finger B-tree aggregator: nodes, spines, ranges, storage and checks."""
