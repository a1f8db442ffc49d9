"""Answers: one named question, one or more cells, each a reply with an interval or no reply."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, TypeAlias

from reticent.data.format import plain
from reticent.data.schema import Key
from reticent.errors import NoReplyError, QuestionError, door, first_of, restored
from reticent.outcome import Estimate, NoReply, Outcome, Reply, shown

if TYPE_CHECKING:
    import datetime

    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from reticent.calendar import Moment
    from reticent.statistics.error_law import ErrorLaw

    Points: TypeAlias = ArrayLike | Moment | Sequence[Moment]
    Corner: TypeAlias = float | Moment | Sequence[float | Moment]


class ReleasedLaw(Protocol):
    """Law of an answer to ``density``: the part of ``reticent.synthesis.density.Density`` used here."""

    @property
    def method(self) -> str: ...

    @property
    def masses(self) -> NDArray[np.float64]: ...

    @property
    def band(self) -> NDArray[np.float64] | None: ...

    @property
    def n(self) -> int: ...

    def pdf(self, points: Points) -> NDArray[np.float64]: ...

    def cdf(self, points: Points) -> NDArray[np.float64]: ...

    def quantile(self, levels: ArrayLike) -> NDArray[Any]: ...

    def quantile_interval(self, level: float) -> Estimate: ...

    def probability(self, low: Corner, high: Corner) -> Estimate: ...

    def mean(self) -> NDArray[Any]: ...

    def marginal(self, column: str) -> ReleasedLaw: ...

    def sample(self, count: int) -> NDArray[Any]: ...

    def plot(self) -> Figure: ...

    def to_json(self) -> str: ...


Label: TypeAlias = tuple[tuple[str, Key], ...]
P_VALUE: Final[Label] = (("test", "p-value"),)
NO_INTERVAL: Final = "coefficient without interval"  # the label of one: its ends stand at the value
HALVES: Final = "half-widths:"  # of noise and of sampling, beside an interval which may reach further on one side
SEPARATOR: Final = " · "  # between an answer and the keys of its cell, where both are named
LISTS: Final = ("keys(", "histogram(", "density(")  # begin the names of answers that list what a column holds
NAMELESS: Final = ("bin", "test", "coefficient", NO_INTERVAL)  # kinds of label whose key says what it is
UNCALLED: Final[Mapping[str, str]] = MappingProxyType({})
LEVEL: Final = 0.95  # of an interval that says no other
CLIPPED: Final = "ends that the noise moved beyond the possible values are shown at the nearest possible one"
DRAWN: Final = "a number that is shown at the nearest possible one enters this as it was drawn"
NO_ENDS: Final = "no interval was bought: the ends are those of the possible values"  # a caveat of quantiles


@restored
@dataclass(frozen=True, slots=True)
class Cell:
    """One number of an answer. ``label`` says which group and bin it is: ``(("site", 1), ("bin", "[0, 5)"))``.

    ``error`` is the law of its error where that is known: of counts, sums, bounded means and proportions.
    """

    label: tuple[tuple[str, Key], ...]
    outcome: Outcome[Estimate]
    error: ErrorLaw | None = None

    def __str__(self) -> str:
        """``north: 2.79 (95 % 2.61 to 2.97)``, as the line of its answer says it."""
        return ": ".join(filter(None, (label_words(self), on_a_line(self))))

    @property
    def estimate(self) -> Estimate:
        """The estimate of the cell.

        Raises
        ------
        NoReplyError
            Where it is no reply.
        """
        return estimate_of(self.outcome, self.where or "This cell", "cell")

    @property
    def value(self) -> float:
        return self.estimate.value

    @property
    def low(self) -> float:
        return self.estimate.low

    @property
    def high(self) -> float:
        return self.estimate.high

    @property
    def as_it_is(self) -> bool:
        """True if it has no interval: the statistic of a test, its p-value, a coefficient that was bought without."""
        bare = any(column == NO_INTERVAL for column, _ in self.label)
        return bare or self.label in ((("test", "statistic"),), P_VALUE)

    @property
    def moved(self) -> bool:
        """True if it was drawn beyond the possible values, and is shown at the nearest one."""
        if self.error is None or not isinstance(self.outcome, Reply):
            return False
        return not math.isclose(self.error.value, self.outcome.value.value, rel_tol=1e-9, abs_tol=1e-12)

    @property
    def where(self) -> str:
        """Its keys as tables show them: ``north · f``."""
        return SEPARATOR.join(key_words(key) for _, key in self.label)

    @property
    def spellings(self) -> tuple[str, ...]:
        """The texts that name the cell within its answer: ``north, f``, ``north · f`` and ``ward north · sex f``."""
        found = []
        for text in (str, key_words):  # True of a condition is shown as true
            keys = [text(key) for _, key in self.label]
            named = [text(key) if column == "test" else f"{column} {text(key)}" for column, key in self.label]
            found += [", ".join(keys), SEPARATOR.join(keys), SEPARATOR.join(named)]
        return *found, label_words(self)


def estimate_of(outcome: Outcome[Estimate], name: str, of: str) -> Estimate:
    """The estimate of a reply.

    Parameters
    ----------
    outcome : Outcome
    name : str
        Name that a refusal says.
    of : str
        Noun of what has the outcome.

    Returns
    -------
    Estimate

    Raises
    ------
    NoReplyError
    """
    match outcome:
        case Reply(estimate):
            return estimate
        case NoReply():
            raise NoReplyError(
                f"{name} gave no reply, so it has no value. Handle it: match {of}.outcome: "
                "case rt.Reply(estimate): … case rt.NoReply(): …"
            )


def key_words(key: Key) -> str:
    """A key as people write it."""
    return plain(str(key)) if not isinstance(key, bool) else str(key).lower()


def label_words(cell: Cell, called: Mapping[str, str] = UNCALLED) -> str:
    """``site 1 · sex f``; empty for one number. Bins, coefficients and parts of a test need no name.

    ``called`` has the labels of columns, which stand in place of their names.
    """
    return SEPARATOR.join(
        key_words(key) if name in NAMELESS else f"{plain(called.get(name, name))} {key_words(key)}"
        for name, key in cell.label
    )


def group_words(answer: Answer, cell: Cell, called: Mapping[str, str] = UNCALLED) -> str:
    """``site 3``, ``[0, 5)``: the group and bin of a cell. Of one expression it is the key: the line above names it.

    Parameters
    ----------
    answer : Answer
    cell : Cell
        One of its cells.
    called : mapping of str to str
        Labels of columns, by name.

    Returns
    -------
    str
        Empty for one number, and for all groups together.
    """
    if len(cell.label) == 1 and ("(" in cell.label[0][0] or answer.lists_keys):
        return key_words(cell.label[0][1])
    return label_words(cell, called)


@restored
@dataclass(frozen=True, slots=True)
class IncompleteRows:
    """The share of rows with a cell of ``columns`` that is missing, cannot be read or is not listed.

    ``outcome`` is None where the share was left out, which the plan said before anything was charged. ``origin`` is the
    earlier release that told it, where that is shown again; empty where this release told it. ``of`` is the digest of
    the declared snapshot that the share is of, where one is declared.
    """

    columns: tuple[str, ...]
    outcome: Outcome[Estimate] | None
    origin: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True)
class ValueCount:
    """The noisy number of rows that lack nothing the answer is of, with the scales of its independent noises."""

    number: float
    scales: tuple[float, ...]


@restored
@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question.

    A question about one number has one cell, and ``outcome``, ``value``, ``low``, ``high``, ``noise``, ``sampling``
    speak of it. A histogram, several quantiles or a grouped question has several: iterate, or take ``frame`` of the
    release. It is deliberately not a float.

    Attributes
    ----------
    name : str
        The question as asked, ``mean(mdvis)``.
    cells : tuple of Cell
    caveats : tuple of str
        What clipping or a cap may have changed about what is estimated; public words.
    discrete : bool
        Whether the number is an integer of this table (counts), so that intervals may cover more than their level.
    law : Density or None
        The whole law, where that was asked and there is a reply; the cells are then shares of a few stretches.
        ``density`` is the same, and raises where there is none.
    estimand : str
        The quantity that the answer estimates, in words: "population mean of age, values cut to [0, 110]".
    incomplete : IncompleteRows or None
        The share of rows whose value could not be read; None where no row can lack one.
    values : ValueCount or None
        The number of values that an answer was drawn with, until its release has read the share off it; then None.
    apart : bool
        True if no person is in two of its groups, so that cells of different groups are independent.
    capped : Outcome or None
        The share of persons with more rows than are kept, which the release tells; None where nobody can have more.
    """

    name: str
    cells: tuple[Cell, ...]
    caveats: tuple[str, ...] = ()
    discrete: bool = False
    law: ReleasedLaw | None = None
    estimand: str = ""
    incomplete: IncompleteRows | None = None
    values: ValueCount | None = None
    apart: bool = False
    capped: Outcome[Estimate] | None = None

    if not TYPE_CHECKING:  # a name that other libraries have says what it is called here

        def __getattr__(self, name: str) -> NoReturn:
            from reticent.habits import unknown

            raise unknown("answer", name)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    @door
    def __getitem__(self, keys: Key | tuple[Key, ...]) -> Answer:
        """The answer of one group or bin: ``answer["north"]``; of several columns ``answer["north", "f"]``.

        Keys that leave out a column, or a margin, stand for all cells that have them.

        Raises
        ------
        QuestionError
            No cell has these keys.
        """
        texts = [str(key) for key in (keys if isinstance(keys, tuple) else (keys,))]
        found = [cell for cell in self.cells if set(texts) <= {str(key) for _, key in cell.label}]
        exact = [cell for cell in found if [str(key) for _, key in cell.label] == texts]
        chosen = exact or [cell for cell in found if cell in self.body]
        if not chosen and len(texts) == 1:
            chosen = [cell for cell in self.cells if cell.label and texts[0] in cell.spellings]
        if not chosen:
            shown = first_of(cell.where for cell in self.cells)
            told = f"It has: {shown}." if shown else "It is one number."
            raise QuestionError(f"{self.name} has no cell {first_of(texts)}. {told}")
        return replace(self, cells=tuple(chosen))

    @property
    def bare(self) -> bool:
        """True if no interval was bought, so that ``low`` and ``high`` are public ends and say nothing of the data."""
        return NO_ENDS in self.caveats

    def has_interval(self, cell: Cell) -> bool:
        """Tell if the ends of a cell are those of an interval; elsewhere they are shown and written nowhere."""
        return not (self.bare or cell.as_it_is)

    @property
    def lists_keys(self) -> bool:
        """True for the keys, bins or stretches of one column, which the name of the answer tells."""
        of_one = len({name for cell in self.cells for name, _ in cell.label}) == 1
        return of_one and self.name.startswith(LISTS) and all(len(cell.label) == 1 for cell in self.cells)

    @property
    def body(self) -> tuple[Cell, ...]:
        """The cells without the margins of their groups, whose labels lack what is summed."""
        return tuple(cell for cell in self.cells if len(cell.label) == len(self.cells[0].label))

    @property
    def shown(self) -> tuple[Cell, ...]:
        """The cells as people are shown them: ends that say nothing stand at the value."""
        return tuple(map(_without_ends, self.cells)) if self.bare else self.cells

    @property
    def outcome(self) -> Outcome[Estimate]:
        """``Reply(Estimate)`` or ``NoReply()``; for one cell only."""
        if len(self.cells) != 1:
            raise QuestionError(
                f"{self.name} has {len(self.cells)} cells. Iterate over it, or use the release's frame()."
            )
        return self.cells[0].outcome

    @property
    def estimate(self) -> Estimate:
        """The estimate of the only cell.

        Raises
        ------
        NoReplyError
            Where the answer is no reply.
        """
        return estimate_of(self.outcome, self.name, "answer")

    @property
    def density(self) -> ReleasedLaw:
        """The density, where the question was one: pdf, cdf, quantile, probability, sample, plot.

        Raises
        ------
        NoReplyError
            Where the answer is no reply.
        QuestionError
            Where this is no answer to a density.
        """
        if self.law is not None:
            return self.law
        if all(isinstance(cell.outcome, NoReply) for cell in self.cells) and self.name.startswith("density("):
            raise NoReplyError(
                f"{self.name} gave no reply, so there is no density. Handle it: answer.law is None then."
            )
        raise QuestionError(f"{self.name} is no density: rt.density(…) asks for one.")

    @property
    def value(self) -> float:
        return self.estimate.value

    @property
    def date(self) -> datetime.date:
        """The date that the value stands for, of an answer that is one; a datetime where it is a time."""
        return self.estimate.date

    @property
    def low(self) -> float:
        return self.estimate.low

    @property
    def high(self) -> float:
        return self.estimate.high

    @property
    def noise(self) -> float:
        """Half-width of the interval part due to privacy noise."""
        return self.estimate.noise

    @property
    def sampling(self) -> float:
        """Half-width of the interval part due to sampling."""
        return self.estimate.sampling

    @property
    def p_value(self) -> float:
        """The p-value of a test, which knows the privacy noise; its effect is the first cell.

        Raises
        ------
        QuestionError
            Where this is no answer to a test.
        NoReplyError
            Where the answer is no reply.
        """
        for cell in self.cells:
            if cell.label == P_VALUE:
                return Answer(self.name, (cell,)).value
        raise QuestionError(f"{self.name} is no test, so it has no p-value.")

    def __float__(self) -> float:
        self.estimate  # noqa: B018 - raises NoReplyError first, which says more
        raise TypeError(
            f"{self.name} is an answer with an interval, not a float: use .value, .low and .high, or keep the interval."
        )

    def __format__(self, spec: str) -> str:
        return format(self.estimate, spec) if spec else str(self)

    def __str__(self) -> str:
        return "\n".join(_line(self, cell) for cell in self.shown)

    def __repr__(self) -> str:
        return str(self)


def estimates(answers: Iterable[Answer]) -> tuple[str, ...]:
    """A line for each answer that names its estimand: ``mean(age): population mean of age``."""
    return tuple(f"{answer.name}: {answer.estimand}" for answer in answers if answer.estimand)


def _without_ends(cell: Cell) -> Cell:
    match cell.outcome:
        case Reply(e):
            return replace(cell, outcome=Reply(replace(e, low=e.value, high=e.value, noise=0.0, sampling=0.0)))
        case NoReply():
            return cell


@dataclass(frozen=True, slots=True)
class CellText:
    """One number of an answer as terminal, page and notebook print it; a dash stands for what it lacks."""

    value: str
    interval: str
    noise: str
    sampling: str


def meant(text: str, answers: Mapping[str, Answer]) -> str:
    """The cell whose keys a text has behind its answer, or alone, as it is named: ``mean(x) by g · a``; else empty."""
    for name, answer in answers.items():
        keys = text.removeprefix(name).strip(" ,·") if text.startswith(name) else ""
        if any(keys in cell.spellings for cell in answer if keys):
            return f"{name}{SEPARATOR}{keys}"
    for name, answer in answers.items():
        for cell in answer:
            if cell.where and text in cell.spellings:
                return f"{name}{SEPARATOR}{cell.where}"
    return ""


def head_level(answers: Iterable[Answer]) -> float:
    """The level that the head of a table of answers names; a row of another level says its own beside it."""
    replies = (cell.outcome for answer in answers for cell in answer)
    levels = {reply.value.level for reply in replies if isinstance(reply, Reply)} or {LEVEL}
    return LEVEL if LEVEL in levels else max(levels)


def printed(cell: Cell, *, bare: bool = False, level: float = LEVEL) -> CellText | None:
    """The numbers of a cell to two digits of its interval, the ends rounded outwards; None for no reply.

    Parameters
    ----------
    cell : Cell
        The cell.
    bare : bool
        Its interval holds nothing beside the number.
    level : float
        Level that the head of the table names; an interval of another one says its own.

    Returns
    -------
    CellText or None
    """
    match cell.outcome:
        case NoReply():
            return None
        case Reply(estimate):
            text = shown(estimate)
            own = "" if estimate.level == level else f" ({100 * estimate.level:g} %)"
            interval = "–" if bare or cell.as_it_is else f"{text.low} to {text.high}{own}"
            return CellText(_bounded(cell, estimate, text.value), interval, text.noise, text.sampling)


def on_a_line(cell: Cell, *, bare: bool = False) -> str:
    """``2.79 (95 % 2.61 to 2.97)``, the value alone where no interval was bought, or ``no reply``."""
    match cell.outcome:
        case Reply(estimate):
            alone = bare or cell.as_it_is
            return _bounded(cell, estimate, shown(estimate).value) if alone else str(estimate)
        case NoReply():
            return "no reply"


def _bounded(cell: Cell, estimate: Estimate, text: str) -> str:
    """The number of a cell; a p-value that no simulated table reached is said to be at most what it is."""
    return f"≤ {text}" if cell.label == P_VALUE and estimate.low == 0.0 < estimate.value else text


def _line(answer: Answer, cell: Cell) -> str:
    title = SEPARATOR.join(filter(None, (plain(answer.name), group_words(answer, cell))))
    return f"{title}: {on_a_line(cell, bare=answer.bare)}"
