"""Code generation: an operator's functions and the fields of its state woven into loops."""
