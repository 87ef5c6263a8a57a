"""Definitions on Spark."""
