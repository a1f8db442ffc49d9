"""Statistics of weighted rows, for samples of a population."""
