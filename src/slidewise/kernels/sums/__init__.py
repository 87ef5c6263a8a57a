"""Exact sums and moments at the speed of plain additions."""
