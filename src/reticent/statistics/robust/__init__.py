"""Robust statistics without bounds by Propose-Test-Release (003): scale, median, trimmed mean of one column.

    order_statistics  what a statistic may ask of a column: order statistics, counts below, sums between ranks
    ptr_test  the test every one of them shares: an integer distance, its noise, its threshold, its true delta
    assumed_laws  the probability of a reply for a public shape and n, never for the file
    reach     widths of two quantiles: logarithmic cells and bins, and what k changes can reach
    scale_ptr  S: distance of two quantiles on a logarithmic grid; the stable bin that certifies it
    median    M: an order statistic, with a scale given or asked first; the distance that needs no bins
    trimmed_ptr  the trimmed mean behind the stable bin

Values are integers on a public grid. Everything that decides a reply is integer arithmetic. Proofs:
docs/proofs/robust.md; words and figures: docs/theory/robust.md.
"""
