"""Passes over windows [starts, ends), and which of them serves an operator."""
