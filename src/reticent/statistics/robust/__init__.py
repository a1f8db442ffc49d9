"""Robust statistics without bounds by Propose-Test-Release (003): scale, median, trimmed mean of one column.

    scale         the statistics that people ask for; trimmed_mean and location beside it
    robust_step   from a question to a step: its grid, its n, its split of epsilon and delta
    plans         for a public number of values, for a bought one, and with a unit that is bought too
    ptr_test      the test every one of them shares: an integer distance, its noise, its threshold, its true delta
    assumed_laws  the probability of a reply for a public shape and n, never for the file
    reach         widths of two quantiles: logarithmic cells and bins, and what k changes can reach
    scale_ptr     S: distance of two quantiles on a logarithmic grid; the stable bin that certifies it
    median        M: an order statistic, with a scale given or asked first; the distance that needs no bins
    trimmed_ptr   the trimmed mean behind the stable bin
    answers       from what the test lets out to an estimate with its interval

    density_test        a private test of the density at the median
    smooth_sensitivity  median and trimmed mean that always reply, inside public bounds

Values are integers on a public grid. Everything that decides a reply is integer arithmetic. Proofs:
docs/proofs/robust.md; words and figures: docs/theory/robust.md.
"""
