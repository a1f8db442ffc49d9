"""Questions of one row with answers between 0 and 1, and what each row contributes, in whole steps.

    Level(column)                    the value, 0 at the column's low and 1 at its high
    Between(column, low, high)       whether the value lies there
    Product(first, second)           (1 + a b) / 2, a and b the values as -1 to 1: how two columns go together
    Accuracy(weights, target, ...)   whether a stored linear model is right about the row

A question is data: numbers and names of columns. It is worked out here, in integers, row by row, so that one row moves
nothing but its own contribution. A function of the analyst's would see rows, and could send them anywhere; it is not
taken. ``STEPS`` steps make 1, and a reference m (a training mean, a threshold) is whole steps too. The sum over rows of
(contribution - m) is thus an integer that one row moves by at most ``STEPS``.

Proof. A contribution c lies in [0, STEPS], so a row adds c - m in [-m, STEPS - m]. A person with at most k rows adds
between -k m and k (STEPS - m), and so does whoever replaces them: the sum moves by at most k STEPS, under add/remove by
at most k max(m, STEPS - m). Rows that lack a value of a session's columns add nothing, on either side. ∎
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Final, NoReturn, TypeAlias, assert_never, get_args

import numpy as np
from numpy.typing import NDArray

from reticent.data.order_statistics import ABSENT
from reticent.data.query import Records
from reticent.data.schema import Column, Integer, Real, Schema
from reticent.errors import PublicParameterError, QuestionError, first_of
from reticent.privacy.numbers import Number, read, show

Integers = NDArray[np.int64]

BITS: Final = 20
STEPS: Final = 1 << BITS  # that make 1
FINE: Final = 30  # bits of a real column's range
MOST_COLUMNS: Final = 4096  # so that a model's score, a sum over them, has room
ROOM: Final = 62  # bits of a model's score


@dataclass(frozen=True, slots=True)
class Level:
    """The mean of ``column``, on the scale from its low (0) to its high (1)."""

    column: str

    def __post_init__(self) -> None:
        _plainly(self, "column")


@dataclass(frozen=True, slots=True)
class Between:
    """The share of rows whose ``column`` is at least ``low`` and at most ``high``; None leaves an end open."""

    column: str
    low: Number | None = None
    high: Number | None = None

    def __post_init__(self) -> None:
        _plainly(self, "column")
        ends = []
        for name, end in (("low", self.low), ("high", self.high)):
            if end is not None:
                ends.append(read(end, name))
                object.__setattr__(self, name, ends[-1])  # it meets private values, and the transcript tells it
        if not ends or sorted(ends) != ends:
            raise PublicParameterError("name low or high, and low <= high")


@dataclass(frozen=True, slots=True)
class Product:
    """The mean of (1 + a b) / 2, a and b the two columns scaled to [-1, 1]: 1/2 where they have nothing in common."""

    first: str
    second: str

    def __post_init__(self) -> None:
        _plainly(self, "first", "second")


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share of rows for which a linear model is right.

    The model is right if ``sum of weights x value + intercept > 0`` exactly where ``target > cut``. Weights are for the
    values as they are, clamped to the declared bounds.
    """

    weights: Mapping[str, float]
    target: str
    intercept: float = 0.0
    cut: Number = Fraction(1, 2)

    def __post_init__(self) -> None:
        _plainly(self, "target")
        object.__setattr__(self, "cut", read(self.cut, "cut"))
        weights = {_plain(name): float(weight) for name, weight in self.weights.items()}
        object.__setattr__(self, "weights", MappingProxyType(weights))  # plain floats: no code of the caller's
        object.__setattr__(self, "intercept", float(self.intercept))
        if not weights or not all(np.isfinite(number) for number in [*weights.values(), self.intercept]):
            raise PublicParameterError("a model has one weight or more, and all of them are finite")


def _plainly(question: object, *names: str) -> None:
    """Names of columns as plain texts: a subclass would be asked for its hash beside private values."""
    for name in names:
        object.__setattr__(question, name, _plain(getattr(question, name)))


def _plain(name: object) -> str:
    try:
        return str.__str__(name)
    except TypeError:
        raise PublicParameterError("a column is named by a text") from None


Question: TypeAlias = Level | Between | Product | Accuracy


@dataclass(frozen=True, slots=True)
class GridColumn:
    """One column on its public grid: integers from ``lowest`` to ``highest``, each ``unit`` wide.

    ``called`` is its name in questions: ``age``, where ``patients.age`` is opened by that.
    """

    name: str
    unit: Fraction
    lowest: int
    highest: int
    stands_in: bool
    missing: Fraction | None
    called: str = ""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class GridRows:
    """Rows as integers within the bounds, by column; those that lack a value are left out. Private unless public."""

    axes: Mapping[str, GridColumn]
    columns: Mapping[str, Integers]
    count: int

    def __repr__(self) -> str:
        return "<rows>"

    def _refuse(self, *_: object) -> NoReturn:
        raise QuestionError("Rows are neither copied nor pickled.")

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refuse


def axes_of(schema: Schema, columns: Sequence[str]) -> dict[str, GridColumn]:
    """The grids of the columns a session is about.

    Raises
    ------
    QuestionError
        For a column without public bounds, a category, or no columns at all.
    """
    if isinstance(columns, str) or not columns:
        raise QuestionError('Name the columns the questions will be about: columns=["age", "visits"].')
    called = {schema.canonical(name): name for name in columns}
    if len(called) > MOST_COLUMNS:
        raise QuestionError(f"at most {MOST_COLUMNS} columns")
    made = {full: _axis(full, schema.column(full), *schema.bounded(full, "a session")) for full in called}
    return {full: replace(axis, called=called[full]) for full, axis in made.items()}


def _axis(name: str, column: Column, low: Fraction, high: Fraction) -> GridColumn:
    stand_in = column.stand_in if isinstance(column, Real | Integer) else None
    if isinstance(column, Integer) and high - low < 1 << FINE and max(abs(low), abs(high)) < 1 << 48:
        unit = Fraction(1)
    else:
        unit = Fraction(1)
        while (high - low) / unit < 1 << (FINE - 1):
            unit /= 2
        while (high - low) / unit >= 1 << FINE:
            unit *= 2
    lowest, highest = (low / unit).__floor__(), (high / unit).__ceil__()
    if max(abs(lowest), abs(highest)) >= 1 << 48:
        raise QuestionError(f"the bounds of {name} are too close together for their size")
    return GridColumn(name, unit, lowest, highest, stand_in is not None, stand_in)


def query_of(axes: Mapping[str, GridColumn]) -> Records:
    """Query of the table's records, read once, when a session opens."""
    return Records(tuple(axes), tuple(axis.unit for axis in axes.values()))


def private_rows(axes: Mapping[str, GridColumn], records: Integers) -> GridRows:
    """The records the engine read, without those that lack a value."""
    there = records[records[:, 0] != ABSENT]
    return GridRows(
        axes, {name: _within(axis, there[:, nth]) for nth, (name, axis) in enumerate(axes.items())}, len(there)
    )


def public_rows(axes: Mapping[str, GridColumn], table: Mapping[str, Sequence[float]]) -> GridRows:
    """Rows that are public to the analyst, on the same grids; NaN is missing.

    Raises
    ------
    QuestionError
        Where a column is not there, or the columns differ in length.
    """
    found = {}
    for name, axis in axes.items():
        given = name if name in table else axis.called
        if given not in table:
            raise QuestionError(f"The training rows have no column '{given or name}'.")
        values = np.asarray(table[given], np.float64)
        if axis.missing is not None:
            values = np.where(np.isnan(values), float(axis.missing), values)
        found[name] = values
    sizes = {values.shape for values in found.values()}
    if len(sizes) != 1 or len(next(iter(sizes))) != 1:
        raise QuestionError("The training rows are columns of one length.")
    there = ~np.any([np.isnan(values) for values in found.values()], axis=0)
    ends = {name: (float(axis.lowest * axis.unit), float(axis.highest * axis.unit)) for name, axis in axes.items()}
    whole = {
        name: np.floor(np.clip(values[there], *ends[name]) / float(axes[name].unit)).astype(np.int64)
        for name, values in found.items()
    }
    return GridRows(axes, {name: _within(axes[name], values) for name, values in whole.items()}, int(there.sum()))


def _within(axis: GridColumn, values: Integers) -> Integers:
    return np.clip(values, axis.lowest, axis.highest)


def contributions(question: Question, rows: GridRows) -> Integers:
    """Contribution of each row, 0 to ``STEPS``, computed row by row in integers."""
    match question:
        case Level(column):
            axis = rows.axes[column]
            return (rows.columns[column] - axis.lowest) * STEPS // (axis.highest - axis.lowest)
        case Between(column):
            axis, x = rows.axes[column], rows.columns[column]
            low = axis.lowest if question.low is None else (read(question.low, "low") / axis.unit).__ceil__()
            high = axis.highest if question.high is None else (read(question.high, "high") / axis.unit).__floor__()
            least, most = axis.lowest - 1, axis.highest + 1  # an end beyond the bounds is one step outside them
            inside = (x >= min(max(low, least), most)) & (x <= min(max(high, least), most))
            return inside.astype(np.int64) * STEPS
        case Product(first, second):
            a, b = (_signed(rows, name) for name in (first, second))
            return (a * b + STEPS * STEPS) // (2 * STEPS)
        case Accuracy():
            return _right(question, rows).astype(np.int64) * STEPS
        case _:
            assert_never(question)


def _signed(rows: GridRows, column: str) -> Integers:
    """The values from -STEPS to STEPS."""
    axis = rows.axes[column]
    return 2 * ((rows.columns[column] - axis.lowest) * STEPS // (axis.highest - axis.lowest)) - STEPS


def _right(model: Accuracy, rows: GridRows) -> NDArray[np.bool_]:
    """Tell for each row if the model is right about it.

    A product of floats may depend on the other rows; integers do not.
    """
    weights = {name: Fraction(weight) * rows.axes[name].unit for name, weight in model.weights.items()}
    intercept = Fraction(model.intercept)
    reach = abs(intercept)
    for name, weight in weights.items():
        reach += abs(weight) * max(abs(rows.axes[name].lowest), abs(rows.axes[name].highest))
    if reach == 0:
        score = np.zeros(rows.count, np.int64)
    else:
        fine = (Fraction(1 << (ROOM - 1)) - sum((_size(rows.axes[name]) for name in weights), Fraction(1))) / reach
        score = np.full(rows.count, round(intercept * fine), np.int64)
        for name, weight in weights.items():
            score += round(weight * fine) * rows.columns[name]
    cut = read(model.cut, "cut") / rows.axes[model.target].unit
    yes = rows.columns[model.target] > min(max(cut.__floor__(), -(1 << 60)), 1 << 60)
    return np.asarray((score > 0) == yes, np.bool_)


def _size(axis: GridColumn) -> Fraction:
    return Fraction(max(abs(axis.lowest), abs(axis.highest)))


def checked(question: object, axes: Mapping[str, GridColumn]) -> Question:
    """The question, if it is one and is about the columns of the session.

    Raises
    ------
    QuestionError
        For anything else; a function is refused because it would see rows.
    """
    if callable(question):
        raise QuestionError(
            "A function would see private rows, and could keep or send them. Ask with data: Level, Between, Product or "
            "Accuracy of reticent.learning."
        )
    if type(question) not in get_args(Question) or not isinstance(question, Level | Between | Product | Accuracy):
        raise QuestionError(f"{type(question).__name__} is no question of a session: Level('age') is one.")
    full = {axis.called: name for name, axis in axes.items()} | {name: name for name in axes}

    def known(name: str) -> str:
        if name not in full:
            raise QuestionError(
                f"This session is about {first_of(axes)}; '{name}' is not among them. Nothing was drawn."
            )
        return full[name]

    match question:
        case Level(column) | Between(column):
            return replace(question, column=known(column))
        case Product(first, second):
            return replace(question, first=known(first), second=known(second))
        case Accuracy():
            weights = {known(name): weight for name, weight in question.weights.items()}
            if len(weights) < len(question.weights):
                raise QuestionError("Two weights are about one column. Nothing was drawn.")
            return replace(question, weights=weights, target=known(question.target))


def name_of(question: Question) -> str:
    """``level(age)``: for the transcript."""
    match question:
        case Level(column):
            return f"level({column})"
        case Between(column):
            given = (("low", question.low), ("high", question.high))
            ends = [f"{name}={show(read(end, name))}" for name, end in given if end is not None]
            return f"between({column}, {', '.join(ends)})"
        case Product(first, second):
            return f"product({first}, {second})"
        case Accuracy():
            cut = show(read(question.cut, "cut"))
            terms = ", ".join(f"{name}: {float(weight)!r}" for name, weight in question.weights.items())
            return f"accuracy({{{terms}}}, {question.target}, intercept={question.intercept!r}, cut={cut})"
        case _:
            assert_never(question)


def mean_steps(question: Question, rows: GridRows) -> int:
    """The mean over public rows, in whole steps: a reference.

    Raises
    ------
    QuestionError
        Where there are no rows.
    """
    if rows.count == 0:
        raise QuestionError("The training rows are empty.")
    return round(Fraction(int(contributions(question, rows).sum()), rows.count))


def steps(level: Number, name: str) -> int:
    """A level between 0 and 1 in whole steps."""
    value = read(level, name)
    if not 0 <= value <= 1:
        raise PublicParameterError(f"{name} lies between 0 and 1")
    return round(value * STEPS)


def apart(question: Question, rows: GridRows, reference: int) -> int:
    """The sum over rows of (contribution - reference): what mechanisms are given.

    Parameters
    ----------
    question : Question
    rows : GridRows
        Private rows, as whole steps.
    reference : int
        In steps of 2^-20.

    Returns
    -------
    int
        In steps of 2^-20.
    """
    return int(contributions(question, rows).sum()) - reference * rows.count
