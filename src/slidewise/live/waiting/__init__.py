"""Events that wait for the watermark: in the `reorder_buffer`, batches of them as tables, and how panes answer `peers`.

Where windows lie in arrays, `live.native.waiting` takes in what is due.
"""
