"""Regression by Propose-Test-Release (003 section 7) on integer rows, without bounds.

    rows       rows as integers, weights, the objective in exact arithmetic
    cells      p + 1 lattices of boxes, the pieces of their facets and the points inside them: public geometry
    lines      p <= 2: the set of solutions and the distance to tables whose solutions leave a cell, exactly
    rays       p = 2: the ray test, a lower bound that is a sum over rows
    minimum    the least value on a box, certified by integers whoever proposed it
    lower      every p: a lower bound of the distance that one row moves by at most one
    blocks     rows into public blocks by coins that do not look, and the exact coefficients of each
    short_cut  R_S: a private median of every coefficient
    robust     R_H: a solution with noise in proportion to a private scale

Proofs: docs/proofs/regression.md; words and figures: docs/theory/regression.md.
"""
