"""Statistics without bounds: joint quantiles, spread, clipped mean, Huber's location, trimmed mean, CoinPress.

Pure functions of the counts by cell that ``Ranks`` answers. Each is a frozen value of public numbers with a
``guarantee`` and a ``draw(data, entropy)``. Which to use when: docs/theory/unbounded.md.
"""
