"""A job file: parsing, checks, what it may ask for, and where it writes."""
