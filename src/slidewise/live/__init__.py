"""Definitions at work on single events and batches of them, with state that survives.

`live` feeds events one by one; `revising` answers late ones and revises, `beats` answers on a beat. `panes` are the
windows of a key, `batch` is `push_many`, `snapshot` all state as bytes. Events that wait stand in the `reorder_buffer`,
those that are not taken in are `set_aside`.
"""
