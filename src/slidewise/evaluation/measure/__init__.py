"""Measuring: clocks, timed loops, counts and compiled windows."""
