"""Bounds of windows: which rows each row's window holds."""
