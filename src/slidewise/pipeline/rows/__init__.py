"""A source's rows: read, parsed, cleaned, put in order."""
