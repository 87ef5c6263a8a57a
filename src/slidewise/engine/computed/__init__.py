"""What expressions compute in a lane: arguments of aggregates before them, and results of their answers behind them.

`columns` does it for batches, `values` for single events.
"""
