"""Many released cells at once: intervals that hold together, and tests at a stated rate of false discoveries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import Reply
from reticent.statistics.answer import P_VALUE, Answer, Cell
from reticent.statistics.comparison import SLIP, ReleasedCell, covariance, estimate_of, question_of, title
from reticent.statistics.error_law import ErrorLaw
from reticent.statistics.intervals import LEVEL
from reticent.statistics.moments.proportion import Proportion


def widens(answer: Answer) -> bool:
    """Tell if every interval of an answer can be made one that holds together with others."""
    return all(cell.error is not None for cell in answer if isinstance(cell.outcome, Reply))


def tested(answer: Answer) -> bool:
    """Tell if an answer is that of a test."""
    return any(cell.label == P_VALUE for cell in answer)


def simultaneous(answers: Sequence[Answer], level: float = LEVEL) -> tuple[Answer, ...]:
    """The answers with intervals that all hold together with probability ``level``, by Sidak's inequality.

    Raises
    ------
    QuestionError
        A cell has no law of its error, so its interval is known at 95 % alone.
    PublicParameterError
        A level that is no probability.
    """
    _probability(level, "level")
    cells = [(answer, cell) for answer in answers for cell in answer if isinstance(cell.outcome, Reply)]
    for answer, cell in cells:
        if cell.error is None:
            raise QuestionError(
                f"{title(answer, cell)} has an interval at 95 % alone, so none that holds together with others. Take "
                "counts, sums, histograms, means with bounds, proportions, and their differences and totals."
            )
    each = level ** (1.0 / max(len(cells), 1))
    note = f"the {len(cells)} intervals hold together with probability {level:g}"
    return tuple(
        replace(
            answer,
            cells=tuple(_wider(answer, cell, each, level) for cell in answer),
            caveats=(*answer.caveats, note),
        )
        for answer in answers
    )


def _is_share(answer: Answer) -> bool:
    """Tell if an answer is a share, whose interval may be longer on one side."""
    asked = question_of(answer.name)
    return asked is not None and isinstance(asked.statistic, Proportion)


def _wider(answer: Answer, cell: Cell, each: float, level: float) -> Cell:
    """A cell of the answer at the level ``each``; the interval of a share is stretched on either side, within [0, 1].

    Parameters
    ----------
    answer : Answer
    cell : Cell
        One of its cells.
    each : float
        Level of its interval.
    level : float
        Level of all together.

    Returns
    -------
    Cell
    """
    if not isinstance(cell.outcome, Reply) or cell.error is None:
        return cell
    e, law = cell.outcome.value, cell.error
    radius, usual = law.half_width(each), law.half_width()
    low, high = law.value - radius, law.value + radius
    share = _is_share(answer)
    if share and usual:
        low = max(e.value - (e.value - e.low) * radius / usual, 0.0)
        high = min(e.value + (e.high - e.value) * radius / usual, 1.0)
    elif e.low > law.value - usual * (1.0 - SLIP):  # it stands at the least possible value
        low, high = max(low, e.low), max(high, e.low)
    if not share and e.high < law.value + usual * (1.0 - SLIP):
        low, high = min(low, e.high), min(high, e.high)
    factor = radius / usual if usual else 1.0
    return replace(
        cell,
        outcome=Reply(
            replace(e, low=low, high=high, noise=factor * e.noise, sampling=factor * e.sampling, level=level)
        ),
    )


def discoveries(answers: Sequence[Answer], *, rate: float, null: float | None) -> tuple[str, ...]:
    """The names of tests, or of cells that differ from ``null``, at this rate of false discoveries.

    Independent p-values are held against Benjamini's and Hochberg's line, others against Benjamini's and Yekutieli's,
    which holds for any dependence.

    Parameters
    ----------
    answers : sequence of Answer
    rate : float
        Greatest expected share of false discoveries, in (0, 1).
    null : float or None
        Value that cells are compared with.

    Returns
    -------
    tuple of str

    Raises
    ------
    QuestionError
        There is nothing to be tested.
    PublicParameterError
        A rate that is no probability.
    """
    _probability(rate, "rate")
    parts = [ReleasedCell(answer, cell) for answer in answers for cell in answer if isinstance(cell.outcome, Reply)]
    if null is None:
        held = [(part.answer.name, estimate_of(part).value, part) for part in parts if part.cell.label == P_VALUE]
        if not held:
            raise QuestionError(
                "There is no test among these answers. Say null=… (--null) to hold cells against a number."
            )
    else:
        held = [(part.name, _p_value(part, law, null), part) for part in parts if (law := part.cell.error) is not None]
        if not held:
            raise QuestionError("No cell among these answers has a known law of its error, so none has a p-value.")
    independent = null is not None and all(_independent(a, b) for (_, _, a), (_, _, b) in combinations(held, 2))
    count = len(held)
    line = rate if independent else rate / sum(1.0 / k for k in range(1, count + 1))
    ordered = sorted(p for _, p, _ in held)
    passed = [k for k, p in enumerate(ordered, 1) if p <= line * k / count]
    most = ordered[passed[-1] - 1] if passed else -1.0
    return tuple(name for name, p, _ in held if p <= most)


def _p_value(part: ReleasedCell, law: ErrorLaw, null: float) -> float:
    """The chance of an error that reaches ``null``; of a share in units of its interval on that side.

    The variance at a released share near 0 or 1 is almost none, and that at ``null`` is what counts.
    """
    usual, e = law.half_width(), estimate_of(part)
    arm = e.value - e.low if null < e.value else e.high - e.value
    if not (_is_share(part.answer) and usual and arm > 0.0):
        return law.exceeds(abs(law.value - null))
    return law.exceeds(usual * abs(e.value - null) / arm)


def _independent(one: ReleasedCell, other: ReleasedCell) -> bool:
    """Tell if the errors of two cells of a release are independent."""
    return covariance(one, other) == 0.0


def _probability(value: float, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1.0:
        raise PublicParameterError(f"{name} must be above 0 and below 1, got {value!r}")
