"""Panes: one window under one key, as single events keep it."""
