"""`late="revise"` with the rows of all keys in arrays, for windows and operators that compile.

`plan` says which definitions go over to arrays; `store` has the rows, and `kernels.keyed.history` the passes over them;
`push` and `push_many` read events into them; `events` keeps what else events hold, to give them again; `conversion`
takes a key's rows over from trees and back, and `states` is what all else sees of the keys.
"""
