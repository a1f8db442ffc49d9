"""Theorems of 003 at finite n: replies and errors on made-up columns, the printed bound beside.

    lab.finite("S", epsilon=1).plot()                   probability of a reply and error against n
    lab.factor_bound(mechanism, n, 0.1, reply)          Theorem 7(d) as the joint statement it has to be
    lab.least_n("7(c)"), lab.least_n("12(c)")           the n from which the proofs' conditions hold

Columns are made up from a public shape with a location and a scale of their own; coins are the system's. Theorems 7, 12
and 17 are statements about n to infinity: what they say at an n is nothing until the conditions of their proofs hold,
which is long after the algorithms work. Source: 003 Theorems 7, 12, 17; words: docs/theory/dwork_lei.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

import numpy as np

from reticent.certificate.render.figure import INK, WIDTH, quiet
from reticent.certificate.render.odds import DASHES, saved
from reticent.data.candidates import cells_of
from reticent.data.order_statistics import SortedColumn, ordered
from reticent.data.query_result import Counts
from reticent.data.schema import real
from reticent.entropy import Entropy, Replayed, system
from reticent.errors import PublicParameterError, QuestionError, Refusal, door
from reticent.lab.influence import law
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import words
from reticent.privacy.numbers import Number, read
from reticent.statistics.quantiles.group_size import GroupSize
from reticent.statistics.robust import assumed_laws
from reticent.statistics.robust import scale_ptr as scale
from reticent.statistics.robust import trimmed_ptr as trimmed
from reticent.statistics.robust.assumed_laws import AssumedTable, made_up
from reticent.statistics.robust.median import MedianPtr, ScaledMedian, level_for, scaled_median
from reticent.statistics.robust.reach import ranks_of
from reticent.statistics.robust.smooth_sensitivity import smooth_median
from reticent.statistics.unbounded.clipping_radii import Choice
from reticent.statistics.unbounded.column_counts import ColumnTerms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Algorithm: TypeAlias = Literal["S", "S as printed", "M", "M as printed", "TM", "smooth median", "default median"]
Theorem: TypeAlias = Literal["7(c)", "12(c)"]
Target: TypeAlias = Literal["width", "median", "trimmed mean"]
Shape: TypeAlias = Literal["normal", "lognormal", "cauchy"]

NEAR: Final = Adjacency("substitute")
SIZES: Final = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
TABLES: Final = 40
ALPHA: Final = Fraction(1, 10)  # left out by the trimmed mean
QUARTILE: Final = 0.6744897501960817  # of a normal population
BOUNDS: Final = 1 << 45  # of the smooth median, in grid steps: a thousand times what any made-up column holds
MARKS: Final = ("o", "s", "^", "D", "x", "v", "P")
ERRORS: Final = 101  # columns an error is the median of, at most


@dataclass(frozen=True, slots=True)
class FinitePoint:
    """One size: P(reply) measured and its standard error, the median error of replies, and what 003 says of no reply.

    ``error`` is the median |error| over that of the estimate without noise, None without a reply, or where public
    numbers refuse the algorithm. ``printed`` is n^(-eps ln n), without the constant the theorem leaves open.
    """

    n: int
    reply: float
    spread: float
    error: float | None
    printed: float


@dataclass(frozen=True, slots=True)
class FiniteCurve:
    """Curves of one algorithm over n.

    Attributes
    ----------
    algorithm : str
    shape : str
    guarantee : Guarantee
        At the largest n: for mode paper delta falls with n.
    at : tuple of FinitePoint
    """

    algorithm: Algorithm
    shape: Shape
    guarantee: Guarantee
    at: tuple[FinitePoint, ...]

    def rows(self) -> tuple[tuple[int, float, float | None, float], ...]:
        """(n, P(reply), error ratio or None, 1 - n^(-eps ln n))."""
        return tuple((one.n, one.reply, one.error, 1 - one.printed) for one in self.at)

    def plot(self) -> Figure:
        """Above the probability of a reply, below the error."""
        return picture([self], title=f"{self.algorithm}, {self.shape}, {words(self.guarantee.loss)}")

    def save(self, path: str | Path) -> None:
        """Write the picture to ``path``, in the format of its ending: .svg, .png or .pdf."""
        saved(self.plot(), path, "finite")


@dataclass(frozen=True, slots=True)
class FactorBound:
    """Theorem 7(d) at one n: the reply comes *and* is within a factor n^alpha of the sample's width.

    Attributes
    ----------
    within : float
        P(within the factor, given a reply): exact, from the noise alone.
    joint : float
        P(reply) times that; the two draws are independent.
    printed : float
        1 - n^(-eps ln n) - 2 n^(-alpha eps ln n), the last line but one of 003's proof, with constants 1.
    """

    within: float
    joint: float
    printed: float


def factor_bound(mechanism: scale.ScalePtr, n: int, alpha: float, reply: float) -> FactorBound:
    """Evaluate 003 Theorem 7(d) for S: the probability of a reply within a factor n^alpha of the width.

    003 prints it for a fixed column, for which P(reply) may be 0: it has to be read as the joint probability.

    Parameters
    ----------
    mechanism : Scale
        S with its grid, test and release.
    n : int
        Number of values in the factor n^alpha, >= 2.
    alpha : float
        Exponent of the factor, > 0.
    reply : float
        Probability of a reply, in [0, 1]: of one column, or the mean over columns of a shape.

    Returns
    -------
    FactorBound
        Probabilities in [0, 1]: given a reply, joint, and as printed in 003.

    Raises
    ------
    PublicParameterError
        A number out of its range.
    """
    if n < 2 or not alpha > 0 or not 0 <= reply <= 1:
        raise PublicParameterError("n must be >= 2, alpha > 0, and a probability lies in [0, 1]")
    # value / width lies within 2^((|Y| + 1/2) / binade) for Y cells of noise
    cells = math.floor(mechanism.grid.binade * alpha * math.log2(n) - 0.5)
    ratio = math.exp(-1 / float(mechanism.noise.scale))
    within = 1 - 2 * ratio ** (cells + 1) / (1 + ratio) if cells >= 0 else 0.0
    epsilon = float(mechanism.release)
    printed = 1 - printed_silence(n, epsilon) - 2 * printed_silence(n, alpha * epsilon)
    return FactorBound(within, reply * within, max(printed, 0.0))


def printed_silence(n: int, epsilon: float) -> float:
    """n^(-eps ln n): what Theorems 7(c) and 12(c) say P(no reply) is of the order of."""
    return math.exp(-epsilon * math.log(n) ** 2)


@door
def least_n(theorem: Theorem) -> float:
    """The least n at which the conditions in the proof of 7(c) or 12(c) hold for a normal population of deviation 1.

    7(c): all four conditions, with xi the least density within 2 n^(-1/3) of the quartiles. 12(c): n^(-2/5) < h / 8 on
    the event that its scale is within 2 n^(1/20) of the IQR, so n^(1/60) > 16 / IQR. The first is searched between
    powers of two, above which it keeps holding.
    """
    match theorem:
        case "7(c)":
            low, high = 2.0, 2.0
            while not _holds(high):
                low, high = high, 2 * high
            while high - low > 1:
                middle = (low + high) / 2
                low, high = (low, middle) if _holds(middle) else (middle, high)
            return float(math.ceil(high))
        case "12(c)":
            return float((16 / (2 * QUARTILE)) ** 60)
        case _:
            assert_never(theorem)


def _holds(n: float) -> bool:
    """The four conditions of the proof of 003 Theorem 7(c) for N(0, 1)."""
    reach = 2 * n ** (-1 / 3)
    if QUARTILE - reach <= 0:  # the intervals around the quartiles are apart
        return False
    xi = math.exp(-((QUARTILE + reach) ** 2) / 2) / math.sqrt(2 * math.pi)
    wide, narrow = 2 * (QUARTILE + reach), 2 * (QUARTILE - reach)
    enough = xi * n ** (2 / 3) > 4 * math.log(n) ** 2 + 4
    return enough and 4 * math.log(wide / narrow) < math.log1p(1 / math.log(n))


# --- measuring --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FiniteAlgorithm:
    """An algorithm for one n."""

    guarantee: Guarantee
    chance: Callable[[AssumedTable], float]
    estimate: Callable[[SortedColumn, Entropy], float | None]
    usual: Callable[[SortedColumn], float]
    target: Target


@door
def finite(
    algorithm: Algorithm,
    *,
    epsilon: Number = 1,
    delta: Number = "1e-6",
    shape: Shape = "normal",
    sizes: Sequence[int] = SIZES,
    tables: int = TABLES,
) -> FiniteCurve:
    """Replies and errors of an algorithm against n, at one total epsilon, on made-up columns.

    Parameters
    ----------
    algorithm : "S" | "S as printed" | "M" | "M as printed" | "TM" | "smooth median" | "default median"
        The first of each are the defaults of ``statistics.robust``: half of epsilon for tests, half for the release. As
        printed all steps are equal and the threshold is ln^2 n + 1. The smooth median always replies, within bounds;
        the default one is the exponential mechanism with a public prior, refused where the prior outweighs n.
    epsilon : number
        Of the whole release.
    delta : number
        Of each test; as printed it follows from n instead, and may be above 1.
    shape : "normal" | "lognormal" | "cauchy"
        Law of the made-up values.
    sizes : sequence of int
        Rising, each at least 4.
    tables : int
        Columns for each size, >= 3.

    Returns
    -------
    FiniteCurve
        Share of replies and relative median error at each size.

    Raises
    ------
    PublicParameterError
        An unknown algorithm, a number out of its range, or a refusal at every size.
    """
    if not sizes or any(n < 4 for n in sizes) or tables < 3:
        raise PublicParameterError("sizes are at least 4 each, and tables at least 3")
    total, each = read(epsilon, "epsilon"), read(delta, "delta")
    found, last = [], None
    for n in sizes:
        try:
            made = make(algorithm, n, total, each)
        except Refusal:
            found.append(FinitePoint(n, 0.0, 0.0, None, printed_silence(n, float(total) / steps(algorithm))))
            continue
        last = made.guarantee
        found.append(_measured(made, n, shape, tables, printed_silence(n, float(total) / steps(algorithm))))
    if last is None:
        raise PublicParameterError(f"{algorithm} is refused at every one of these n: larger ones, or a larger epsilon")
    return FiniteCurve(algorithm, shape, last, tuple(found))


def steps(algorithm: Algorithm) -> int:
    """Equal parts of epsilon, as 003 has them by the tight count: 2 for S, 4 for M, 3 for TM."""
    match algorithm:
        case "S" | "S as printed":
            return 2
        case "M" | "M as printed":
            return 4
        case "TM":
            return 3
        case "smooth median" | "default median":
            return 1
        case _:
            assert_never(algorithm)


def make(algorithm: Algorithm, n: int, epsilon: Fraction, delta: Fraction) -> FiniteAlgorithm:
    """The algorithm for n values.

    Parameters
    ----------
    algorithm : name of an algorithm
    n : int
        Number of values.
    epsilon, delta : Fraction

    Returns
    -------
    FiniteAlgorithm
    """
    half, quarter, eighth = epsilon / 2, epsilon / 4, epsilon / 8
    any_delta, free = (
        Fraction(10**6),
        math.inf,
    )  # measured, not offered: what is refused elsewhere for its delta or noise
    match algorithm:
        case "S" | "S as printed":
            if algorithm == "S":
                spread = scale.scale(n, NEAR, test=half, release=half, delta=delta, most_factor=free)
            else:
                spread = scale.scale(n, NEAR, test=half, release=half, mode="paper", most_delta=any_delta)

            def widths(column: SortedColumn, entropy: Entropy) -> float | None:
                found = spread.sample(column, entropy)
                return found.value.value if isinstance(found, Reply) else None

            return FiniteAlgorithm(spread.guarantee, spread.chance, widths, lambda c: _iqr(c, n), "width")
        case "M" | "M as printed":
            middle: ScaledMedian | MedianPtr
            if algorithm == "M":
                middle = scaled_median(n, NEAR, scale_test=eighth, test=quarter, release=half, delta=delta)
            else:
                middle = ScaledMedian(
                    level_for(n, NEAR, test=quarter, release=quarter, mode="paper", most_delta=any_delta),
                    scale.scale(n, NEAR, test=quarter, release=quarter, mode="paper", most_delta=any_delta),
                    n,
                )
            return FiniteAlgorithm(middle.guarantee, middle.chance, _value(middle), lambda c: _at(c, n), "median")
        case "TM":
            mean = trimmed.trimmed_mean(n, NEAR, alpha=ALPHA, test=quarter, release=half, delta=delta)
            return FiniteAlgorithm(
                mean.guarantee, mean.chance, _value(mean), lambda c: _trimmed(c, mean), "trimmed mean"
            )
        case "smooth median":
            smooth = smooth_median(n, NEAR, epsilon=epsilon, low=-BOUNDS, high=BOUNDS)
            return FiniteAlgorithm(
                smooth.guarantee,
                lambda public: 1.0,
                lambda column, entropy: float(smooth.sample(column, entropy)),
                lambda c: _at(c, n),
                "median",
            )
        case "default median":
            return _default(n, epsilon)
        case _:
            assert_never(algorithm)


def _default(n: int, epsilon: Fraction) -> FiniteAlgorithm:
    """The median by the exponential mechanism, alone, with no bounds but the public prior."""
    cells, choice = cells_of(real(), "x"), Choice(ColumnTerms(NEAR, n), epsilon)
    if not choice.outweighs(cells, GroupSize(n, False, n)):
        raise QuestionError("the prior outweighs so few values")

    def estimate(column: SortedColumn, entropy: Entropy) -> float:
        held = Counts(*np.unique(cells.index(column.values / assumed_laws.UNIT), return_counts=True))
        return choice.centre(cells, held, entropy) * assumed_laws.UNIT

    tree = in_sequence([choice.mechanism.guarantee], label="median")
    return FiniteAlgorithm(tree, lambda public: 1.0, estimate, lambda c: _at(c, n), "median")


def _value(
    mechanism: MedianPtr | ScaledMedian | trimmed.TrimmedMeanPtr,
) -> Callable[[SortedColumn, Entropy], float | None]:
    def estimate(column: SortedColumn, entropy: Entropy) -> float | None:
        found = mechanism.sample(column, entropy)
        return float(found.value.value) if isinstance(found, Reply) else None

    return estimate


def _iqr(column: SortedColumn, n: int) -> float:
    low, high = ranks_of(n, scale.QUARTILES)
    return float(column.window(high, high)[0]) - float(column.window(low, low)[0])


def _at(column: SortedColumn, n: int) -> float:
    return float(column.window(math.ceil(n / 2), math.ceil(n / 2))[0])


def _trimmed(column: SortedColumn, mean: trimmed.TrimmedMeanPtr) -> float:
    return column.total(mean.first, mean.last) / (mean.last - mean.first + 1)


def _measured(made: FiniteAlgorithm, n: int, shape: Shape, tables: int, printed: float) -> FinitePoint:
    """Chances averaged over columns made up for a plan; errors on columns of a known population."""
    coins, runs = system(), max(3, min(tables, assumed_laws.MOST // n))
    chances, errors, usual = [], [], []
    for key in range(runs):
        chances.append(made.chance(made_up(shape, n, key)))
        table, truth, unit = column(shape, n, key, made.target)
        usual.append(_off(made.usual(table), truth, unit))
        drawn = [made.estimate(table, coins) for _ in range(max(1, ERRORS // runs))]
        errors += [_off(found, truth, unit) for found in drawn if found is not None]
    error = float(np.median(errors) / np.median(usual)) if errors else None
    return FinitePoint(n, float(np.mean(chances)), float(np.std(chances)) / math.sqrt(runs), error, printed)


def _off(found: float, truth: float, unit: float | None) -> float:
    """In units of the shape; of a width, which has no sign, the logarithm of the factor."""
    return abs(found - truth) / unit if unit is not None else abs(math.log(max(found, 1.0) / truth))


def column(shape: Shape, n: int, key: int, target: Target) -> tuple[SortedColumn, float, float | None]:
    """n made-up values, the population's value of ``target``, and its unit, None for a width.

    Parameters
    ----------
    shape : name of a law
    n : int
        Number of values.
    key : int
        Names the stream of made-up values.
    target : name of the estimated quantity

    Returns
    -------
    three of the sorted column, float, and float or None
    """
    held = law(shape)
    words = Replayed(f"column {shape} {n} {key}").words(n + 1)
    levels = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    unit = assumed_laws.UNIT * 2.0 ** float(levels[0])
    moved = 100.0 * unit
    values = np.clip(held.quantiles(levels[1:]) * unit + moved, -assumed_laws.FARTHEST, assumed_laws.FARTHEST)
    table = ordered(np.rint(values).astype(np.int64))
    match target:
        case "width":
            return table, (held.quantile(0.75) - held.quantile(0.25)) * unit, None
        case "median":
            return table, held.quantile(0.5) * unit + moved, unit
        case "trimmed mean":
            kept = (np.arange(100_000) + 0.5) / 100_000 * (1 - float(ALPHA)) + float(ALPHA) / 2
            return table, float(held.quantiles(kept).mean()) * unit + moved, unit
        case _:
            assert_never(target)


# --- pictures ---------------------------------------------------------------------------------------------------------


def picture(curves: Sequence[FiniteCurve], *, title: str) -> Figure:
    """Curves of several algorithms: above P(reply), below the error over that of the estimate without noise."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(WIDTH, 5.6))
    above, below = drawn.add_axes((0.09, 0.56, 0.6, 0.36)), drawn.add_axes((0.09, 0.09, 0.6, 0.36))
    for place, curve in enumerate(curves):
        known = [(one.n, one.error) for one in curve.at if one.error is not None]
        lines = [(above, [(one.n, one.reply) for one in curve.at]), (below, known)]
        for axes, points in lines:
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=INK,
                linewidth=1.1,
                linestyle=DASHES[place % len(DASHES)],
                marker=MARKS[place % len(MARKS)],
                markersize=4,
                markerfacecolor="white",
                label=curve.algorithm,
                clip_on=False,
            )
    one = curves[0]
    above.plot(
        [at.n for at in one.at],
        [1 - at.printed for at in one.at],
        color="#6fa8d6",
        linewidth=2.2,
        zorder=0,
        label=f"$1 - n^{{-ε \\ln n}}$, ε of a step of {one.algorithm}",
    )
    for axes in (above, below):
        axes.set_xscale("log")
        axes.tick_params(labelsize=8, length=3)
        quiet(axes)
    above.set(ylim=(0, 1.02))
    below.set_yscale("log")
    above.set_ylabel("probability of a reply", fontsize=9)
    below.set_ylabel("error, times the usual estimate's", fontsize=9)
    below.set_xlabel("n", fontsize=9)
    above.set_title(title, loc="left", fontsize=10)
    above.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.02, 1.0))
    return drawn
