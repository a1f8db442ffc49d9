"""Queries of rows, and the sensitivity of each: the largest change of the answer by one person.

A query is answered with integers only. It knows nothing of noise or budgets. ``plan`` turns it into an engine
expression. ``stability`` (here) gives, for each integer, the most it can change between neighbours. With keys the
answer is one such vector per key and the stability is the L1 change over all keys together.

Which rows count
----------------
*Kept rows*: rows with a person (where a person column is declared), at most ``rows`` of them per person, chosen by a
keyed hash over all groups together. ``Total`` of all rows uses every row and clamps the total of each person instead.
``per="person"`` first averages the kept rows of a person (and group) into one value. A row whose key is not among the
public keys belongs to no group. With keys a person is counted in at most ``touch`` groups, chosen by a keyed hash. The
rows in the others do not count for that query.

Proof of the stabilities: adding or removing a person adds or removes at most ``rows`` kept rows (the choice is made
inside one person). Replacing a person does both, and a person has at least one row on either side, unless rows were
filtered. Each row adds to each integer at most the bound given beside it. ``tests/laws/test_stability.py`` enumerates
all neighbours of small tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from reticent.data.schema import LARGEST, SMALLEST, FixedPointGrid, Key, Person
from reticent.errors import PublicParameterError, restored

if TYPE_CHECKING:
    from reticent.data.order_statistics import Needs, RankWindows

Per: TypeAlias = Literal["row", "person"]
On: TypeAlias = Literal["column", "binades"]
Of: TypeAlias = Literal["all", "kept"]

POWER_ONE = 1 << 30  # the integer that stands for 1 in powers two and above
WEIGHT_ONE = 1 << 20  # the integer that stands for the largest weight


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A public file of keys as it was read: its path, and the SHA-256 of its bytes."""

    path: str
    digest: str

    @property
    def name(self) -> str:
        return PurePath(self.path).name


@restored
@dataclass(frozen=True, slots=True)
class Keys:
    """Public groups: the column and the values asked for. ``touch`` is the most groups one person can be in.

    ``parts`` are the names and keys of the columns whose product ``among`` is, in order; none of one column.
    Where only some of that product are asked for, ``cells`` has their keys, one of each column. ``told`` is what a
    question says of its groups behind the columns: ``keys=found at_least=20``. ``file`` is the public one that lists
    them.
    """

    column: str
    among: tuple[Key, ...]
    touch: int
    parts: tuple[tuple[str, tuple[Key, ...]], ...] = ()
    told: str = ""
    cells: tuple[tuple[Key, ...], ...] = ()
    file: KeyFile | None = None

    def __post_init__(self) -> None:
        if self.touch < 1:
            raise PublicParameterError(f"groups one person may be in must be >= 1, got {self.touch}")
        if not self.among or len(set(self.among)) != len(self.among):
            raise PublicParameterError("groups must be a list of different values, at least one")
        if self.parts and (len(self.cells) or prod(len(keys) for _, keys in self.parts)) != len(self.among):
            raise PublicParameterError("groups of several columns are all of their product, or have their cells")

    @property
    def title(self) -> str:
        """The columns, as a question names them behind ``by``."""
        return ", ".join(name for name, _ in self.parts) or self.column

    @property
    def clause(self) -> str:
        """All that a question says behind ``by``."""
        return f"{self.title} {self.told}" if self.told else self.title

    @property
    def is_found(self) -> bool:
        """True if a release found the keys."""
        return self.told.startswith("keys=found")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, or expressions in their place."""
        return tuple(name for name, _ in self.parts) or (self.column,)

    @property
    def labels(self) -> tuple[tuple[tuple[str, Key], ...], ...]:
        """The label of each group: of a product one key of each column."""
        if not self.parts:
            return tuple(((self.column, key),) for key in self.among)
        names = [name for name, _ in self.parts]
        several = self.cells or product(*(keys for _, keys in self.parts))
        return tuple(tuple(zip(names, keys, strict=True)) for keys in several)


@dataclass(frozen=True, slots=True)
class Rows:
    """One integer: the number of kept rows."""

    keys: Keys | None = None


@dataclass(frozen=True, slots=True)
class PresentValues:
    """One integer: kept rows (or persons) whose ``column`` is not missing."""

    column: str
    keys: Keys | None = None
    per: Per = "row"


@dataclass(frozen=True, slots=True)
class DistinctPersons:
    """One integer: distinct persons (with keys: persons with a row in the group)."""

    keys: Keys | None = None


@dataclass(frozen=True, slots=True)
class KeyShares:
    """Public numbers by which each text has a share: the texts of a person have a sum of shares.

    A person in d texts gives each ``weights[d - 1]``. The share of a text is made of straight ``pieces`` (start,
    length, slope) of its whole weight.
    """

    weights: tuple[int, ...]
    pieces: tuple[tuple[int, int, int], ...]

    def __post_init__(self) -> None:
        if sum(length * slope for _, length, slope in self.pieces) * len(self.weights) >= 1 << 63:
            raise PublicParameterError("shares of the texts of a person have a sum below 2^63")


@dataclass(frozen=True, slots=True)
class KeyHolders:
    """Texts of a column that somebody has, with the number of persons who have each; a person counts in ``touch``.

    Which texts there are is private, so it is no vector with a stability: it feeds a selection. The number of persons
    of a text changes by at most 1, for at most ``touch`` texts when a person comes or goes. ``by_degree``: persons are
    told apart by in how many texts they count. ``shares``: for each such number, the sum over its persons of the shares
    of all their texts is told, too. One person may change that of any text; the selection bounds by how much.
    """

    column: str
    touch: int
    by_degree: bool = False
    shares: KeyShares | None = None

    def __post_init__(self) -> None:
        if self.touch < 1:
            raise PublicParameterError(f"keys one person may count in must be >= 1, got {self.touch}")
        if self.shares is not None and (not self.by_degree or len(self.shares.weights) != self.touch):
            raise PublicParameterError("shares need a weight for each number of texts of a person")


@dataclass(frozen=True, slots=True)
class CappedPersons:
    """One integer: persons with more rows than the cap, so that some of their rows were left out.

    With ``above`` one integer for each number there: persons with more rows than that.
    """

    above: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Incomplete:
    """One integer: kept rows with an odd cell in one of ``columns``, whatever stands in for it.

    A cell is odd where it is missing, cannot be read as what its column is declared to be, or is not listed.
    """

    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise PublicParameterError("incomplete rows are of one column or more, each named once")


@dataclass(frozen=True, slots=True)
class Total:
    """One integer: the sum over persons of their total, each total clamped to what ``rows`` rows can reach.

    A missing value counts 0 (or its public stand-in). With keys the clamp is per person and group: a person in several
    groups can reach as much in each. With ``of="kept"`` it is the sum over kept rows, of which a person has at most
    ``rows`` over all groups together.
    """

    column: str
    grid: FixedPointGrid
    keys: Keys | None = None
    of: Of = "all"


@dataclass(frozen=True, slots=True)
class Moments:
    """``1 + order`` integers: the number of present values, then sums of powers 1..order about the grid's middle.

    Power 1 is in grid steps. Power j >= 2 is of the value divided by ``grid.reach``, in units of 2**-30, rounded
    to the nearest.
    """

    column: str
    grid: FixedPointGrid
    order: int
    keys: Keys | None = None
    per: Per = "row"


@dataclass(frozen=True, slots=True)
class Tally:
    """One integer per bin: kept rows by bin.

    ``edges``: bins [e0, e1), ..., [e_{m-1}, e_m]; values outside go to the nearer end bin.
    ``among``: one bin per listed value. Missing values are in no bin.
    """

    column: str
    edges: tuple[Fraction, ...] = ()
    among: tuple[Key, ...] = ()
    keys: Keys | None = None

    def __post_init__(self) -> None:
        if any(abs(edge) > LARGEST for edge in self.edges):
            raise PublicParameterError("edges must lie within 1e300 of zero")

    @property
    def bins(self) -> int:
        return len(self.among) or len(self.edges) - 1


@restored
@dataclass(frozen=True, slots=True)
class Ranks:
    """The candidate cells that hold kept values, in order, with how many: two integer arrays of equal length.

    Not a vector with a stability: it feeds a score, whose sensitivity is counted in kept rows (``kept_rows``). The
    cells are those of the column. With ``on="binades"`` they are those of a real column without bounds. Each is a
    millionth of its values wide, so that logarithms can be taken of them.

    With a ``weight`` each kept row counts as its weight, an integer from 0 to 2**20, or as the square of that over
    2**20, rounded down, where ``power`` is 2. A row without a weight does not count.
    """

    column: str
    keys: Keys | None = None
    per: Per = "row"
    on: On = "column"
    weight: Weighing | None = None
    power: Literal[1, 2] = 1
    windows: RankWindows | None = None


@dataclass(frozen=True, slots=True)
class OrderedValues:
    """The kept values as integers, in order: floor(x / unit), within +-2^61 (``data/order_statistics.py``).

    The quotient is the double nearest to x / unit, so a unit that is a power of two is exact. Missing values are left
    out unless the column has a public stand-in. ``needs``: public ranks to fetch; None: the whole column as runs of
    equal values. ``within`` are public bounds that every value is moved to first, row by row. Feeds a score, as
    ``Ranks`` does.
    """

    column: str
    unit: Fraction
    needs: Needs | None = None
    keys: Keys | None = None
    per: Per = "row"
    within: tuple[Fraction, Fraction] | None = None

    def __post_init__(self) -> None:
        _check_unit(self.unit)
        if self.within is not None and not self.within[0] < self.within[1]:
            raise PublicParameterError("the bounds that values are moved to rise")


@dataclass(frozen=True, slots=True)
class Records:
    """The kept rows of several columns as integers, floor(x / unit) within +-2^61: an array of shape (n, columns).

    A row with a missing value (without a public stand-in) is (ABSENT, 0, ...). Every kept row is thus one record, and a
    person adds at most ``rows`` of them. Records are sorted: their order tells nothing of the file. Feeds a score.

    ``coded`` names the categories among the columns: each value is the place of its key in the declared list, and a
    value that is not listed is missing. A category that is not named there is refused.

    ``owners="told"`` numbers the persons, in any order: all rows of one have the same number. It is for coins that are
    dealt out by person, and as private as the records.
    """

    columns: tuple[str, ...]
    units: tuple[Fraction, ...]
    coded: tuple[str, ...] = ()
    owners: Literal["told", "untold"] = "untold"

    def __post_init__(self) -> None:
        if not self.columns or len(self.columns) != len(self.units):
            raise PublicParameterError("records are of one column or more, each with its unit")
        if not set(self.coded) <= set(self.columns):
            raise PublicParameterError("coded names columns of the records")
        for unit in self.units:
            _check_unit(unit)


@dataclass(frozen=True, slots=True)
class Weighing:
    """Weights of rows: a column between 0 and a public ``highest``, as integers from 0 to 2**20.

    A row of weight v there counts in three parts, floor((1 - v)^2), the rest, and floor(v^2) in units of 2**-20. They
    are integers, at least 0, and come to 2**20 for every row, whatever its weight. A row without a weight does not
    count; a weight below 0 counts as 0, one above ``highest`` as that.
    """

    column: str
    highest: Fraction

    def __post_init__(self) -> None:
        if not SMALLEST <= self.highest <= LARGEST:
            raise PublicParameterError("the largest weight must lie between 1e-250 and 1e300")


PARTS = 3  # of a weight


@dataclass(frozen=True, slots=True)
class WeightedMoments:
    """The number of values and their sums of powers 1..order, as ``Moments`` has them, once for each part of a weight.

    Of a category ``order`` is 0. With ``column`` None every row with a weight counts, and ``order`` is 0.
    """

    column: str | None
    weight: Weighing
    grid: FixedPointGrid | None
    order: int
    keys: Keys | None = None

    def __post_init__(self) -> None:
        if (self.grid is None) != (self.order == 0):
            raise PublicParameterError("sums of powers need a grid")


@dataclass(frozen=True, slots=True)
class WeightedTally:
    """Weights of kept rows by bin, as ``Tally`` has rows: three integers per bin, one for each part of a weight."""

    column: str
    weight: Weighing
    edges: tuple[Fraction, ...] = ()
    among: tuple[Key, ...] = ()
    keys: Keys | None = None

    def __post_init__(self) -> None:
        if any(abs(edge) > LARGEST for edge in self.edges):
            raise PublicParameterError("edges must lie within 1e300 of zero")

    @property
    def bins(self) -> int:
        return len(self.among) or len(self.edges) - 1


def _check_unit(unit: Fraction) -> None:
    if not isinstance(unit, Fraction) or not SMALLEST <= unit <= 1 / SMALLEST:
        raise PublicParameterError("a unit must be a fraction between 1e-250 and 1e250")


Query: TypeAlias = (
    Rows
    | PresentValues
    | DistinctPersons
    | KeyHolders
    | CappedPersons
    | Incomplete
    | Total
    | Moments
    | Tally
    | WeightedMoments
    | WeightedTally
    | Ranks
    | OrderedValues
    | Records
)


def keys_of(query: Query) -> Keys | None:
    """The groups a query asks for; ``CappedPersons``, ``Incomplete``, ``KeyHolders`` and ``Records`` know none."""
    return None if isinstance(query, CappedPersons | Incomplete | KeyHolders | Records) else query.keys


def columns_read(query: Query) -> set[str]:
    """The columns whose cells a query reads, computed ones by their own names."""
    keys = keys_of(query)
    return cells_read(query) | (set() if keys is None else {keys.column})


def cells_read(query: Query) -> set[str]:
    """The columns whose cells a query reads, but for groups."""
    match query:
        case CappedPersons() | Rows() | DistinctPersons():
            return set()
        case Records(columns=columns) | Incomplete(columns=columns):
            return set(columns)
        case WeightedMoments(column=column, weight=weight):
            return {weight.column} if column is None else {column, weight.column}
        case WeightedTally(column=column, weight=weight):
            return {column, weight.column}
        case Ranks(column=column, weight=Weighing() as weight):
            return {column, weight.column}
        case _:
            return {query.column}


def kept_rows(person: Person, per: Per, keys: Keys | None = None) -> int:
    """Most values of one person in ``Ranks``, ``OrderedValues``, ``Records``, ``Moments`` and ``PresentValues``.

    That is over all groups together.

    In one group alone a person contributes at most ``kept_rows(person, per)``.

    Parameters
    ----------
    person : Person
    per : "row" or "person"
        Unit of analysis.
    keys : Keys, optional
        Groups, each of which has averages of its own.

    Returns
    -------
    int
    """
    if per == "row":
        return person.rows
    return 1 if keys is None else groups_of_kept(person, keys)


def groups_of_kept(person: Person, keys: Keys) -> int:
    """Most groups the kept rows of one person can be in."""
    return min(keys.touch, person.rows, len(keys.among))


def groups_of_all(person: Person, keys: Keys) -> int:
    """Most groups all rows of one person can be counted in."""
    return 1 if person.column is None else min(keys.touch, len(keys.among))


def stability(query: Query, person: Person, *, stands_in: bool) -> tuple[Fraction, ...]:
    """The most each integer of ``query`` can change between neighbours, in L1 over keys; 0 where it is public.

    ``stands_in``: the column has a public value for missing cells, so a row is always present.

    Parameters
    ----------
    query : Query
    person : Person
    stands_in : bool
        True if the column has a public value for missing cells.

    Returns
    -------
    tuple of Fraction
        One distance for each integer of a cell.

    Raises
    ------
    TypeError
        A query whose integers feed a score.
    """
    swap = person.adjacency == "substitute"
    match query:
        case Rows(keys=keys):
            # whoever is replaced keeps one row or more, so without groups the number of rows is public up to rows - 1;
            # a filter may leave a person none
            return (_count(person.rows, keys, swap, stands_in=not person.filtered),)
        case PresentValues(keys=keys, per=per):
            if per == "person" and keys is not None:
                return (_in_groups(0, 1, groups_of_kept(person, keys), keys, swap),)
            return (_count(kept_rows(person, per), keys, swap, stands_in and not person.filtered),)
        case DistinctPersons(keys=None):
            return (Fraction(0 if person.size_public else 1),)
        case DistinctPersons(keys=keys):
            assert keys is not None
            return (_in_groups(0, 1, groups_of_kept(person, keys), keys, swap),)
        case CappedPersons(above=above):
            return (Fraction(0 if person.column is None else 1),) * max(1, len(above))
        case Incomplete():
            return (Fraction(person.rows),)
        case Total(grid=grid, keys=keys, of=of):
            least, most = min(0, person.rows * grid.lowest), max(0, person.rows * grid.highest)
            # kept rows reach the ends once, over all groups together: as if one group could hold them all
            touch = 1 if keys is None or of == "kept" else groups_of_all(person, keys)
            if keys is None:
                return (Fraction(most - least if swap else max(-least, most)),)
            return (_in_groups(least, most, touch, keys, swap),)
        case Moments(grid=grid, order=order, keys=keys, per=per):
            lowest, highest = grid.lowest - grid.middle, grid.highest - grid.middle
            if per == "person" and keys is not None:
                ends = [
                    (0, 1),
                    (lowest, highest),
                    *((-POWER_ONE if j % 2 else 0, POWER_ONE) for j in range(2, order + 1)),
                ]
                touch = groups_of_kept(person, keys)
                return tuple(_in_groups(least, most, touch, keys, swap) for least, most in ends)
            rows = kept_rows(person, per)
            count = _count(rows, keys, swap, stands_in and not person.filtered)
            if swap and _apart(keys):
                return (count, Fraction(2 * rows * grid.reach), *[Fraction(2 * rows * POWER_ONE)] * (order - 1))
            first = rows * (highest - lowest if swap else grid.reach)
            odd = 2 if swap else 1  # an odd power lies in [-1, 1], an even one in [0, 1]
            higher = [Fraction(rows * POWER_ONE * (odd if power % 2 else 1)) for power in range(2, order + 1)]
            return (count, Fraction(first), *higher)
        case Tally(keys=keys):
            apart = query.bins > 1 or _apart(keys)
            return (Fraction(person.rows * (2 if swap and apart else 1)),)
        case WeightedMoments(grid=grid, order=order):
            # no part of a weight is above 2**20, in one row; a replaced row takes one part and gives it to another
            rows = WEIGHT_ONE * person.rows * (2 if swap else 1)
            powers = [1, *([] if grid is None else [grid.reach, *[POWER_ONE] * (order - 1)])]
            return tuple(Fraction(rows * power) for power in powers) * PARTS
        case WeightedTally():
            return (Fraction(WEIGHT_ONE * person.rows * (2 if swap else 1)),)
        case KeyHolders() | Ranks() | OrderedValues() | Records():
            raise TypeError(f"{type(query).__name__} feeds a score; its sensitivity is counted in kept_rows")
        case _:
            assert_never(query)


def squared_stability(query: Query, person: Person) -> Fraction:
    """The most the integers of ``query`` change between neighbours in squared L2, over keys; 0 where they are public.

    A sum of squares is at most the largest change times the sum of all changes, and ``stability`` is that sum. The
    largest change is that of one integer: of a count, all rows of one person.

    Raises
    ------
    TypeError
        For another query than counts of rows, tallies and totals.
    """
    together = sum(stability(query, person, stands_in=False), Fraction(0))
    match query:
        case Rows() | Tally():
            largest = Fraction(person.rows)
        case Total(grid=grid):
            least, most = min(0, person.rows * grid.lowest), max(0, person.rows * grid.highest)
            largest = Fraction(most - least if person.adjacency == "substitute" else max(-least, most))
        case _:
            raise TypeError(f"{type(query).__name__} has no squared sensitivity here")
    return min(largest, together) * together


def _apart(keys: Keys | None) -> bool:
    """Tell if a replaced person can leave one integer and enter another, so that both changes count."""
    return keys is not None and len(keys.among) > 1


def _count(rows: int, keys: Keys | None, swap: bool, stands_in: bool) -> Fraction:
    """Sensitivity of a number of present rows. Without groups a replaced person has 1 (or 0) to ``rows`` rows."""
    if not swap:
        return Fraction(rows)
    if keys is None:
        return Fraction(rows - 1 if stands_in else rows)
    return Fraction(2 * rows if _apart(keys) else rows)


def _in_groups(least: int, most: int, touch: int, keys: Keys, swap: bool) -> Fraction:
    """L1 change of a vector with one number in [least, most] for each of at most ``touch`` groups, 0 elsewhere.

    A replaced person leaves up to ``touch`` groups and enters as many. At least 2 touch - (number of groups) of them
    are the same group, and the change there is at most most - least. In each other one it is at most the larger size.
    """
    size = max(-least, most)
    if not swap:
        return Fraction(touch * size)
    same = max(0, 2 * touch - len(keys.among))
    return Fraction(same * (most - least) + 2 * (touch - same) * size)
