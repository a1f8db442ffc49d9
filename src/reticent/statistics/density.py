"""The law of one record as a whole, as it is asked: ``density("x", method="series", degree=9)``.

A refusal names the option and what it may be. Which options a method has, and how large a grid can be, is said by
``synthesis.options`` once the method is planned.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from operator import index
from typing import Final, Literal, SupportsIndex, TypeAlias, get_args

from reticent.errors import PublicParameterError, QuestionError
from reticent.privacy.numbers import Number, exact, positive, read, show
from reticent.statistics.limits import check_limits

OfDensity: TypeAlias = Literal["auto", "histogram", "sparse", "adaptive", "tree", "ks", "series", "kernel", "bernstein"]
Settled: TypeAlias = Literal["simplex", "clip"]
Private: TypeAlias = Literal["auto"]  # chosen privately, for a part of epsilon
Growth: TypeAlias = Literal["root", "two_thirds", "auto"]

MISSING: Final = "missing"  # among atoms: the records without a value
SOUGHT: Final = "auto"  # among atoms: those that are found privately, too
MOST_SOUGHT: Final = 3  # columns in which atoms are found
NONE: Final = "none"  # of atoms: none, and none are sought


@dataclass(frozen=True, slots=True)
class DensityOf:
    """The law of one record in these columns, as a whole; the answer has a density to draw records from.

    ``cells``, ``degree``, ``bandwidth``, ``iterations`` and ``size`` belong to some methods and are public; None for
    what a public rule says, "auto" for cells, degree or bandwidth that are chosen privately. ``atoms`` are values with
    a mass of their own; ``missing``: so have missing values. ``seek``: others are found privately; None for what
    ``seeks`` says. ``checks`` is the share of epsilon for noisy tables that
    made-up rows are compared with.
    """

    columns: tuple[str, ...]
    _: KW_ONLY
    method: OfDensity = "auto"
    cells: int | Private | None = None
    degree: int | Private | None = None
    bandwidth: Fraction | Private | None = None
    iterations: int | None = None
    size: int | Growth | None = None
    settle: Settled = "simplex"
    atoms: tuple[Fraction, ...] = ()
    missing: bool = False
    low: Fraction | None = None
    high: Fraction | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    checks: Fraction = Fraction(0)
    seek: bool | None = None

    def __post_init__(self) -> None:
        check_limits(self.epsilon, self.low, self.high)
        _one_of("method", self.method, get_args(OfDensity))
        _one_of("settle", self.settle, get_args(Settled))
        if not all(type(name) is str for name in self.columns):
            raise PublicParameterError("columns are named by plain texts")
        for value in self.atoms:
            exact(value, "an atom")
        if not 0 <= exact(self.checks, "checks") <= Fraction(1, 2):
            raise PublicParameterError(f"checks is a share of epsilon, 0 to 0.5, got {show(self.checks)}")
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise PublicParameterError("a density is of one column or more, each named once")
        if len(self.columns) > 1 and (self.low is not None or self.atoms):
            raise PublicParameterError("low, high and atoms are for a density of one column")
        if len(set(self.atoms)) != len(self.atoms):
            raise PublicParameterError("atoms name a value twice")
        if isinstance(self.size, str):
            _one_of("size", self.size, get_args(Growth), "a whole number >= 1")
        for name, number in self._numbers:
            if number is not None and type(number) not in (int, str):  # a subclass's arithmetic is its own
                raise PublicParameterError(f"{name} must be a whole number >= 1, got {number!r}")
            if not isinstance(number, str) and number is not None and number < 1:
                raise PublicParameterError(f"{name} must be >= 1, got {number}")
        for name, given in (("cells", self.cells), ("degree", self.degree), ("bandwidth", self.bandwidth)):
            if isinstance(given, str):
                _one_of(name, given, get_args(Private), "a number")
        if self.bandwidth is not None and not isinstance(self.bandwidth, str):
            exact(self.bandwidth, "bandwidth")
        if isinstance(self.bandwidth, Fraction) and not 0 < self.bandwidth <= Fraction(1, 2):
            raise PublicParameterError(
                f"bandwidth is a share of the range, above 0 and at most 1/2, got {show(self.bandwidth)}"
            )
        if self.seek is not None and type(self.seek) is not bool:
            raise PublicParameterError("seek is True, False or None")
        if self.seek and self.method != "auto":
            raise PublicParameterError(
                f"atoms are found by method=auto alone: name those of method={self.method}, such as atoms=0"
            )
        if self.seek and len(self.columns) > MOST_SOUGHT:
            raise PublicParameterError(f"atoms are found in 1 to {MOST_SOUGHT} columns, got {len(self.columns)}")
        if self.delta is not None and positive(self.delta, "delta") >= 1:
            raise PublicParameterError(f"delta must be below 1, got {show(self.delta)}")

    @property
    def seeks(self) -> bool:
        """Whether atoms are found privately: by default where the method is auto and no value is listed."""
        if self.seek is not None:
            return self.seek
        return self.method == "auto" and not self.atoms and len(self.columns) <= MOST_SOUGHT

    @property
    def name(self) -> str:
        """The text that ``grammar.parse`` reads back."""
        sought = {None: [], True: [SOUGHT], False: [] if self.atoms else [NONE]}[self.seek]
        atoms = " ".join([*sought, *(show(value) for value in self.atoms), *([MISSING] if self.missing else [])])
        options = [] if self.method == "auto" else [f"method={self.method}"]
        options += [f"{name}={number}" for name, number in self._numbers if number is not None]
        width = show(self.bandwidth) if isinstance(self.bandwidth, Fraction) else self.bandwidth
        options += [] if width is None else [f"bandwidth={width}"]
        options += [] if self.settle == "simplex" else [f"settle={self.settle}"]
        options += [f"atoms={atoms}"] if atoms else []
        options += [f"checks={show(self.checks)}"] if self.checks else []
        ends = (("low", self.low), ("high", self.high))
        options += [f"{name}={show(number)}" for name, number in ends if number is not None]
        return f"density({', '.join([*self.columns, *options])})"

    @property
    def _numbers(self) -> tuple[tuple[str, int | str | None], ...]:
        return (
            ("cells", self.cells),
            ("degree", self.degree),
            ("iterations", self.iterations),
            ("size", self.size),
        )

    @property
    def counts_rows(self) -> bool:
        return True


def columns_of(columns: str | Iterable[str]) -> tuple[str, ...]:
    """The names, of one column or several."""
    named = (columns,) if isinstance(columns, str) else tuple(columns) if isinstance(columns, Iterable) else ()
    if not isinstance(columns, str | Iterable) or not all(isinstance(name, str) for name in named):
        raise QuestionError('density is of a column, or a list of columns: density("x"), density(["x", "y"])')
    return named


def whole(number: SupportsIndex | None, name: str) -> int | None:
    """A whole number as it was given; text, a fraction or a yes is none."""
    if number is None:
        return None
    if not isinstance(number, bool):
        try:
            return int.__index__(index(number))  # and no subclass, whose arithmetic is its own
        except TypeError:
            pass
    raise PublicParameterError(f"{name} must be a whole number >= 1, got {number!r}")


def detail_of(number: SupportsIndex | Private | None, name: str) -> int | Private | None:
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


def atoms_of(atoms: Iterable[Number] | str | None) -> tuple[tuple[Fraction, ...], bool, bool | None]:
    """Public values with a mass of their own, whether missing values have one, and whether others are found.

    None of the last for what the method says; a list of values alone means these and no others.
    """
    if atoms is None:
        return (), False, None
    if isinstance(atoms, str) and atoms.strip() in (SOUGHT, NONE):
        return (), False, atoms.strip() == SOUGHT
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
        return found, MISSING in words, True
    none = NONE in words or not (found or words)  # an empty list is one of no atoms
    return found, MISSING in words, False if none else None


def _is_word(value: Number) -> bool:
    return isinstance(value, str) and value.strip() in (MISSING, SOUGHT, NONE)


def _atom(value: Number) -> Fraction:
    word = value.strip() if isinstance(value, str) else ""
    if word[:1].isalpha():
        near = difflib.get_close_matches(word.lower(), [MISSING, SOUGHT, NONE], n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise PublicParameterError(
            f"atoms are numbers within the bounds, or {MISSING}, {SOUGHT} or {NONE}; got {word!r}.{hint}"
        )
    return read(value, "atoms")


def _one_of(option: str, given: object, known: tuple[str, ...], *more: str) -> None:
    if not isinstance(given, str) or given not in known:
        near = difflib.get_close_matches(str(given).lower(), known, n=1)
        hint = f". Did you mean {near[0]}?" if near else ""
        raise PublicParameterError(f"{option} is one of {', '.join([*more, *known])}; got {given!r}{hint}")


__all__ = ["DensityOf", "Growth", "OfDensity", "Private", "Settled"]
