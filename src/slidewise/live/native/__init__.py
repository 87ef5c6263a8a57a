"""Windows of all keys in arrays, for definitions whose operators compile: what single events and batches run on.

`plan` says which definitions these are and from when on, `store` has the windows, `push` takes in one event and
`push_many` a batch, `conversion` makes panes of a key's windows and back, and `states` lets all else see both alike.
"""
