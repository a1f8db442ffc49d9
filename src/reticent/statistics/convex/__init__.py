"""Convex losses of a score and a target, and the least points of their sums.

    losses      losses by name: slopes, curvatures, the bounds of both
    tabled      the same of a slope that the caller names
    descent     noisy gradient descent
    minimum     a least point in doubles, certified; slowly: in rationals, which always ends
    erm         objective and output perturbation, and which of these or the descent
    intervals   intervals about a point from a noisy gradient and a noisy curvature

Proofs: docs/proofs/learning.md.
"""
