"""How rows of many keys that may be revised lie in memory, for the passes of `placing` and `revisions`.

Each key has a home: a stretch of the arena with its rows, sorted by time, then by the columns that order rows of equal
time, then by arrival. A row is a few numbers of 64 bits: its time, the number of its arrival, for which readers it
counts, which of its answers are there, the kinds of its values, its inputs and its answers.
"""

from __future__ import annotations

# Words of a row; behind them come its inputs, other columns that order rows of equal time, and its answers.
TIME, NUMBER, COUNTED, VALID, KINDS, INPUTS = 0, 1, 2, 3, 4, 5
NULL, VALUE, NAN = 0, 1, 2  # kinds of values, in their order

# Words of a home: where its stretch begins, how long it is, the time below which nothing can be revised, the first row
# that can be, the number of rows, the newest time, how many rows there have been, the slot of its windows (-1 for
# none), the first row that is new in this call (-1 for none), how many are, the number of the next row in its windows,
# and the size of the stretch as a power of two.
START, ROOM, HORIZON, REVISABLE, ROWS, NOW, COUNT, SLOT, FIRST_NEW, NEWS, NEXT, POWER = range(12)
HOME = 12

# Numbers of the block. How rows look: words, inputs, the word of the first answer, answers, the kind of times, columns
# that order rows of equal time, readers and specs.
WORDS, N_INPUTS, FIRST_ANSWER, N_ANSWERS, KIND, N_ORDER, N_READERS, N_SPECS = range(8)
# Lengths: whether rows are ever dropped, how late they may be, how old to be revised, how far windows of time reach,
# whether there are any, and how far those of rows do.
RETAINS, LATE_REACH, PRUNE_REACH, REACH, TIMED, NUMBERED_REACH = range(8, 14)
# Of a call: the number of its first row, how much of the arena is in use and how much there is, and how many homes have
# new rows, rows cannot be revised any more, and have room to be told; how many pieces, rows of them, older rows of the
# time of new ones, slots for pieces, and rows that have changed.
FIRST, TAIL, ARENA, N_TOUCHED, N_PRUNED, PRUNED_ROOM, N_PIECES, N_ROWS, N_EXTRAS, N_FRESH, N_CHANGED = range(14, 25)
NUMBERS = 25

# Fields behind the numbers: by rows of a batch, by homes, the arena, what was touched and pruned, free stretches by
# their powers, columns that order; by pieces, and by rows that run; what is known of specs and members, of each spec
# the last new row, and where the rows that run are written to.
STAGED, HOMES, LATE, HEADS, ROW_ARENA, TOUCHED, PRUNED, FREE, ORDER = range(25, 34)
PIECES, ENTRY, FRESH, ROW_AT, ANSWERS, ANSWERED, CHANGED, SPECS, MEMBERS, LASTS, ADDRESSES = range(34, 45)

# Words of a piece of rows that run: its home, the first row, the first one that is answered, the end, the slot, how it
# runs, the number of the next row in its windows, and how many rows before it are of the time of its first new one.
HOME_OF, RUNS_FROM, ANSWERED_FROM, END, SLOT_OF, HOW, NEXT_OF, PEERS = range(8)
PIECE = 8
GOES_ON, APART, REPLACES = 0, 1, 2  # how a piece runs

# Words of a spec: whether places are numbers, how far its window reaches, its reader, and the cuts of rows. Of a
# member: its spec, where its answers lie, which are there, how many rows it needs, how many are held, whether it
# gives floats.
SPEC, MEMBER = 4, 6
LEAST = -(2**63)
