"""Panes: the state of one window under one key, fed row by row.

`pane` is their interface and says which kind a window has: `row_pane` keeps rows, `cell_pane` cells of a grain,
`shared_pane` the rows of several windows once, and `engine.running_pane` only states. Each can take back what has come
since `begin`, so that an event is taken in by all panes of its key or by none.
"""
