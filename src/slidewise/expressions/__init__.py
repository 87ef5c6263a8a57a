"""Expressions: arithmetic and conditions over columns, constants and aggregates, as plain data.

`expression` has the nodes that users write in Python, `parsing` reads them from text and `writing` gives the text back.
Each function describes itself in `functions/`: what it takes, and what it does to Arrow arrays and to single values.
`type_inference` finds types before anything runs, `over_arrays` evaluates whole columns, and `over_rows` single events.
"""
