"""Means, variances, proportions and means of logarithms of bounded columns."""
