"""Regression: least squares of bounded columns; without bounds 003's (section 7), on integer rows, and successors.

    squares        least squares: sums, coefficients, intervals
    squares_step   the same as a question of a release
    frame          columns as integers: numbers between bounds, categories by key
    products       noisy sums of products, by cells or one by one; sums: what each noise adds to each
    engine         the way of a model, by public numbers; point and prediction are two of them
    sandwich       intervals where errors spread unequally
    least_squares  a ridge where noise hides a coefficient

    coefficients   what a plan is told beforehand, and what it gives: coefficients with intervals
    regress        the question; regression_step: its step
    plans          a plan by its method's name, or the one that suits, and why; without bounds

    rows           rows as integers, weights, the objective in exact arithmetic
    blocks         rows into public blocks by coins that do not look, and the exact coefficients of each

    r_s              R_S: a private median of every coefficient
    robust           R_H: a solution with noise in proportion to a private scale
    ptr_step         both as plans, with intervals
    candidates       p + 1 lattices of boxes, the pieces of their facets and the points inside them: public geometry
    lines            p <= 2: the set of solutions and the distance to tables whose solutions leave a cell, exactly
    projections      p = 2: the ray test, a lower bound that is a sum over rows
    subset_minimum   the least value on a box, certified by integers whoever proposed it
    distance_bounds  every p: a lower bound of the distance that one row moves by at most one

    tukey_point    private medians of columns of records, with intervals
    depth          one point of great depth in place of a median of each column
    theil_sen      the median slope of random pairs
    block_medians  medians of the coefficients of blocks, any p
    tukey          a deep point of the coefficients of blocks
    adassp         AdaSSP, where bounds exist
    exponential    the exponential mechanism over coefficients, by R_H's distance

Proofs: docs/proofs/regression.md; words and figures: docs/theory/regression.md.
"""
