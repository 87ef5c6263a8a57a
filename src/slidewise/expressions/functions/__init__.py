"""Functions of expressions, a family in each file: what they take, and what they do to arrays and to single values.

`catalogue` has them all by name.
"""
