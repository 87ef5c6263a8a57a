"""`push_many`: batches of events.

`push_many` chooses between the kernels and one event after the other, `push_buffered` is for events that wait. Both
read the batch as an `incoming` one, `filtering` takes out what is set aside, and `evaluate` runs the engine.
"""
