"""Statistics of a sample beyond its spread: weighted means, shape, and least squares."""
