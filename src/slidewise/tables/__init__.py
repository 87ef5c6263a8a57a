"""Definitions over tables in memory: pyarrow.Table, pandas and polars DataFrames."""
