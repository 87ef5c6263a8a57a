"""Columns in and out: NumPy, Arrow, pandas and polars, their types, and whole tables of them."""
