"""Medians, quantiles and the distance of quartiles."""
