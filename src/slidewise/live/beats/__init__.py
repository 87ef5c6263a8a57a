"""Live definitions that are answered on a beat.

`beat_live` feeds events one by one, `push_many` and `push_buffered` are for batches. `key_state` has a key's slices as
lists, which `slice_arrays` turns into arrays and back.
"""
