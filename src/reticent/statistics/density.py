"""The law of one record as a whole, as it is asked: ``density("x", method="series", degree=9)``.

A refusal names the option and what it may be. Which options a method has, and how large a grid can be, is said by
``synthesis.options`` once the method is planned.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from operator import index
from typing import TYPE_CHECKING, ClassVar, Final, Literal, SupportsIndex, TypeAlias, get_args

import attrs

from reticent.calendar import Moment
from reticent.data.formula import Expression
from reticent.errors import PublicParameterError, QuestionError, made_as
from reticent.privacy.numbers import Number, read, show
from reticent.statistics.options import (
    Words,
    check_bounds,
    check_word,
    read_high,
    read_low,
    read_value,
    shown,
    whole,
    whole_of,
)
from reticent.statistics.public_facts import kept
from reticent.statistics.statistic import Dice, Statistic, read_column

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step

OfDensity: TypeAlias = Literal["auto", "histogram", "sparse", "adaptive", "tree", "ks", "series", "kernel", "bernstein"]
Settled: TypeAlias = Literal["simplex", "clip"]
Private: TypeAlias = Literal["auto"]  # chosen privately, for a part of epsilon
Growth: TypeAlias = Literal["root", "two_thirds", "auto"]

MISSING: Final = "missing"  # among atoms: the records without a value
SOUGHT: Final = "auto"  # among atoms: those that are found privately, too
MOST_SOUGHT: Final = 4  # columns in which atoms are found
HOW: Final[Mapping[str, str]] = {  # the words of an estimand for each method
    "auto": ", smoothed",
    "histogram": ", by the shares of its cells",
    "sparse": ", by the shares of its cells",
    "adaptive": ", by the shares of its cells",
    "tree": ", by the shares of its cells",
    "ks": ", by a small table near it",
    "series": ", by its lowest frequencies",
    "kernel": ", smoothed",
    "bernstein": ", smoothed",
}
NONE: Final = "none"  # of atoms: none, and none are sought


def columns_of(columns: str | Expression | Iterable[str | Expression]) -> tuple[str, ...]:
    """The names, of one column or several."""
    named = (columns,) if isinstance(columns, str | Expression) else columns
    named = tuple(named) if isinstance(named, Iterable) else (None,)
    if not all(isinstance(name, str | Expression) for name in named):
        raise QuestionError('density is of a column, or a list of columns: density("x"), density(["x", "y"])')
    return tuple(read_column(name) for name in named if name is not None)


def _whole_or_auto(number: SupportsIndex | Private | None, name: str) -> int | Private | None:
    """A whole number, or "auto"."""
    if not isinstance(number, str):
        return whole(number, name)
    if number != "auto":
        raise PublicParameterError(f'{name} must be a whole number >= 1, or "auto", got {number!r}')
    return "auto"


def width_of(number: Number | None) -> Fraction | Private | None:
    """A bandwidth, or "auto"."""
    if isinstance(number, str) and number.strip() in get_args(Private):
        return "auto"
    return None if number is None else read(number, "bandwidth")


def size_of(size: SupportsIndex | Growth | None) -> int | Growth | None:
    """A number of records, or a public rule for one by its name."""
    if size is None or isinstance(size, str) or (hasattr(size, "__index__") and not isinstance(size, bool)):
        return size if size is None or isinstance(size, str) else int.__index__(index(size))
    raise PublicParameterError(f'size is a whole number >= 1, "root", "two_thirds" or "auto", got {size!r}')


def read_cells(number: SupportsIndex | Private | None) -> int | Private | None:
    """A number of cells, or "auto"."""
    return _whole_or_auto(number, "cells")


def read_degree(number: SupportsIndex | Private | None) -> int | Private | None:
    """A degree, or "auto"."""
    return _whole_or_auto(number, "degree")


def read_iterations(number: SupportsIndex | None) -> int | None:
    """A number of iterations."""
    return whole(number, "iterations")


def read_checks(share: Number) -> Fraction | Private:
    """The exact share of epsilon for checks, or "auto"."""
    return "auto" if isinstance(share, str) and share.strip() in get_args(Private) else read(share, "checks")


@made_as("rt.Detail(cells=64)")
@attrs.frozen(kw_only=True)
class Detail:
    """Public detail of a density, by method; a public rule says what is left out.

    Parameters
    ----------
    cells : int or "auto", optional
        Cells along each column. "auto" has a histogram's chosen privately, for a fifth of epsilon.
    degree : int or "auto", optional
        For "series" the highest frequency, for "bernstein" the degree of the polynomial. "auto" as above.
    iterations : int, optional
        For "bernstein".
    size : int, "root", "two_thirds" or "auto", optional
        For "ks": the number of records of the small data set that comes out. "root" is sqrt(n epsilon), as where it is
        left out, "two_thirds" is n^(2/3). "auto" draws it with the records, at no further epsilon: few for records at
        few values, many for smooth ones.
    bandwidth : number or "auto", optional
        For "kernel" and "bernstein", in shares of the range, at most 1/2. "auto" as above, for "kernel".
    settle : "simplex" or "clip"
        How noisy masses become a density; "clip" puts mass on empty cells.
    """

    cells: int | Private | None = attrs.field(default=None, converter=read_cells)
    degree: int | Private | None = attrs.field(default=None, converter=read_degree)
    iterations: int | None = attrs.field(default=None, converter=read_iterations)
    size: int | Growth | None = attrs.field(default=None, converter=size_of)
    bandwidth: Fraction | Private | None = attrs.field(default=None, converter=width_of)
    settle: Settled = "simplex"

    def __attrs_post_init__(self) -> None:
        check_word("settle", self.settle, Settled)
        if isinstance(self.size, str):
            check_word("size", self.size, Growth, "a whole number >= 1")
        for name, number in self._numbers:
            if not isinstance(number, str) and number is not None and number < 1:
                raise PublicParameterError(f"{name} must be >= 1, got {number}")
        if isinstance(self.bandwidth, Fraction) and not 0 < self.bandwidth <= Fraction(1, 2):
            raise PublicParameterError(
                f"bandwidth is a share of the range, above 0 and at most 1/2, got {show(self.bandwidth)}"
            )

    @property
    def words(self) -> Words:
        """The options as a text has them, without those left at their default."""
        width = show(self.bandwidth) if isinstance(self.bandwidth, Fraction) else self.bandwidth
        return (
            *((name, str(number)) for name, number in self._numbers if number is not None),
            *(() if width is None else (("bandwidth", width),)),
            *(() if self.settle == "simplex" else (("settle", self.settle),)),
        )

    @property
    def _numbers(self) -> tuple[tuple[str, int | str | None], ...]:
        return (
            ("cells", self.cells),
            ("degree", self.degree),
            ("iterations", self.iterations),
            ("size", self.size),
        )


@attrs.frozen
class Atoms:
    """Values with a mass of their own.

    Attributes
    ----------
    values : tuple of Fraction
        Those that are listed, known without the file.
    missing : bool
        True if missing values have a mass of their own, too.
    seek : bool or None
        True if others are found privately; None for what the method says.
    """

    values: tuple[Fraction, ...] = ()
    missing: bool = False
    seek: bool | None = None

    def __attrs_post_init__(self) -> None:
        if len(set(self.values)) != len(self.values):
            raise PublicParameterError("atoms name a value twice")

    @property
    def words(self) -> Words:
        """The atoms as a text has them."""
        sought = {None: [], True: [SOUGHT], False: [] if self.values else [NONE]}[self.seek]
        listed = [*sought, *(shown(value) for value in self.values), *([MISSING] if self.missing else [])]
        return (("atoms", " ".join(listed)),) if listed else ()


def atoms_of(atoms: Atoms | Iterable[Number | Moment] | str | None) -> Atoms:
    """Public values with a mass of their own; a list of values alone means these and no others."""
    if isinstance(atoms, Atoms):
        return atoms
    if atoms is None:
        return Atoms()
    if isinstance(atoms, str) and atoms.strip() in (SOUGHT, NONE):
        return Atoms(seek=atoms.strip() == SOUGHT)
    if isinstance(atoms, str | bytes | Mapping) or not isinstance(atoms, Iterable):
        raise QuestionError(
            f"atoms is a list of values known without looking at the file, such as [0] or [0, {MISSING!r}], "
            f"or {SOUGHT!r}, or {NONE!r}; got {atoms!r}"
        )
    given = list(atoms)
    words = [value.strip() for value in given if isinstance(value, str)]
    found = tuple(_atom(value) for value in given if not _is_word(value))
    for word in (MISSING, SOUGHT, NONE):
        if words.count(word) > 1:
            raise PublicParameterError(f"atoms name {word} twice")
    if NONE in words and (found or SOUGHT in words):
        raise PublicParameterError(f"atoms are {NONE}, or they are listed")
    if SOUGHT in words:
        return Atoms(found, MISSING in words, True)
    none = NONE in words or not (found or words)  # an empty list is one of no atoms
    return Atoms(found, MISSING in words, False if none else None)


def _is_word(value: Number | Moment) -> bool:
    return isinstance(value, str) and value.strip() in (MISSING, SOUGHT, NONE)


def _atom(value: Number | Moment) -> Fraction:
    word = value.strip() if isinstance(value, str) else ""
    if word[:1].isalpha():
        near = difflib.get_close_matches(word.lower(), [MISSING, SOUGHT, NONE], n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise PublicParameterError(
            f"atoms are numbers within the bounds, or {MISSING}, {SOUGHT} or {NONE}; got {word!r}.{hint}"
        )
    return read_value(value, "atoms")


def detail_of(texts: Mapping[str, str]) -> Detail:
    """The detail of options as text."""
    given: dict[str, int | str] = dict(texts)
    for name in ("cells", "degree", "iterations", "size"):
        text = texts.get(name, "")
        if name in ("cells", "degree") and text[:1].isalpha():
            check_word(name, text, Private, "a number")
        if text and not text[0].isalpha():
            given[name] = whole_of(text, name)
    return Detail(**given)  # type: ignore[arg-type]  # converters refuse words they do not know


def read_detail(detail: Detail) -> Detail:
    """Public detail of a density."""
    if not isinstance(detail, Detail):
        raise QuestionError(f"detail is a value such as rt.Detail(cells=64), got {detail!r}")
    return detail


PLAIN_DETAIL: Final = Detail()
NO_ATOMS: Final = Atoms()


@attrs.frozen
class DensityOf(Statistic):
    """The law of one record as a whole: a density to plot, to ask for any probability, and to draw records from.

    Parameters
    ----------
    columns : str or sequence of str
        One to four columns of numbers, dates or times with public bounds.
    method : str
        "histogram", "sparse", "adaptive", "tree", "ks", "series", "kernel" or "bernstein"; docs/how-to/densities.md
        says when each is best. "auto" chooses a grid privately, for a part of epsilon, and smooths its bars for free.
    detail : Detail
        Cells, degree, bandwidth, iterations, size and settling, by method.
    atoms : "auto", "none" or a sequence of number, "missing" and "auto", optional
        Values that have a mass of their own. "auto", the default of ``method="auto"``, finds them: 0, the ends of the
        bounds and listed ones for nothing, others for a twentieth of epsilon where that is worth it. A list such as
        [0] means these and no others; "missing" gives missing values theirs.
    checks : number
        The share of epsilon, 0 to 0.5, for noisy counts of coarse tables of the records: every column in ten stretches,
        every two columns in five by five. ``good_for`` of made-up rows compares them with these. "auto" is a tenth,
        but for tables that could tell no share to a fifth by public facts: the density has their part then.
    low, high : number or date, optional
        Bounds of one column for this question; by default those of the study.
    """

    verb: ClassVar[str] = "density"
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = "where noise hides how many records there are"
    synonyms: ClassVar[tuple[str, ...]] = ("synthesize", "kde")
    positions: ClassVar[tuple[str, ...]] = ("names",)
    has_delta: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("density(x)", "density(x, y, method=histogram)")

    names: tuple[str, ...] = attrs.field(converter=columns_of)
    method: OfDensity = attrs.field(default="auto", kw_only=True)
    detail: Detail = attrs.field(
        default=PLAIN_DETAIL,
        converter=read_detail,
        kw_only=True,
        metadata={
            "unfold": ("cells", "degree", "iterations", "size", "bandwidth", "settle"),
            "build": lambda texts: detail_of(texts),
        },
    )
    atoms: Atoms = attrs.field(default=NO_ATOMS, converter=atoms_of, kw_only=True)
    checks: Fraction | Private = attrs.field(default=Fraction(0), converter=read_checks, kw_only=True)
    low: Fraction | None = attrs.field(default=None, converter=read_low, kw_only=True)
    high: Fraction | None = attrs.field(default=None, converter=read_high, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_bounds(self.low, self.high)
        check_word("method", self.method, OfDensity)
        if isinstance(self.checks, Fraction) and not 0 <= self.checks <= Fraction(1, 2):
            raise PublicParameterError(f"checks is a share of epsilon, 0 to 0.5, got {show(self.checks)}")
        if not self.names or len(set(self.names)) != len(self.names):
            raise PublicParameterError("a density is of one column or more, each named once")
        if len(self.names) > 1 and (self.low is not None or self.atoms.values):
            raise PublicParameterError("low, high and atoms are for a density of one column")
        if self.atoms.seek and self.method != "auto":
            raise PublicParameterError(
                f"atoms are found by method=auto alone: name those of method={self.method}, such as atoms=0"
            )
        if self.atoms.seek and len(self.names) > MOST_SOUGHT:
            raise PublicParameterError(f"atoms are found in 1 to {MOST_SOUGHT} columns, got {len(self.names)}")

    @property
    def seeks(self) -> bool:
        """True if atoms are found privately: by default where the method is auto and no value is listed."""
        if self.atoms.seek is not None:
            return self.atoms.seek
        return self.method == "auto" and not self.atoms.values and len(self.names) <= MOST_SOUGHT

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.atoms.missing else self.names

    def renamed(self, of: Callable[[str], str]) -> DensityOf:
        return attrs.evolve(self, names=tuple(map(of, self.names)))

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.names

    @property
    def takes_delta(self) -> bool:
        return True

    def estimand(self, setting: Setting) -> str:
        return f"population law of {', '.join(self.names)}{HOW[self.method]}{kept('row', setting.schema.person)}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics import density_step

        return density_step.prepare(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> DensityOf:
        return cls(dice.pick(("x", "k")), method=dice.pick(("auto", "histogram", "series")))
