"""Logistic regression of a yes-no truth on covariates, from randomized answers.

With F the logistic function, P(yes heard | x) = d + (c - d) F(x . b), c and d the chances of a yes heard for a true yes
and no. The likelihood is that of the reported answers. Standard errors use the expected Fisher information, with
weights (c - d)^2 F^2 (1 - F)^2 / (s (1 - s)), s the chance of the report (docs/proofs/local.md, 6; Maddala 1983, van
den Hout and van der Heijden 2002).

Covariates travel in the clear: the guarantee covers the answer alone. A covariate that names people, or that is itself
sensitive, must not be collected this way. Whoever knows a respondent's covariates learns the model's prediction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError, door
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.survey import variance
from reticent.survey.design_record import DesignRecord, chances

STEPS = 200
FAR = 12.0  # a coefficient times the spread of its covariate beyond this: the likelihood has no maximum


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient on the scale of log odds, its standard error and interval."""

    name: str
    value: float
    error: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted model; the first coefficient is the intercept."""

    coefficients: tuple[Coefficient, ...]
    answers: int
    left_out: int
    level: float

    def __getitem__(self, name: str) -> Coefficient:
        for one in self.coefficients:
            if one.name == name:
                return one
        raise PublicParameterError(f"there is no coefficient {name!r}")

    def __str__(self) -> str:
        lines = [
            f"{one.name}: {one.value:.3g} ({100 * self.level:g} % {one.low:.3g} to {one.high:.3g})"
            for one in self.coefficients
        ]
        lines.append(
            f"Log odds, from {self.answers:,} randomized answers ({self.left_out:,} left out). Covariates were not "
            "randomized: the guarantee covers the answers alone."
        )
        return "\n".join(lines)


@door
def logistic(
    design: DesignRecord,
    answers: Sequence[object] | NDArray[np.generic],
    covariates: NDArray[np.float64],
    *,
    names: Sequence[str] = (),
    level: float = 0.95,
) -> Fit:
    """Coefficients of a logistic model of the truth, by maximum likelihood corrected for the coins.

    Parameters
    ----------
    design : DesignRecord
        A yes-no design.
    answers : sequence of "yes" and "no", shape (n,)
        Anything else is left out, with its covariates, and counted.
    covariates : array of shape (n, p)
        In the clear; without a column of ones.
    names : sequence of str, length p
        By default x1, x2, ...
    level : float
        Coverage of the intervals, in (0, 1).

    Returns
    -------
    Fit
        The intercept and p coefficients in log odds per unit of their covariates, with standard errors and intervals.

    Raises
    ------
    PublicParameterError
        For shapes that do not fit, and covariates that are not finite or have less than full rank. If the likelihood
        has no maximum at finite coefficients.
    """
    if not isinstance(design.mechanism, RandomizedResponse | OneSided):
        raise PublicParameterError("logistic regression is for yes-no designs")
    matrix, heard, left_out = _read(answers, covariates)
    named = ["intercept", *(names or [f"x{place}" for place in range(1, matrix.shape[1])])]
    if len(named) != matrix.shape[1]:
        raise PublicParameterError(f"{matrix.shape[1] - 1} covariates need as many names")
    middle, spread = matrix[:, 1:].mean(axis=0), matrix[:, 1:].std(axis=0)
    if (spread == 0).any():
        raise PublicParameterError("a covariate that is the same for everybody explains nothing")
    scaled = np.column_stack([np.ones(len(matrix)), (matrix[:, 1:] - middle) / spread])
    if np.linalg.matrix_rank(scaled) < scaled.shape[1]:
        raise PublicParameterError("the covariates do not have full rank: one is a combination of others")
    hit, miss = (float(chance) for chance in chances(design))
    at = _maximum(scaled, heard, hit, miss)
    inverse = np.linalg.inv(information(scaled, at, hit, miss))
    back = np.diag(np.concatenate([[1.0], 1 / spread]))
    back[0, 1:] = -middle / spread
    values, errors = back @ at, np.sqrt(np.diag(back @ inverse @ back.T))
    z = variance.quantile(level)
    found = tuple(
        Coefficient(name, float(value), float(error), float(value - z * error), float(value + z * error))
        for name, value, error in zip(named, values, errors, strict=True)
    )
    return Fit(found, len(heard), left_out, level)


def _read(
    answers: Sequence[object] | NDArray[np.generic], covariates: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], int]:
    matrix = np.asarray(covariates, np.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    told = np.array([str(answer) for answer in answers])
    if matrix.ndim != 2 or len(matrix) != len(told):
        raise PublicParameterError("covariates have one row for each answer")
    kept = (told == "yes") | (told == "no")
    matrix = matrix[kept]
    if not np.isfinite(matrix).all():
        raise PublicParameterError("covariates are finite numbers")
    if len(matrix) <= matrix.shape[1] + 1:
        raise PublicParameterError("fewer answers than coefficients")
    return np.column_stack([np.ones(len(matrix)), matrix]), told[kept] == "yes", int((~kept).sum())


def chance_heard(matrix: NDArray[np.float64], at: NDArray[np.float64], hit: float, miss: float) -> NDArray[np.float64]:
    """P(yes heard) for each row.

    Parameters
    ----------
    matrix : array of shape (n, p)
        Covariates.
    at : array of shape (p,)
        Coefficients.
    hit, miss : float
        P(yes heard) for a truth of yes, and of no.

    Returns
    -------
    array of shape (n,)
    """
    return np.asarray(miss + (hit - miss) * _logistic(matrix @ at))


def information(matrix: NDArray[np.float64], at: NDArray[np.float64], hit: float, miss: float) -> NDArray[np.float64]:
    """The expected information of what was heard.

    Parameters
    ----------
    matrix : array of shape (n, p)
        Covariates.
    at : array of shape (p,)
        Coefficients.
    hit, miss : float
        P(yes heard) for a truth of yes, and of no.

    Returns
    -------
    array of shape (p, p)
    """
    true = _logistic(matrix @ at)
    heard = np.clip(miss + (hit - miss) * true, 1e-12, 1 - 1e-12)
    weight = ((hit - miss) * true * (1 - true)) ** 2 / (heard * (1 - heard))
    return np.asarray((matrix * weight[:, None]).T @ matrix)


def _logistic(number: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import expit

    return np.asarray(expit(number))


def _maximum(matrix: NDArray[np.float64], yes: NDArray[np.bool_], hit: float, miss: float) -> NDArray[np.float64]:
    from scipy.optimize import minimize

    def cost(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        true = _logistic(matrix @ at)
        heard = np.clip(miss + (hit - miss) * true, 1e-300, 1 - 1e-16)
        value = -float(np.where(yes, np.log(heard), np.log1p(-heard)).mean())
        score = np.where(yes, 1 / heard, -1 / (1 - heard)) * (hit - miss) * true * (1 - true)
        return value, -(matrix.T @ score) / len(matrix)

    share = min(max((float(yes.mean()) - miss) / (hit - miss), 0.02), 0.98)
    start = np.zeros(matrix.shape[1])
    start[0] = math.log(share / (1 - share))
    done = minimize(cost, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": STEPS})
    at = np.asarray(done.x, np.float64)
    if not np.isfinite(at).all() or np.abs(at).max() > FAR or np.abs(cost(at)[1]).max() > 1e-5:
        raise PublicParameterError(
            "the likelihood has no maximum at finite coefficients: too few answers for so many covariates, or a true "
            "share near 0 or 1"
        )
    return at
