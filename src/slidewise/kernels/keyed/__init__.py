"""Passes over the windows of many keys that stay in memory from one call to the next.

`memory` has the arrays, which grow without being copied, and how compiled code reads them by address; `rows` lets rows
come and go; `source` is DABA Lite for all keys in one loop, woven for each operator. `placing` puts rows that may be
revised in their places, and `revisions` finds what they change; `history_layout` says how these lie.
"""
