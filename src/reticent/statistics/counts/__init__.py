"""Counts, persons, sums, histograms, and the shares of capped persons and incomplete rows."""
