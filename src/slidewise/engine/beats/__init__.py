"""Answers on a beat: rows folded into slices of time, and windows over slices."""
