"""From a method by name to a plan: which options it has, what a public rule says where one is left out.

    plan_for(Options("series"), columns, terms, epsilon, delta) -> Plan -> draw(results, entropy) -> Outcome[Density]

No row is read. Whatever a plan refuses, it refuses here; an option that the method does not have is refused too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Final, Literal, Protocol, TypeAlias, TypeVar, assert_never, get_args

from reticent.data.query import Query
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.outcome import Outcome
from reticent.privacy.guarantee import Guarantee
from reticent.synthesis import bernstein, kernel, ks, series, size
from reticent.synthesis.adaptive_grid import adaptive
from reticent.synthesis.axis import Axis
from reticent.synthesis.bernstein import Bernstein
from reticent.synthesis.density import Density
from reticent.synthesis.histogram import histogram
from reticent.synthesis.kernel import Kernel
from reticent.synthesis.ks import ks_release
from reticent.synthesis.linear import DensityAccuracy, Settle
from reticent.synthesis.linear_queries import DensityTerms
from reticent.synthesis.method_selection import auto
from reticent.synthesis.parameter_selection import OPTION, SMOOTH, Kind, tuned
from reticent.synthesis.series import Series, grid
from reticent.synthesis.sparse_histogram import sparse
from reticent.synthesis.tree import tree

Method: TypeAlias = Literal["auto", "histogram", "sparse", "adaptive", "tree", "ks", "series", "kernel", "bernstein"]
Private: TypeAlias = Literal["auto"]
Columns: TypeAlias = Sequence[tuple[str, Fraction, Fraction, bool]]  # name, low, high, whole numbers
T = TypeVar("T", int, Fraction)

SEVERAL: Final = "histogram, sparse, adaptive, series, kernel and bernstein"
COUNTING: Final = ("histogram", "sparse", "adaptive")  # have atoms and missing values among their own counts
KS_CELLS: Final = 256
ADAPTIVE: Final = {1: 1024, 2: 256, 3: 64, 4: 16}  # cells along each column, by their number
ASSUMED: Final = 10_000  # records a public rule is made for where their number is private
LARGEST_EACH: Final = 400  # whole numbers that have a cell each in a histogram, where no number of cells is named
LARGEST_GRID: Final = 1 << 20  # cells of a density that is written down: about 50 MB of certificate
HAS: Final[dict[Method, tuple[str, ...]]] = {
    "auto": (),
    "histogram": ("cells", "settle"),
    "sparse": ("cells",),
    "adaptive": ("cells",),
    "tree": ("cells",),
    "ks": ("cells", "size"),
    "series": ("cells", "degree", "settle"),
    "kernel": ("cells", "bandwidth", "settle"),
    "bernstein": ("cells", "degree", "bandwidth", "iterations", "settle"),
}


class DensityMechanism(Protocol):
    """A release of a whole density: its guarantee before rows are read, then one draw."""

    @property
    def guarantee(self) -> Guarantee: ...

    @property
    def queries(self) -> tuple[Query, ...]: ...

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]: ...

    def expected(self, people: int) -> DensityAccuracy | size.DistributionAccuracy: ...


@dataclass(frozen=True, slots=True)
class Options:
    """A method with its public options; None for what a public rule says, "auto" for one that is chosen privately."""

    method: Method = "auto"
    cells: int | Private | None = None
    degree: int | Private | None = None
    bandwidth: Fraction | Private | None = None
    iterations: int | None = None
    size: int | ks.Growth | None = None
    settle: Settle = "simplex"

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise PublicParameterError(f"there is no method {self.method!r} here: {', '.join(get_args(Method))}")
        for option in fields(self)[1:]:
            given = getattr(self, option.name) != option.default
            if given and option.name not in HAS[self.method]:
                known = ", ".join(HAS[self.method]) or "no options"
                raise PublicParameterError(f"{option.name} has no use in method={self.method}, which has {known}")
        chosen = [name for name in ("cells", "degree", "bandwidth") if getattr(self, name) == "auto"]
        if chosen:
            self._check_private(chosen)

    @property
    def private(self) -> Kind | None:
        """The method, where its detail is chosen privately."""
        match self.method:
            case "histogram" | "series" | "kernel" | "bernstein" if "auto" in (self.cells, self.degree, self.bandwidth):
                return self.method
            case _:
                return None

    @property
    def counts_itself(self) -> bool:
        """True if atoms and missing values are among its own counts."""
        return self.method in COUNTING and self.private is None

    def _check_private(self, chosen: list[str]) -> None:
        asked = " and ".join(f"{name}=auto" for name in chosen)
        if self.private is None or len(chosen) > 1 or chosen != [OPTION[self.private]]:
            known = ", ".join(f"{option} of {method}" for method, option in OPTION.items())
            raise PublicParameterError(f"{asked} of method={self.method}: what is chosen privately is one of {known}")
        beside = [name for name in ("cells", "degree", "bandwidth", "iterations") if getattr(self, name) is not None]
        if beside != chosen:
            more = " and ".join(name for name in beside if name not in chosen)
            raise PublicParameterError(f"{asked} sets {more} as well: leave it out, or name {chosen[0]} too")


def plan_for(
    options: Options,
    columns: Columns,
    terms: DensityTerms,
    epsilon: Fraction,
    delta: Fraction,
    *,
    atoms: Sequence[Fraction] = (),
    records: int | None = None,
) -> DensityMechanism:
    """The plan of one method.

    Parameters
    ----------
    options : Options
    columns : sequence of (name, low, high, whole numbers)
        One to four, with public bounds; how many a method can take is its own matter.
    terms : Terms
        Adjacency, public number of records, records of one unit.
    epsilon, delta : Fraction
        What it may cost. A method that is pure ignores a delta, and spends none.
    atoms : sequence of Fraction
        For the methods of ``COUNTING``, which count them by themselves; ``steps.mixed`` gives them to the others.
    records : int or None
        The public number of records, those without a value included.

    Returns
    -------
    DensityMechanism
        Plan with its guarantee.

    Raises
    ------
    PublicParameterError
        For a grid, lattice or number of coefficients that is too large, with its size; before rows are read.
    """
    people, count = terms.size or ASSUMED, len(columns)
    if options.private is not None:
        return tuned(options.private, columns, terms, epsilon, delta, options.settle)
    cells, given, width = _told(options.cells), _told(options.degree), _told(options.bandwidth)
    match options.method:
        case "auto":
            if count != 1:
                raise PublicParameterError(f"method=auto by itself is for one column, got {count}")
            return auto(columns[0], terms, epsilon)
        case "series":
            axes = _grid(columns, cells)
            degree = given or min(
                series.degree_for(*SMOOTH, people, epsilon, delta, min(count, 3)), _most_degree(columns, cells)
            )
            return Series(axes, terms, epsilon, degree, delta, options.settle)
        case "kernel":
            axes = _grid(columns, cells)
            bandwidth = width or max(kernel.bandwidth_for(people, count), _least_bandwidth(axes))
            return Kernel(axes, terms, epsilon, bandwidth, delta, options.settle)
        case "bernstein":
            axes = _grid(columns, cells)
            degree = given or bernstein.degree_for(people, count, math.prod(one.cells for one in axes))
            bandwidth = width or max(kernel.bandwidth_for(people, count), Fraction(1, degree + 1))
            return Bernstein(
                axes,
                terms,
                epsilon,
                degree,
                min(bandwidth, Fraction(1, 2)),
                options.iterations or 4,
                delta,
                options.settle,
            )
        case "histogram":
            return _bars(options, columns, terms, epsilon, atoms, records)
        case "ks":
            if count != 1:
                raise PublicParameterError(f"method=ks is for one column, got {count}: {SEVERAL} take several")
            (axis,) = _grid(columns, cells or KS_CELLS)
            points: int | ks.Growth = "root" if options.size is None else options.size
            return ks_release(axis, terms.neighbours, epsilon, people=terms.size, points=points)
        case "tree":
            if count != 1:
                raise PublicParameterError(f"method=tree is for one column, got {count}: {SEVERAL} take several")
            return tree(grid(columns, cells)[0], terms.neighbours, epsilon, people=terms.size)
        case "adaptive":
            depth = _halvings(columns, cells)
            return adaptive(grid(columns, 1), terms.neighbours, epsilon, depth=depth, people=records, atoms=atoms)
        case "sparse":
            return sparse(grid(columns, cells), terms.neighbours, epsilon, people=records, atoms=atoms)
        case _:
            assert_never(options.method)


def _told(given: T | Private | None) -> T | None:
    """An option that was named; here none is left to a private choice."""
    return None if isinstance(given, str) else given


def _halvings(columns: Columns, cells: int | None) -> int:
    """Halvings that lead to so many cells along each column, as far as whole numbers have values for them."""
    wanted = cells or ADAPTIVE[len(columns)]
    if wanted < 2 or wanted & (wanted - 1):
        raise PublicParameterError(f"cells of an adaptive grid are 2, 4, 8, ... along each column, got {wanted}")
    values = [int(high - low) + 1 for _, low, high, whole in columns if whole]
    return max(min([wanted, *values] if cells is None else [wanted]).bit_length() - 1, 1)


def _bars(
    options: Options,
    columns: Columns,
    terms: DensityTerms,
    epsilon: Fraction,
    atoms: Sequence[Fraction],
    records: int | None,
) -> DensityMechanism:
    """A histogram of so many cells along each column, one for each of few whole numbers, or n^(1 / (2 + d)) of them."""
    cells = _told(options.cells)
    if cells is None and len(columns) == 1:
        ((_, low, high, whole),) = columns
        cells = int(high - low) + 1 if whole and high - low < LARGEST_EACH else None
    return histogram(
        grid(columns, 1),
        terms.neighbours,
        epsilon,
        people=records,
        cells=cells or 0,
        shape=options.settle,
        atoms=atoms,
    )


def _grid(columns: Columns, cells: int | None) -> tuple[Axis, ...]:
    """The grid of a method that writes every cell down."""
    total = (cells or 1) ** len(columns)
    if total > LARGEST_GRID:
        raise PublicParameterError(
            f"{total:,} cells, about {50 * total // 10**6:,} MB of certificate: at most {LARGEST_GRID:,} are written "
            'down. Ask for fewer, or for method="sparse", which keeps the cells that hold something'
        )
    return grid(columns, cells)


def _least_bandwidth(axes: Sequence[Axis]) -> Fraction:
    """The least bandwidth whose frequencies the grid has room for, on a grid of 1/1000."""
    room = min(one.cells for one in axes) - 1
    least = math.sqrt(-2.0 * math.log(kernel.LEAST)) / (math.pi * max(room, 1))
    return Fraction(min(math.ceil(1000 * least), 500), 1000)


def _most_degree(columns: Columns, cells: int | None) -> int:
    """The highest frequency the grid has room for: whole numbers have no more cells than values."""
    return max(min(one.cells for one in _grid(columns, cells)) - 1, 1)
