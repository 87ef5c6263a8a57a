"""The built-in operators, one family per file."""
