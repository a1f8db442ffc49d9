"""Every exact sampler, by name. Nothing here trusts a float; proofs and limits are in ``docs/proofs/sampling.md``.

uniform, bernoulli, bernoulli_exp            coins                     (``coins.py``)
discrete_laplace, discrete_gaussian          arrays of noise           (``laplace.py``, ``gaussian.py``)
one_discrete_laplace, one_discrete_gaussian  one value, any size       (the same)
categorical, categorical_scores              a choice among many       (``categorical.py``)
permute_and_flip                             its more accurate sister  (the same)
"""

from __future__ import annotations

from reticent.exact.categorical import categorical, categorical_scores, permute_and_flip
from reticent.exact.coins import bernoulli, bernoulli_exp, uniform
from reticent.exact.gaussian import discrete_gaussian, one_discrete_gaussian
from reticent.exact.laplace import discrete_laplace, one_discrete_laplace

__all__ = [
    "bernoulli",
    "bernoulli_exp",
    "categorical",
    "categorical_scores",
    "discrete_gaussian",
    "discrete_laplace",
    "one_discrete_gaussian",
    "one_discrete_laplace",
    "permute_and_flip",
    "uniform",
]
