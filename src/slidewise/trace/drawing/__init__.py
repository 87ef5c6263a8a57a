"""Traces as terminal output, SVG, PNG and HTML."""
