"""Public circumstances of a fit, and the order of one: reserve, read, draw, certify, commit.

    Circumstances   neighbours, ledger, bounds, the public number of rows; how to read the rows once that is paid
    of_arrays       for arrays the caller holds: neighbours, bounds and ledger must be named, nothing is taken from them
    of_handles      for handles on a study, which has all three
    paid            reserve, read, draw, certify, commit; whatever fails after the charge is one opaque fault

A row of an array is a person's, or one of at most ``rows_each`` of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, SupportsFloat, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.certificate import Certificate
from reticent.certificate.makers import ARRAYS, FitColumns, Statement, of_model
from reticent.certificate.record import by_ledger, column_to_json
from reticent.certificate.snapshot import recorded
from reticent.data.schema import Person
from reticent.entropy import SystemEntropy
from reticent.errors import Fault, PublicParameterError, QuestionError, bare
from reticent.learning.fit.array_check import cells
from reticent.learning.fit.handles import Handle, Shelf
from reticent.learning.fit.held_arrays import Size, held
from reticent.ledger import Ledger, Receipt
from reticent.ledger.account import note_fault
from reticent.mechanisms import gate
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.cost import UNNAMED, Cost
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import words
from reticent.privacy.numbers import Number, read
from reticent.statistics.context import values_of
from reticent.statistics.price import Price
from reticent.statistics.scaling import Bound, Floats, Integers, refuse_too_many
from reticent.statistics.shares import ASSUMED

T = TypeVar("T")
Between: TypeAlias = Literal["add_remove", "substitute"]
Bounds: TypeAlias = Sequence[object] | Mapping[str, object] | None
Owned: TypeAlias = tuple[Floats, NDArray[np.generic] | None, Integers]
MOST_EPSILON = 10


class DefaultEpsilon(int):
    """The epsilon of a fit that names none: 1, which plans and certificates say.

    Its words come by a call: scikit-learn's checks allow a default to be a plain number or a function.
    """

    def __call__(self) -> str:
        """The note of a plan, and the caveat of a certificate."""
        return f"{UNNAMED}: a fit costs ε {int(self)} then, and epsilon=… names another price"


ONE: Final = DefaultEpsilon(1)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Circumstances:
    """Everything public of one fit, and ``read``, which gives X and y as they are: called once, after the charge.

    ``shelf`` and ``target`` are where the columns are kept and the name of y; None for arrays. ``choices``: how many
    columns are keys of categories, and of how many categories. ``source`` is what the coins are drawn for: the shelf,
    or the study that arrays are charged to, which an audit watches. ``complete``: whether it is public that no row
    lacks a value. ``owned`` is ``read`` with a number for the person of each row beside it, for coins that are dealt
    out by person. ``aside`` is the share of epsilon that is kept for what stands beside a fit.
    ``most_weight``: the last column that is read has the weights of the rows, cut to it; ``weights`` is its name in a
    study. ``steps`` is how many steps of one person's rows a price is shared by: what is priced there is ``lifted``.
    """

    names: tuple[str, ...] | None
    bounds: tuple[Bound, ...]
    neighbours: Adjacency
    ledger: Ledger
    people: int | None
    read: Callable[[], tuple[Floats, NDArray[np.generic] | None]]
    shelf: Shelf | None = None
    target: str | None = None
    choices: tuple[int, int] = (0, 0)
    source: object = None
    complete: bool = False
    owned: Callable[[], Owned] | None = None
    aside: Fraction = Fraction(0)
    most_weight: Fraction | None = None
    weights: str = ""
    steps: int = 1

    def __post_init__(self) -> None:
        refuse_too_many(self.people)  # here, before the charge, as the number is public

    @property
    def exact(self) -> int | None:
        """The number of rows, where it is public and exact."""
        return self.people if self.neighbours.kind == "substitute" and self.neighbours.rows == 1 else None

    def lifted(self, guarantee: Guarantee) -> Guarantee:
        """The guarantee of all that was priced here, for the neighbours of the ledger."""
        return guarantee if self.shelf is None else self.shelf.lifted(guarantee)

    @property
    def known(self) -> int | None:
        """The number of rows that lack nothing, where it is public."""
        return self.people if self.complete else None

    def rows_of(self, people: int | None) -> int:
        """Rows that so many people have, as plans suppose; without a number, of those declared, else of 10,000."""
        if self.shelf is not None:
            return self.shelf.rows_of(people)
        person = Person("add_remove", "person", self.neighbours.rows)
        return values_of(people or ASSUMED, person.rows, person)

    @property
    def supposed(self) -> int:
        """The number of rows that public rules go by: the public one, else as plans suppose."""
        return self.rows_of(None) if self.people is None else self.people

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns that are read, the target and the weights among them; empty for nameless arrays."""
        return tuple(filter(None, (*(self.names or ()), self.target, self.weights)))


def default_words(epsilon: Number) -> tuple[str, ...]:
    """The words of an epsilon that nobody named; none where one was named."""
    return (epsilon(),) if isinstance(epsilon, DefaultEpsilon) else ()


def price_of(epsilon: Number, delta: Number, here: Circumstances) -> Price:
    """The price of a fit, with the checks of a release.

    Parameters
    ----------
    epsilon, delta : number
    here : Circumstances

    Returns
    -------
    Price
        In the currency of the ledger; of one step, where rows reach their person through a key.

    Raises
    ------
    PublicParameterError
        An epsilon above 10, or a delta of a tenth of one person or more.
    """
    exact, spare = read(epsilon, "epsilon"), read(delta, "delta")
    if exact > MOST_EPSILON:
        raise PublicParameterError(f"ε above {MOST_EPSILON} protects no one; a model costs at most that")
    if spare >= Fraction(1, 10 * max(here.people or 1, 1)):  # where their number is private, of one person
        raise PublicParameterError("delta of a tenth of one person or more lets people be exposed outright")
    if here.steps > 1 and exact > 0:
        one = Cost(epsilon=exact, delta=spare or None).of_one_step(here.steps)
        exact, spare = exact / here.steps, one.delta or Fraction(0)
    return Price(exact * (1 - here.aside), spare, here.neighbours, currency=here.ledger.currency)


def of_handles(x: Handle, y: Handle | None, bounds: Bounds) -> Circumstances:
    """Circumstances of a fit to columns of one study.

    Parameters
    ----------
    x : Handle
    y : Handle or None
    bounds : pair, sequence of pairs, or mapping of column to pair
        In the units of the columns.

    Returns
    -------
    Circumstances

    Raises
    ------
    QuestionError
        X and y that are not of one study.
    """
    shelf = x.shelf
    if y is not None and y.shelf is not shelf:
        raise QuestionError("X and y are columns of one study: take both from one call of xy")
    given = x.bounds if bounds is None else read_bounds(bounds, x.columns, x.bounds)
    columns = (*x.columns, *(() if y is None else y.columns))

    def apart(found: Floats) -> tuple[Floats, NDArray[np.generic] | None]:
        return found[:, : len(x.columns)], None if y is None else shelf.named(y.columns[0], found[:, -1])

    def owned() -> Owned:
        found, owners = shelf.owned(columns)
        return *apart(found), owners

    return Circumstances(
        x.columns,
        given,
        shelf.neighbours,
        shelf.ledger,
        shelf.people,
        lambda: apart(shelf.read(columns)),
        shelf,
        None if y is None else y.columns[0],
        x.clipped(given).choices,
        shelf,
        shelf.complete(columns),
        owned,
        steps=shelf.steps,
    )


def of_arrays(
    x: object,
    y: object | None,
    bounds: Bounds,
    adjacency: Between | None,
    ledger: Ledger | None,
    people: int | None,
    rows_each: int,
    columns: int | None = None,
) -> Circumstances:
    """Circumstances of a fit to arrays.

    Before the charge it reads types, the number of columns, and the number of rows if public.

    A list has as many columns as there are pairs of bounds; with one pair for all, as many as ``columns``.

    Parameters
    ----------
    x : array of shape (n, columns)
    y : array of shape (n,) or None
    bounds : pair, sequence of pairs, or mapping of column to pair
        In the units of the columns.
    adjacency : Between or None
        Neighbours of the rows.
    ledger : Ledger or None
    people : int or None
        The public number of people.
    rows_each : int
        Most rows of a person.
    columns : int, optional
        Number of columns, where nothing else states it.

    Returns
    -------
    Circumstances

    Raises
    ------
    PublicParameterError
        Without neighbours, bounds or a ledger.
    TypeError, ValueError
        For what is no table of numbers, by its type.
    """
    if adjacency is None or adjacency not in get_args(Between):
        got = "There is no default." if adjacency is None else f"Got {adjacency!r}."
        raise PublicParameterError(
            'Choose adjacency: "add_remove" hides whether someone is in the rows; "substitute" hides what their row '
            f"says and makes the number of rows public. {got}"
        )
    if bounds is None:
        raise PublicParameterError(
            "Name bounds=(low, high), or one pair for each column, known without looking at the rows. Nothing was "
            "charged."
        )
    if ledger is None:
        raise PublicParameterError("Name ledger=…: without one nothing would remember what is spent.")
    if not isinstance(ledger, Ledger):
        raise PublicParameterError(
            f"ledger is a Ledger, got {ledger!r}. Ledger.create(path, …) makes one, Ledger.open(path) opens it."
        )
    if people is not None and (type(people) is not int or people < 1):
        raise PublicParameterError(f"people is a whole number >= 1, got {people!r}. Nothing was charged.")
    neighbours = Adjacency(adjacency, rows_each)
    if ledger.adjacency != neighbours:
        raise PublicParameterError(f"this ledger counts for another unit: {ledger.adjacency.words()}")
    size: Size = "public" if adjacency == "substitute" and rows_each == 1 else "private"
    kept = held(x, y, columns_of(bounds) or columns, size)
    given = read_bounds(bounds, names_of(x) or kept.columns)
    known = people if kept.rows is None else kept.rows
    return Circumstances(names_of(x), given, neighbours, ledger, known, kept.read)


def vouched(here: Circumstances, of_y: Bound | None) -> Circumstances:
    """Arrays of which it is vouched that no row lacks a value: where one does, the middle of the bounds stands there.

    ``of_y`` are the bounds of a target that is a number; other targets stay as they are.
    """
    middles = np.array([float(low + high) / 2 for low, high in here.bounds])

    def read() -> tuple[Floats, NDArray[np.generic] | None]:
        values, targets = here.read()
        values = np.where(np.isfinite(values), values, middles)
        if of_y is None or targets is None:
            return values, targets
        found = cells(targets)
        return values, np.where(np.isfinite(found), found, float(sum(of_y)) / 2)

    return replace(here, read=read, complete=True)


def columns_of(bounds: Bounds) -> int | None:
    """The number of columns, where there is a pair of bounds for each; None for one pair for all."""
    if bounds is None or isinstance(bounds, Mapping):
        return None
    listed = list(bounds)
    return None if _is_pair(listed) else len(listed)


def numbers(targets: NDArray[np.generic] | None) -> Floats:
    """Targets as numbers; what is none is missing."""
    assert targets is not None
    return cells(targets)


def names_of(x: object) -> tuple[str, ...] | None:
    """Names of the columns of a data frame, where all are text."""
    columns = getattr(x, "columns", None)
    if columns is None:
        return None
    found = [name for name in columns if isinstance(name, str)]
    return tuple(found) if len(found) == len(list(columns)) else None


def read_bounds(
    bounds: Bounds, columns: Sequence[str] | int, declared: Sequence[Bound] | None = None
) -> tuple[Bound, ...]:
    """One exact pair for each column, from one pair for all, from a list of as many pairs, or by name.

    ``columns`` are their names, or how many there are. A column of a handle that is not named has ``declared``.

    Parameters
    ----------
    bounds : pair, sequence of pairs, or mapping of column to pair
        In the units of the columns.
    columns : sequence of str, or int
        Names, or how many there are.
    declared : sequence of pairs, optional
        Bounds of the columns of a handle.

    Returns
    -------
    tuple of pairs of Fraction

    Raises
    ------
    PublicParameterError
        No bounds, or as many as fit no column.
    """
    if bounds is None:
        raise PublicParameterError("bounds are public and have no default")
    if isinstance(bounds, Mapping):
        return _by_name(bounds, columns, declared)
    columns = columns if isinstance(columns, int) else len(columns)
    listed = list(bounds)
    if _is_pair(listed):
        listed = [listed] * columns
    if len(listed) != columns:
        raise PublicParameterError(f"{columns} columns need as many pairs of bounds, got {len(listed)}")
    return tuple(_pair(part) for part in listed)


def _is_pair(listed: Sequence[object]) -> bool:
    """Tell if these are two bounds, and not two pairs of them."""
    return len(listed) == 2 and not any(
        isinstance(part, Sequence | np.ndarray) and np.size(part) > 1 for part in listed
    )


def _by_name(
    bounds: Mapping[str, object], columns: Sequence[str] | int, declared: Sequence[Bound] | None
) -> tuple[Bound, ...]:
    if isinstance(columns, int):
        raise PublicParameterError("bounds by name need columns with names: a data frame, or a handle of study.xy")
    found = dict(zip(columns, declared, strict=True)) if declared is not None else {}
    for name in columns:
        if name in bounds:
            found[name] = _pair(bounds[name])
        elif name not in found:
            raise PublicParameterError(f"bounds has no pair for {name}")
    return tuple(found[name] for name in columns)


def _pair(part: object) -> Bound:
    if not isinstance(part, Sequence | np.ndarray) or isinstance(part, str) or len(part) != 2:
        raise PublicParameterError("the bounds of a column are a pair (low, high)")
    low, high = part
    return outward(low), outward(high)


def outward(bound: object) -> Fraction:
    """A bound as the rational its shortest text names."""
    if isinstance(bound, int | str | Fraction) and not isinstance(bound, bool):
        return read(bound, "a bound")
    if isinstance(bound, SupportsFloat) and np.isfinite(float(bound)):
        return Fraction(repr(float(bound)))
    raise PublicParameterError("a bound is a finite number")


def _certified(
    here: Circumstances, guarantee: Guarantee, receipt: Receipt, found: Statement, about: tuple[str, str, str]
) -> Certificate:
    """The certificate of what ``found`` states; ``about``: name, purpose, who."""
    proof = compose.in_zcdp(guarantee) if here.ledger.currency == "zcdp" else guarantee
    source, declared = ARRAYS, {}
    if here.shelf is not None:
        source = here.shelf.source
        declared = {name: column_to_json(column) for name, column in here.shelf.declared(here.columns).items()}
    columns = here.names or tuple(f"x{place}" for place in range(len(here.bounds)))
    axes = FitColumns(columns, here.bounds, here.target, declared)
    public = by_ledger(here.ledger, *about, source, here.people or None)
    if here.shelf is not None:
        shelf, (unit, household) = here.shelf, here.shelf.protected
        public = replace(public, snapshot=shelf.known().word, where=shelf.where, tables=shelf.tables)
        public = replace(public, unit=unit, household=household)
        if shelf.lift_words:
            found = replace(found, caveats=(*found.caveats, shelf.lift_words))
    return of_model(found, axes, public, proof, receipt, here.ledger)


def _formula(here: Circumstances) -> str:
    """The columns of a fit as a formula: ``wage ~ hours, age``."""
    columns = ", ".join(here.names or ())
    return columns if here.target is None else f"{here.target} ~ {columns}"


def paid(
    here: Circumstances,
    guarantee: Guarantee,
    what: str,
    draw: Callable[[Floats, NDArray[np.generic] | None, SystemEntropy], T],
    tell: Callable[[T], Statement],
    *,
    purpose: str = "",
    who: str = "curator",
) -> tuple[T, Certificate]:
    """Result of ``draw`` on the rows, charged first, and its certificate: ``bought`` for a draw that reads rows.

    Parameters
    ----------
    here : Circumstances
    guarantee : Guarantee
        Its loss is charged first.
    what : str
        Words of the ledger's entry.
    draw : function
        Takes features, targets and the system's entropy.
    tell : function
        Facts of the result that the certificate shows.
    purpose, who : str
        For the ledger and the certificate.

    Returns
    -------
    pair of the result, and Certificate
    """
    return bought(here, guarantee, what, lambda entropy: draw(*here.read(), entropy), tell, purpose=purpose, who=who)


def bought(
    here: Circumstances,
    guarantee: Guarantee,
    what: str,
    draw: Callable[[SystemEntropy], T],
    tell: Callable[[T], Statement],
    *,
    of_row: tuple[float, int] = (0.0, 0),
    purpose: str = "",
    who: str = "curator",
) -> tuple[T, Certificate]:
    """Result of ``draw`` on rows that it reads, charged first, with a certificate whose digest the ledger holds.

    ``tell`` says what of it the certificate shows; it is given what was drawn and nothing of the rows.

    Parameters
    ----------
    here : Circumstances
    guarantee : Guarantee
        Its loss is charged first.
    what : str
        Words of the ledger's entry, which has the columns beside them.
    draw : function
        Reads the rows itself, and takes the system's entropy.
    tell : function
        Facts of the result that the certificate shows.
    of_row : pair of float and int
        Seconds that it takes of a row of a study, and bytes beside its cells.
    purpose, who : str
        For the ledger and the certificate.

    Returns
    -------
    pair of the result, and Certificate

    Raises
    ------
    BudgetError, LedgerError
        Before any row is read.
    Fault
        After the charge, whatever went wrong; its text is constant but for the reference.
    """
    charge = compose.in_zcdp(guarantee).loss if here.ledger.currency == "zcdp" else guarantee.loss
    if here.shelf is not None:
        here.ledger.check(charge, adjacency=guarantee.adjacency)  # before a cluster is started for it
        here.shelf.ready(here.columns, of_row)
    entry = what if here.names is None else f"{what}: {_formula(here)}"[:200]
    receipt = here.ledger.reserve(charge, adjacency=guarantee.adjacency, what=entry, purpose=purpose, who=who)
    try:
        found = draw(gate.coins_for(here.source))
        statement = tell(found)
        certificate = _certified(here, guarantee, receipt, statement, (what, purpose, who))
        here.ledger.commit(receipt, digest=certificate.digest, shares=recorded(statement.incomplete))
        return found, certificate
    except BaseException as cause:
        reference = f"f-{receipt.id.removeprefix('r-')}"
        note_fault(here.ledger, receipt, reference)
        if not isinstance(cause, Exception):
            raise bare(cause) from None
    # Raised here and not in the handler: the cause, whose frames hold private rows, is not even its __context__.
    raise Fault(reference, words(guarantee.loss))


__all__ = [
    "Between",
    "Bounds",
    "Circumstances",
    "Owned",
    "bought",
    "columns_of",
    "numbers",
    "of_arrays",
    "of_handles",
    "outward",
    "paid",
    "price_of",
    "read_bounds",
    "vouched",
]
