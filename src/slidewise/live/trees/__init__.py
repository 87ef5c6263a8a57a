"""One key where answers are revised and arrays do not hold it: its rows, their trees, and changes of them."""
