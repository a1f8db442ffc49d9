"""Convex losses of a score and a target, and the least points of their sums.

    losses                  losses by name: slopes, curvatures, the bounds of both
    tabulated_loss          the same of a slope that the caller names
    descent                 noisy gradient descent
    newton                  a least point in doubles, certified
    exact_solver            the same in rationals, which always ends: for what doubles could not certify
    objective_perturbation  objective and output perturbation, and which of these or the descent
    intervals               intervals about a point from a noisy gradient and a noisy curvature

Proofs: docs/proofs/learning.md.
"""
