"""The functions people call to ask: numbers as they are written, read into the exact values of ``asked``.

mean("mdvis")    quantile("x", 0.9)    scale("x", method="S", mode="paper")    regress("y ~ a + b", method="R_H")
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from reticent.data.query import Per
from reticent.data.schema import Key
from reticent.errors import QuestionError
from reticent.privacy.numbers import Number, read
from reticent.statistics.density import (
    DensityOf,
    Growth,
    OfDensity,
    Private,
    Settled,
    atoms_of,
    columns_of,
    detail_of,
    size_of,
    whole,
    width_of,
)
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest, OfTest
from reticent.statistics.limits import around_of
from reticent.statistics.removed import question_alone
from reticent.statistics.specs import (
    QUARTILES,
    Count,
    Histogram,
    Iqr,
    Location,
    Mean,
    Mode,
    OfIqr,
    OfMean,
    OfQuantiles,
    OfRegression,
    OfScale,
    OfTrimmed,
    People,
    Proportion,
    Quantiles,
    Regression,
    Scale,
    Sum,
    Tested,
    TrimmedMean,
    Variance,
    robust_regression,
)
from reticent.statistics.unbounded.tails import read_tail


def _read(number: Number | None, name: str) -> Fraction | None:
    return None if number is None else read(number, name)


def count(*, epsilon: Number | None = None) -> Count:
    """The number of rows, at most the cap for each person.

    Parameters
    ----------
    epsilon : number, optional
        A share of its own; without it, an equal part of what the release has left.

    Returns
    -------
    Count
        A question; ``study.release([count()], epsilon=…)`` answers it. It always replies.
    """
    return Count(epsilon=_read(epsilon, "epsilon"))


def persons(*, epsilon: Number | None = None) -> People:
    """The number of distinct persons."""
    return People(epsilon=_read(epsilon, "epsilon"))


def sum(  # noqa: A001 - the public word; used as reticent.sum
    column: str,
    *,
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
) -> Sum:
    """The sum of a bounded column over persons; values outside the bounds count as the nearer one."""
    return Sum(column, low=_read(low, "low"), high=_read(high, "high"), epsilon=_read(epsilon, "epsilon"))


def mean(
    column: str,
    *,
    method: OfMean = "auto",
    tail: Number | None = None,
    centre: Number | None = None,
    radius: Number | None = None,
    deviation: Number | None = None,
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
    delta: Number | None = None,
) -> Mean:
    """The mean of a column with its 95 % interval, with bounds or without.

    Parameters
    ----------
    column : str
    method : "auto", "bounded", "clipped" or "coinpress"
        "bounded", which "auto" means, needs bounds. "clipped" needs none: it cuts values where the data reach, says
        where, and estimates the mean of what was cut. "coinpress" needs a rough centre, radius, deviation and a delta.
    tail : "normal" or number, optional
        For "clipped", vouched for: tails no heavier than normal, or falling at least like distance^-tail, tail > 1.
        The mean of all values is then estimated, unless a noisy count of values far out refutes it.
    centre, radius, deviation : number, optional
        For "coinpress", known without the file: the mean is within radius of centre, and the standard deviation at most
        deviation. The radius may be very generous.
    per : "row" or "person"
        "person" averages the rows of each person first, so that every person weighs the same.
    low, high : number, optional
        Bounds for this question, known without the file; by default those of the study.
    epsilon : number, optional
        A share of its own.
    interval : bool
        False spends everything on the value; the interval then covers the noise alone. Not for "clipped", "coinpress".
    delta : number, optional
        For "coinpress": a share of its own; by default an equal part of what the release offers.

    Returns
    -------
    Mean
        A question. It gives no reply where the noisy number of values is too small for a mean.
    """
    return Mean(
        column,
        method=method,
        tail=read_tail(tail),
        around=around_of(centre, radius, deviation),
        delta=_read(delta, "delta"),
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
    )


def proportion(column: str, *, value: Key | None = None, epsilon: Number | None = None) -> Proportion:
    """The share of ``value`` in a category; by default of True, 1 or "yes", where the category has one of them."""
    return Proportion(column, value=value, epsilon=_read(epsilon, "epsilon"))


def variance(
    column: str,
    *,
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
) -> Variance:
    """The variance of a bounded column with its 95 % interval."""
    return Variance(
        column,
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
    )


def sd(
    column: str,
    *,
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
) -> Variance:
    """The standard deviation of a bounded column with its 95 % interval."""
    asked = variance(column, per=per, low=low, high=high, epsilon=epsilon, interval=interval)
    return replace(asked, root=True)


def histogram(column: str, *, edges: Iterable[Number] = (), epsilon: Number | None = None) -> Histogram:
    """Counts between ``edges`` (with the left one, the last with both), else by category or by at most 400 integers."""
    if not isinstance(edges, Iterable) or isinstance(edges, str):
        raise QuestionError("edges is a list of numbers known without looking at the file, such as range(0, 101, 10)")
    return Histogram(column, edges=tuple(read(edge, "edges") for edge in edges), epsilon=_read(epsilon, "epsilon"))


def median(
    column: str,
    *,
    method: OfQuantiles = "auto",
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
    mode: Mode = "exact",
    delta: Number | None = None,
    unit: Number | None = None,
    width: Number | None = None,
) -> Quantiles:
    """The median, with bounds or without; it may give no reply.

    Parameters
    ----------
    column : str
    method : "auto", "separate", "joint", "M" or "smooth"
        "auto" is the exponential mechanism, with delta 0. "M" is 003's, by propose-test-release with a scale of its
        own or with ``width``; "smooth" adds noise in proportion to a smooth sensitivity. Both need a delta.
    per, low, high, epsilon, interval
        As for ``mean``.
    mode : "exact" or "paper"
        For "M": thresholds from delta, or those that 003 prints with the delta they really have.
    delta : number, optional
        A share of its own; by default an equal part of what the release offers.
    unit : number, optional
        Public step on which "M" and "smooth" read values; by default the column's resolution.
    width : number, optional
        For "M": the width proposed, known without the file; by default it is bought.
    """
    return Quantiles(
        column,
        (Fraction(1, 2),),
        verb="median",
        method=method,
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
        tested=_tested(mode, delta, unit, width),
    )


def quantile(
    column: str,
    level: Number,
    *,
    method: OfQuantiles = "auto",
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
    mode: Mode = "exact",
    delta: Number | None = None,
    unit: Number | None = None,
    width: Number | None = None,
) -> Quantiles:
    """The value that a share ``level`` of the rows does not exceed, 0 < level < 1."""
    return Quantiles(
        column,
        (read(level, "level"),),
        verb="quantile",
        method=method,
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
        tested=_tested(mode, delta, unit, width),
    )


def quantiles(
    column: str,
    levels: Sequence[Number],
    *,
    method: OfQuantiles = "auto",
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
    mode: Mode = "exact",
    delta: Number | None = None,
    unit: Number | None = None,
) -> Quantiles:
    """Several quantiles of one column: "joint" draws them together, "separate" shares epsilon equally."""
    if isinstance(levels, str):
        raise QuestionError('levels is a list of numbers, such as ["0.1", "0.5", "0.9"]')
    chosen = tuple(read(level, "levels") for level in levels)
    return Quantiles(
        column,
        chosen,
        method=method,
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
        tested=_tested(mode, delta, unit),
    )


def iqr(
    column: str,
    *,
    method: OfIqr = "auto",
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    interval: bool = True,
    mode: Mode = "exact",
    delta: Number | None = None,
    unit: Number | None = None,
) -> Iqr:
    """The distance between the quartiles, with bounds or without; it may give no reply.

    ``method="S"`` is 003's by propose-test-release, and needs a delta; see ``scale``.
    """
    return Iqr(
        column,
        method=method,
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        interval=interval,
        tested=_tested(mode, delta, unit),
    )


def scale(
    column: str,
    levels: Sequence[Number] = QUARTILES,
    *,
    method: OfScale = "S",
    per: Per = "row",
    epsilon: Number | None = None,
    mode: Mode = "exact",
    delta: Number | None = None,
    unit: Number | None = None,
) -> Scale:
    """S: the distance of two quantiles by propose-test-release, within a factor; it may give no reply.

    Parameters
    ----------
    column : str
    levels : two numbers
        Levels p < q, strictly between 0 and 1; the quartiles by default.
    method : "S" or "stable"
        "S" adds noise to the logarithm; "stable" releases the bin that holds the distance, an upper bound of it.
    mode, delta, unit
        As for ``median``.

    Source
    ------
    003 section 4, algorithm S; Theorem 7.
    """
    chosen = tuple(read(level, "levels") for level in levels)
    if isinstance(levels, str) or len(chosen) != 2:
        raise QuestionError('levels of a scale are two numbers, such as ["0.25", "0.75"]')
    return Scale(
        column,
        levels=(chosen[0], chosen[1]),
        method=method,
        per=per,
        epsilon=_read(epsilon, "epsilon"),
        tested=_tested(mode, delta, unit),
    )


def trimmed_mean(
    column: str,
    trim: Number = Fraction(1, 10),
    *,
    method: OfTrimmed = "auto",
    per: Per = "row",
    epsilon: Number | None = None,
    mode: Mode = "exact",
    delta: Number | None = None,
    unit: Number | None = None,
) -> TrimmedMean:
    """The mean without a share ``trim`` of the values at either end; it may give no reply.

    Parameters
    ----------
    column : str
    trim : number
        Between 0 and 1/2, left out at either end.
    method : "auto", "inverse", "TM" or "smooth"
        "inverse" is an exponential mechanism on rows to change, with delta 0; "TM" is 003's by propose-test-release;
        "smooth" adds noise in proportion to a smooth sensitivity.
    mode, delta, unit
        As for ``median``.
    """
    return TrimmedMean(
        column,
        read(trim, "trim"),
        method=method,
        per=per,
        epsilon=_read(epsilon, "epsilon"),
        tested=_tested(mode, delta, unit),
    )


def location(column: str, bend: Number = 2, *, per: Per = "row", epsilon: Number | None = None) -> Location:
    """Huber's M-estimator of location, with its scale; ``bend`` in units of half the quartile distance."""
    return Location(column, read(bend, "bend"), per=per, epsilon=_read(epsilon, "epsilon"))


@question_alone
def regress(
    formula: str,
    *,
    method: OfRegression | Literal["robust"] = "auto",
    blocks: int | None = None,
    reference: Key | Sequence[Key] = (),
    epsilon: Number | None = None,
    mode: Mode = "exact",
    delta: Number | None = None,
    unit: Number | None = None,
) -> Regression:
    """Coefficients of ``"y ~ a + b"``, with intervals; it may give no reply.

    Parameters
    ----------
    formula : str
        Columns of numbers, and on the right categories; ``"y ~ 0 + a"`` leaves the intercept out.
    method : "auto", "least_squares", "robust", or one of the robust methods
        "auto" is least squares where every number has public bounds, else a robust line; the answer names which.
        "robust" needs no bounds: "R_H" with a ``delta``, else "theil_sen" for one column and "tukey" for more.
        The others are "R_S", "block_medians", "adassp" and "over_beta". "R_S" and "R_H" are 003's.
    blocks : int, optional
        Public number of blocks of rows for "R_S", "R_H" and "block_medians".
    reference : key or keys, optional
        Of categories on the right: from which the coefficients of their other keys are told. By default the first.
    mode, delta, unit
        As for ``median``; ``unit`` is for columns that have neither bounds nor a resolution.
    """
    match = re.fullmatch(r"\s*([^~]+?)\s*~\s*([^~]+?)\s*", formula)
    if match is None:
        raise QuestionError(f"'{formula}' cannot be read. Write for example: regress(\"y ~ a + b\").")
    terms = [term.strip() for term in match.group(2).split("+")]
    constants = [term for term in terms if term in ("0", "1")]
    if len(constants) > 1 or not all(terms):
        raise QuestionError(f"'{formula}' cannot be read: name each column once, and at most one of 0 and 1.")
    on, intercept = tuple(term for term in terms if term not in ("0", "1")), "0" not in constants
    if method == "robust":
        method = robust_regression(len(on), intercept=intercept, delta=delta is not None)
    return Regression(
        match.group(1),
        on,
        method=method,
        intercept=intercept,
        blocks=blocks,
        reference=(reference,) if isinstance(reference, str | int) else tuple(reference),
        epsilon=_read(epsilon, "epsilon"),
        tested=_tested(mode, delta, unit),
    )


@question_alone
def test(
    formula: str,
    *,
    kind: OfTest = "auto",
    among: Sequence[Key] = (),
    value: Key | None = None,
    edges: Sequence[Number] = (),
    centre: Number | None = None,
    deviation: Number | None = None,
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    density: Number | None = None,
) -> HypothesisTest:
    """A test of a hypothesis, with an effect, a p-value that knows the noise, and its power in a plan.

    Parameters
    ----------
    formula : str
        ``"y ~ g"`` compares y between the groups of g, or two columns; ``"y"`` alone is compared with a normal law.
    kind : "auto", "means", "proportions", "independence", "ranks", "correlation", "normal" or "density"
        "auto" is what the declared types of the columns leave.
    among, value : optional
        Public groups of g, where not all declared ones are meant; for "proportions" the value whose share is compared.
    edges : sequence of number, optional
        For "ranks" and "normal": public bins on which y is counted.
    centre, deviation : number, optional
        For "normal": the law meant; by default any normal law.
    low, high, epsilon : number, optional
        Bounds of y for this question, by default those of the study; a share of its own.
    density : number, optional
        For "density": what the density at the median of y, a share for each unit of it, is compared with.
    """
    parts = [part.strip() for part in str(formula).split("~")]
    if not isinstance(formula, str) or len(parts) > 2 or not all(parts):
        raise QuestionError(f"'{formula}' cannot be read. Write for example: test(\"income ~ sex\").")
    return HypothesisTest(
        parts[0],
        parts[1] if len(parts) == 2 else None,
        kind=kind,
        among=tuple(among),
        value=value,
        edges=tuple(read(edge, "edges") for edge in edges),
        centre=_read(centre, "centre"),
        deviation=_read(deviation, "deviation"),
        density=_read(density, "density"),
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
    )


test.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it wherever it is imported


@question_alone
def density(
    columns: str | Sequence[str],
    *,
    method: OfDensity = "auto",
    cells: int | Private | None = None,
    degree: int | Private | None = None,
    bandwidth: Number | Private | None = None,
    iterations: int | None = None,
    size: int | Growth | None = None,
    settle: Settled = "simplex",
    atoms: Sequence[Number] | str | None = None,
    checks: Number = 0,
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> DensityOf:
    """The law of one record as a whole: a density to plot, to ask for any probability, and to draw records from.

    Parameters
    ----------
    columns : str or sequence of str
        One to four numeric columns with public bounds.
    method : str
        "histogram", "sparse", "adaptive", "tree", "ks", "series", "kernel" or "bernstein"; docs/how-to/densities.md
        says when each is best. "auto" chooses a grid privately, for a part of epsilon, and smooths its bars for free.
    cells : int or "auto", optional
        Cells along each column. "auto" has a histogram's chosen privately, for a fifth of epsilon.
    degree : int or "auto", optional
        For "series" the highest frequency, for "bernstein" the degree of the polynomial. "auto" as above.
    bandwidth : number or "auto", optional
        For "kernel" and "bernstein", in shares of the range, at most 1/2. "auto" as above, for "kernel".
    iterations : int, optional; for "bernstein".
    size : int, "root", "two_thirds" or "auto", optional
        For "ks": the number of records of the small data set that comes out; "root" for sqrt(n epsilon), as where it is
        left out, "two_thirds" for n^(2/3), "auto" to have it drawn with the records, at no further epsilon: few for
        records at few values, many for smooth ones.
    settle : "simplex" or "clip"
        How noisy masses become a density; "clip" puts mass on empty cells.
    atoms : "auto", "none" or a sequence of number, "missing" and "auto", optional
        Values that have a mass of their own. "auto", the default of ``method="auto"``, finds them: 0, the ends
        of the bounds and listed ones for nothing, others for a twentieth of epsilon where that is worth it. A list such
        as [0] means these and no others; "missing" gives missing values theirs.
    checks : number
        The share of epsilon, 0 to 0.5, for noisy counts of coarse tables of the records: every column in ten stretches,
        every two columns in five by five. ``good_for`` of made-up rows compares them with these.
    low, high : number, optional
        Bounds of one column for this question; by default those of the study.
    epsilon, delta : number, optional
        A share of its own. With a delta noise is Gaussian where it can be.
    """
    named, (values, missing, seek) = columns_of(columns), atoms_of(atoms)
    return DensityOf(
        named,
        method=method,
        cells=detail_of(cells, "cells"),
        degree=detail_of(degree, "degree"),
        bandwidth=width_of(bandwidth),
        iterations=whole(iterations, "iterations"),
        size=size_of(size),
        settle=settle,
        atoms=values,
        missing=missing,
        seek=seek,
        checks=read(checks, "checks"),
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
        delta=_read(delta, "delta"),
    )


def _tested(mode: Mode, delta: Number | None, unit: Number | None, width: Number | None = None) -> Tested:
    return Tested(mode=mode, delta=_read(delta, "delta"), unit=_read(unit, "unit"), width=_read(width, "width"))
