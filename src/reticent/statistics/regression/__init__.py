"""Regression by Propose-Test-Release (003 section 7) on integer rows, without bounds."""
