"""A regression by its method's name, or the one that suits a public design, and why in words. No row is read.

    method          columns   bounds   delta   what it is
    theil_sen       1         -        -       median slope of random pairs
    tukey           1 to 8    -        -       deep point of block coefficients
    block_medians   1 to 8    -        -       medians of block coefficients
    adassp          1 to 8    all      may     noisy sums of products
    over_beta       1 or 2    -        -       the exponential mechanism over coefficients, by R_H's distance
    R_S, R_H        1 to 8    -        yes     003's, by propose-test-release

``auto`` takes Theil-Sen for one column and the deep point for more: they are the most accurate measured without bounds
(docs/reference/benchmarks-regression.md). Where rows are too few to outweigh the public prior it takes AdaSSP, if all
columns have bounds, and refuses else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, Protocol, TypeAlias, assert_never

import numpy as np

from reticent.data.candidates import Cells, prior
from reticent.entropy import Entropy, Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.statistics.regression.adassp import AdaSSP
from reticent.statistics.regression.block_medians import BlockMedians, block_medians
from reticent.statistics.regression.coefficients import Blank, Coefficients, RegressionDesign
from reticent.statistics.regression.exponential import CoefficientAxis, ExponentialRegression
from reticent.statistics.regression.ptr_step import by_test
from reticent.statistics.regression.rows import LARGEST_X, Integers
from reticent.statistics.regression.theil_sen import TheilSen
from reticent.statistics.regression.tukey import tukey
from reticent.statistics.robust.assumed_laws import Shape, made_up
from reticent.statistics.robust.ptr_test import Mode
from reticent.statistics.unbounded.column_counts import ColumnTerms

Method: TypeAlias = Literal["auto", "R_S", "R_H", "theil_sen", "block_medians", "tukey", "adassp", "over_beta"]
Bounds: TypeAlias = tuple[Fraction, Fraction]

ESTIMANDS: Final[Mapping[Method, str]] = {
    "R_S": "medians of the coefficients of random blocks of rows",
    "R_H": "coefficients with the least sum of errors, each divided by the length of its row",
    "theil_sen": "median of the slopes of random pairs of rows, and the median of what it leaves",
    "block_medians": "medians of the coefficients of random blocks of rows",
    "tukey": "deepest point among the coefficients of random blocks of rows",
    "adassp": "least-squares coefficients, every number cut to its bounds",
    "over_beta": "coefficients with the least sum of errors, each divided by the length of its row",
}

CELLS: Final[Cells] = prior()
FINE_Y: Final = 1 << 24  # steps of y up to its bound
TABLES: Final = 20


class RegressionResult(Protocol):
    """Plan of any method: a public design, a guarantee and a draw of coefficients."""

    @property
    def design(self) -> RegressionDesign: ...

    @property
    def guarantee(self) -> Guarantee: ...

    def draw(self, table: Integers, entropy: Entropy) -> Outcome[Coefficients]: ...


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """A plan, the name of its method, and why it is this one.

    Guarantee
    ---------
    That of the plan, known before rows are read; within the epsilon and delta it was asked for.
    """

    method: Method
    plan: RegressionResult
    why: str

    @property
    def design(self) -> RegressionDesign:
        """The columns, their units and the neighbours: what to ask ``Records`` for."""
        return self.plan.design

    @property
    def guarantee(self) -> Guarantee:
        return self.plan.guarantee

    @property
    def estimand(self) -> str:
        """The line that this method estimates."""
        return ESTIMANDS[self.method]

    def draw(self, table: Integers, entropy: Entropy) -> Outcome[Coefficients]:
        """From rows of shape (n, 1 + columns), y first, on the design's units; see ``coefficients``."""
        return self.plan.draw(table, entropy)


@dataclass(frozen=True, slots=True)
class RegressionOptions:
    """Options of single methods; None leaves the choice to the design.

    Attributes
    ----------
    blocks : int or None
        Public number of blocks of R_S, R_H, block medians and tukey.
    rounds : int or None
        How often rows are dealt out, for theil_sen, block_medians and tukey.
    exponent : Fraction or None
        Exponent of n in R_H's sides.
    axes : tuple of Axis
        The grid of over_beta in steps; empty to have it placed for half of epsilon.
    """

    blocks: int | None = None
    rounds: int | None = None
    exponent: Fraction | None = None
    axes: tuple[CoefficientAxis, ...] = ()


def plan(
    method: Method,
    *,
    columns: tuple[str, tuple[str, ...]],
    terms: ColumnTerms,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    n: int | None = None,
    units: Sequence[Fraction | None] = (),
    bounds: Sequence[Bounds | None] = (),
    mode: Mode = "exact",
    intercept: bool = True,
    blank: Blank = "marked",
    options: RegressionOptions | None = None,
) -> PlanChoice:
    """The plan of a regression of one column on others.

    Parameters
    ----------
    method : str
        One of the table above, or "auto".
    columns : (str, tuple of str)
        y, and the columns it is regressed on.
    terms : Terms
        Neighbours; the number of rows where it is public.
    epsilon, delta : Fraction
        Of all of it. A delta is spent by R_S, R_H and adassp only.
    n : int or None
        A declared or bought number of rows, where ``terms`` has none.
    units, bounds : sequence, y first
        For each column what one step is worth, or its public bounds, of which a unit is made.
    mode : "exact" | "paper"
        For R_S and R_H.
    intercept : bool
        True if a constant is fitted too.
    blank : Blank
        Treatment of a cell without a value: "marked", or rows without one are left out.
    options : RegressionOptions

    Returns
    -------
    PlanChoice
        The plan, with the reason for the method.

    Raises
    ------
    QuestionError, PublicParameterError
        Before rows are read: what has to be declared, and where a method cannot answer.
    """
    positive(epsilon, "epsilon")
    (y, xs), chosen = columns, options or RegressionOptions()
    names = (y, *xs)
    known = tuple(bounds) or (None,) * len(names)
    size = terms.values if terms.values is not None else n
    if size is None:
        raise QuestionError(
            "rows go into a public number of blocks, which needs a public or declared number of rows. "
            "Declare people in the study file. Nothing was charged."
        )
    design = RegressionDesign(y, xs, units_of(names, units, known), terms, size, intercept, blank)
    budget = _Budget(epsilon, delta, tuple(pair for pair in known if pair is not None), mode, chosen)
    if method == "auto":
        return _auto(design, budget)
    return PlanChoice(method, _made(method, design, budget), f"{method} was asked for")


@dataclass(frozen=True, slots=True)
class _Budget:
    epsilon: Fraction
    delta: Fraction
    bounds: tuple[Bounds, ...]
    mode: Mode
    options: RegressionOptions


def _auto(design: RegressionDesign, budget: _Budget) -> PlanChoice:
    bounded = len(budget.bounds) == len(design.units)
    first: Method = "theil_sen" if len(design.xs) == 1 and design.intercept else "tukey"
    what = "the median slope of random pairs" if first == "theil_sen" else "a deep point of block coefficients"
    try:
        made = _made(first, design, budget)
        return PlanChoice(first, made, f"auto: {what}, the most accurate measured for this design; it needs no bounds")
    except QuestionError:
        if not bounded:
            raise QuestionError(
                f"a regression at this ε would be a guess: {design.size:,} rows are too few to outweigh the public "
                "prior. A larger ε, more rows, or public bounds of every column (for AdaSSP) would do. "
                "Nothing was charged."
            ) from None
    why = "auto: rows are too few to outweigh the public prior, and every column has bounds: AdaSSP"
    return PlanChoice("adassp", _made("adassp", design, budget), why)


def _made(
    method: Literal["auto", "R_S", "R_H", "theil_sen", "block_medians", "tukey", "adassp", "over_beta"],
    design: RegressionDesign,
    budget: _Budget,
) -> RegressionResult:
    options, epsilon = budget.options, budget.epsilon
    match method:
        case "theil_sen":
            if not design.intercept:
                raise QuestionError(
                    "theil_sen compares rows with each other, which takes an intercept for granted. For a line through "
                    "0 take tukey, block_medians or over_beta. Nothing was charged."
                )
            return TheilSen(design, CELLS, epsilon, *(() if options.rounds is None else (options.rounds,)))
        case "block_medians" | "tukey":
            return _medians(method, design, epsilon, options)
        case "adassp":
            if len(budget.bounds) < len(design.units):
                raise QuestionError(
                    "adassp needs public bounds of every column. Declare low and high in the study file, or take "
                    "theil_sen or tukey, which need none. Nothing was charged."
                )
            return AdaSSP(design, budget.bounds, epsilon, budget.delta)
        case "over_beta":
            if options.axes:
                return ExponentialRegression(design, epsilon, options.axes)
            return ExponentialRegression(design, epsilon, first=block_medians(design, CELLS, epsilon / 2))
        case "R_S" | "R_H":
            return by_test(
                design,
                method,
                epsilon=epsilon,
                delta=budget.delta,
                mode=budget.mode,
                blocks=options.blocks,
                exponent=options.exponent,
            )
        case "auto":
            raise PublicParameterError("auto chooses one of the others")
        case _:
            assert_never(method)


def _medians(
    method: Literal["block_medians", "tukey"], design: RegressionDesign, epsilon: Fraction, options: RegressionOptions
) -> BlockMedians:
    build: Callable[..., BlockMedians] = tukey if method == "tukey" else block_medians
    rounds = {} if options.rounds is None else {"rounds": options.rounds}
    made = build(design, CELLS, epsilon, **rounds)
    if options.blocks is None:
        return made
    return BlockMedians(design, CELLS, epsilon, options.blocks, made.rounds, made.law)


def units_of(
    names: Sequence[str], units: Sequence[Fraction | None], bounds: Sequence[Bounds | None]
) -> tuple[Fraction, ...]:
    """Size of one step of each column: its named unit, or else a power of two made of its bounds.

    The columns on the right reach to 2^15 steps, y to 2^24.

    Parameters
    ----------
    names : sequence of str
        Columns, y first.
    units : sequence of Fraction or None
        Named steps, in the units of the columns.
    bounds : sequence of pairs, or None
        In the units of the columns.

    Returns
    -------
    tuple of Fraction

    Raises
    ------
    QuestionError
        For a column with neither.
    """
    named = tuple(units) or (None,) * len(names)
    if len(named) != len(names) or len(bounds) != len(names):
        raise PublicParameterError("units and bounds have one entry for each column, y first")
    found = []
    for place, (name, unit, pair) in enumerate(zip(names, named, bounds, strict=True)):
        if unit is not None:
            found.append(positive(unit, f"the unit of {name}"))
        elif pair is not None:
            found.append(_power_of_two_above(max(abs(pair[0]), abs(pair[1])) / (FINE_Y if place == 0 else LARGEST_X)))
        else:
            raise QuestionError(
                f"a regression counts {name} in steps of a public size. Name a unit, for example unit=0.01, or "
                "declare low and high. Nothing was charged."
            )
    return tuple(found)


def _power_of_two_above(width: Fraction) -> Fraction:
    exponent = width.numerator.bit_length() - width.denominator.bit_length()
    unit = Fraction(2) ** (exponent - 1)
    while unit < width:
        unit *= 2
    return unit


def reply_probability(chosen: RegressionResult, shape: Shape, *, tables: int = TABLES) -> float:
    """Share of made-up tables on which a plan replies: normal columns, errors of ``shape``. No file is read.

    Parameters
    ----------
    chosen : plan of a regression
    shape : name of a law
        Of the errors.
    tables : int
        Number of made-up tables.

    Returns
    -------
    float
        In [0, 1].

    Accuracy
    --------
    A share of ``tables`` draws: standard error at most 1 / (2 sqrt(tables)). No guarantee depends on it.
    """
    replies = 0
    for key in range(tables):
        table = made_up_rows(chosen.design, shape, key)
        replies += isinstance(chosen.draw(table, Replayed(f"made up {shape} {key}")), Reply)
    return replies / tables


def made_up_rows(design: RegressionDesign, shape: Shape, key: int, *, steps: tuple[float, ...] = ()) -> Integers:
    """Rows of a public shape: columns of as many steps a standard deviation, y first, 2^10 by default; slopes alike.

    Parameters
    ----------
    design : RegressionDesign
        Names, units and public size of the regression.
    shape : Shape
        Law of the columns.
    key : int
        Number of the table; the same key gives the same rows.
    steps : tuple of float
        Steps of a standard deviation of each column, y first; empty for 1,024 each.

    Returns
    -------
    array of int
        Rows in steps, shape (n, columns), y first.
    """
    xs = [unit_values("normal", design.size, 97 * key + place) for place in range(len(design.xs))]
    y = sum(xs, np.zeros(design.size)) + unit_values(shape, design.size, 97 * key + 96)
    wide = np.array(steps or (1024.0,) * len(design.units))
    found: Integers = np.rint(np.clip(np.column_stack([y, *xs]) * wide, -(2.0**40), 2.0**40)).astype(np.int64)
    return found


def unit_values(shape: Shape, n: int, key: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """n made-up values in units of their shape, around 0, in an order that says nothing.

    Parameters
    ----------
    shape : name of a law
    n : int
        Number of values.
    key : int
        Names the public stream.

    Returns
    -------
    array of shape (n,), float
    """
    values = np.asarray(made_up(shape, n, key).table.values, np.float64)
    values = (values - np.median(values)) / (1 << 24)
    order = np.argsort(Replayed(f"order {shape} {key}").words(n), kind="stable")
    return np.asarray(values[order])
