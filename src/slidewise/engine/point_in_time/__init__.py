"""Answers at other times than the events' own: which columns of labels ask, and the windows that end at them."""
