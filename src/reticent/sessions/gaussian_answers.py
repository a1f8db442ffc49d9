"""Answer everything: each of k questions gets its mean with Gaussian noise; and which kind of session is cheaper.

Statement. k questions, each chosen after the answers before it, with noise of variance D^2 k / (2 rho) on the sum over
rows of (contribution - 1/2), are rho-zCDP. D = STEPS for one row each where rows are replaced, and half of that where
they come or go.

Proof. The sum moves by at most D (``row_functions``: m is STEPS / 2, so max(m, STEPS - m) is too), and one integer with
discrete Gaussian noise of variance v is D^2 / (2 v)-zCDP: ``mechanisms.gaussian``. rho / k each, added adaptively. ∎

Which is cheaper. For answers that are all within ``width`` of the mean over the private rows, but for probability
``beta``, in n rows with t = D / n:

    geometric   k t ln(k / beta) / width                       every answer its share of a pure epsilon
    gaussian    rho = k t^2 z^2 / (2 width^2)                  z the normal point of beta / k, two-sided
    sparse      half the width for the threshold, half for comparisons, values within the width; c answers above:
                t (sqrt A + sqrt(2 c B))^2 / (width / 2) + c t C / width,  A = ln(3 / beta), B = ln(3 k / beta),
                C = ln(3 c / beta), by the shares that make the first term least (Cauchy and Schwarz)
    holdout     rounds of 2 t / sigma, sigma = (width / 2) / (2 C + 4 B); c of them, which add up in rho

Every part of a line but the Gaussian's is pure, so it enters rho as half its square. For an (epsilon, delta) budget the
lesser of the pure sum and of the conversion from rho counts. ``sparse`` needs a guess beside every question; a holdout
takes the training mean. Sources: Dwork and Roth 2014, Theorem 3.24 (the union bounds); Bun and Steinke 2016,
Propositions 1.3 and 1.6. These are bounds that promise a width; real errors are smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.normal import normal_tail_bounds
from reticent.mechanisms import gate
from reticent.mechanisms.gaussian import Gaussian
from reticent.outcome import Estimate
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.convert import approx_of
from reticent.privacy.loss import ZCDP
from reticent.privacy.numbers import Number, read
from reticent.privacy.sensitivity import L2
from reticent.sessions.above_threshold import NORMAL, RowCount, estimate
from reticent.sessions.row_functions import STEPS, GridRows, Question, apart

MIDDLE: Final = STEPS // 2
DIGITS: Final = 10**6

Way: TypeAlias = Literal["geometric", "gaussian", "sparse vector", "holdout rounds"]


def answer_of(rho: Fraction, neighbours: Adjacency) -> Gaussian:
    """The mechanism of one answer at ``rho``."""
    most = MIDDLE if neighbours.kind == "add_remove" else STEPS
    return Gaussian(L2(Fraction(most * neighbours.rows) ** 2, neighbours), rho)


def answer(made: Gaussian, rows: GridRows, question: Question, size: RowCount, entropy: Entropy) -> Estimate:
    """The mean of ``question`` with noise; the interval's noise part is that of a normal of the same variance.

    Parameters
    ----------
    made : Gaussian
    rows : GridRows
        Private rows, as whole steps.
    question : Question
    size : RowCount
        The number of rows, public or noisy.
    entropy : Entropy

    Returns
    -------
    Estimate
        A mean in [0, 1].
    """
    (moved,) = gate.draw(made, (apart(question, rows, MIDDLE),), entropy)
    return estimate(MIDDLE, moved, size, NORMAL * math.sqrt(made.variance))


@dataclass(frozen=True, slots=True)
class SessionPrice:
    """Price of one way of answering: pure epsilon (None for the Gaussian), rho, and epsilon at the delta asked."""

    way: Way
    pure: float | None
    rho: float
    epsilon: float


@dataclass(frozen=True, slots=True)
class Prices:
    """The four ways for one plan, and the cheapest in either currency; ``str`` is the table."""

    plan: str
    delta: Fraction
    lines: tuple[SessionPrice, ...]

    @property
    def best(self) -> Way:
        """The cheapest where the budget counts epsilon and delta."""
        return min(self.lines, key=lambda line: line.epsilon).way

    @property
    def best_in_rho(self) -> Way:
        """The cheapest where the budget counts rho."""
        return min(self.lines, key=lambda line: line.rho).way

    def __getitem__(self, way: Way) -> SessionPrice:
        return next(line for line in self.lines if line.way == way)

    def __str__(self) -> str:
        head = f"{self.plan}\n{'':<16}{'pure ε':>12}{'ρ':>12}{f'ε at δ {float(self.delta):.0e}':>18}"
        shown = [
            f"{line.way:<16}{'none' if line.pure is None else f'{line.pure:.4g}':>12}{line.rho:>12.4g}"
            f"{line.epsilon:>18.4g}"
            for line in self.lines
        ]
        return "\n".join([head, *shown, f"cheapest: {self.best} in (ε, δ), {self.best_in_rho} in ρ"])


def session_prices(
    *,
    questions: int,
    positives: int,
    width: float,
    people: int,
    kind: Kind = "substitute",
    rows: int = 1,
    beta: float = 0.05,
    delta: Number = "1e-6",
) -> Prices:
    """Compare the sessions that answer a plan by price: public numbers in, public numbers out, nothing charged.

    Parameters
    ----------
    questions : int
        How many questions will be asked, >= 1.
    positives : int
        How many of them are expected above the threshold, or overfitted; 1 to ``questions``.
    width : float
        How far an answer may be from the mean over the private rows, in (0, 1).
    people, rows : int
        How many persons, and most rows of each.
    kind : "substitute" or "add_remove"
    beta : float
        The probability that some answer is further off, in (0, 1).
    delta : number
        At which rho is told as epsilon, in (0, 1).

    Returns
    -------
    Prices

    Raises
    ------
    PublicParameterError
        For a number out of its range, or more positives than questions.
    """
    named = read(delta, "delta")
    given = {"questions": questions, "positives": positives, "people": people, "rows": rows}
    for name, number in given.items():
        _whole(number, name)
    if positives > questions:
        raise PublicParameterError("no more questions are above than are asked")
    if not (0 < width < 1 and 0 < beta < 1 and 0 < named < 1):
        raise PublicParameterError("width, beta and delta lie between 0 and 1")
    moved = rows / people
    around_middle = moved / 2 if kind == "add_remove" else moved
    one, every, some = (math.log(3 * count / beta) for count in (1, questions, positives))
    normal = questions * (around_middle * _two_sided(beta / questions) / width) ** 2 / 2
    compared = moved * (math.sqrt(one) + math.sqrt(2 * positives * every)) ** 2 / (width / 2)
    vector = compared + positives * moved * some / width
    each_round = 2 * moved * (2 * some + 4 * every) / (width / 2)
    all_at_once = questions * around_middle * math.log(questions / beta) / width
    lines = (
        _price("geometric", all_at_once, (all_at_once / questions) ** 2 / 2 * questions, named),
        _price("gaussian", None, normal, named),
        _price("sparse vector", vector, vector**2 / 2, named),
        _price("holdout rounds", positives * each_round, positives * each_round**2 / 2, named),
    )
    plan = (
        f"{questions:,} questions, {positives:,} above, within {width:g} of the rows' mean but for {beta:g}, "
        f"{people:,} people"
    )
    return Prices(plan, named, lines)


def _price(way: Way, pure: float | None, rho: float, delta: Fraction) -> SessionPrice:
    through = float(approx_of(ZCDP(_exact(rho)), delta).epsilon)
    return SessionPrice(way, pure, rho, through if pure is None else min(pure, through))


def _exact(number: float) -> Fraction:
    """A float as a short fraction: advice is about no guarantee."""
    return Fraction(f"{number:.6g}")


def _two_sided(chance: float) -> float:
    """z with P(|N| > z) = ``chance``, from above."""
    return _root(lambda z: 2 * float(normal_tail_bounds(Fraction(round(z * DIGITS), DIGITS))[1]) - chance, 0.0, 40.0)


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high


def _whole(number: int, name: str) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise PublicParameterError(f"{name} must be an integer >= 1, got {number}")
