"""The paper's experiments, run again: `slidewise bench paper`."""
