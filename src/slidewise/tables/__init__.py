"""Adapters for the series and tables that users have: NumPy, Arrow, pandas, polars."""
