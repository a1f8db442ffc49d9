"""Whole data sets: densities one can draw from, released by the mechanisms of 002 section 6."""
