"""Events: the yes-or-no questions about one output that an audit may test.

A *feature* turns every output into a small whole number. Its rule looks at that output alone and was fixed on the
training part of the sample. An event is a set of these numbers. Families of features:

    kind          reply, no reply, None, NaN, infinities, exceptions, lengths, texts: the shape of what came out
    atoms         the output itself, where outputs repeat
    value         histogram and tails of each number; sum, largest, smallest, spread of several
    low bits      lowest set bit, lowest set bit x value, last three bits of a mantissa, residues modulo 3, 5 and 7
    exponent      sign and binary exponent
    order         which number is largest or smallest, how the first ones are ordered, how many are equal
    score         log likelihood ratio of all of the above, learned on the first quarter of the sample

Nothing here needs to be right for a bound to be valid; a poor event gives a low bound. Why: docs/theory/auditing.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Sample: TypeAlias = Sequence[object] | NDArray[Any]
Codes: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

BINS: Final = 64  # cells of a histogram, besides those of 1, 2, 4, ... values at either end
ATOMS: Final = 512  # different outputs that are cells of their own; rarer ones share one cell
COLUMNS: Final = 32  # numbers of one output that are looked at; the sum and the largest see all
FINE: Final = 4  # numbers of one output whose bits are looked at
ALIKE: Final = 4096  # training rows up to which features are compared for saying the same
ZERO: Final = 5000  # the lowest set bit of 0, above that of any float
LITTLE: Final = 4  # bits of the coarse value that the lowest set bit is crossed with


@dataclass(frozen=True, slots=True)
class Feature:
    """A number in [0, cells) for each output: those of ``here`` first, then those of ``there``."""

    name: str
    codes: Codes
    cells: int
    ordered: bool


@dataclass(frozen=True, slots=True)
class OutputParts:
    """Outputs taken apart: a shape each, and the numbers found in them, column by column."""

    shapes: Codes
    atoms: Codes
    columns: tuple[NDArray[Any], ...]  # int64, float64 (NaN where there is none) or object (None where there is none)
    here: int

    @property
    def rows(self) -> int:
        return len(self.shapes)


# --- reading outputs -------------------------------------------------------------------------------------------------


def read(here: Sample, there: Sample) -> OutputParts:
    """Outputs of any kind: numbers, texts, tuples, None, replies, exceptions, or arrays of shape (n,) or (n, d)."""
    if (
        isinstance(here, np.ndarray)
        and isinstance(there, np.ndarray)
        and {here.dtype.kind, there.dtype.kind} <= {*"iuf"}
    ):
        return _read_arrays(here, there)
    shapes: dict[Hashable, int] = {}
    atoms: dict[Hashable, int] = {}
    rows: list[tuple[object, ...]] = []
    shape_of, atom_of = [], []
    for output in (*here, *there):
        shape, atom, numbers = _taken_apart(output)
        shape_of.append(shapes.setdefault(shape, len(shapes)))
        atom_of.append(atoms.setdefault(atom, len(atoms)))
        rows.append(numbers)
    width = max((len(numbers) for numbers in rows), default=0)
    columns = tuple(_column([n[j] if j < len(n) else None for n in rows]) for j in range(width))
    return OutputParts(np.array(shape_of, np.int64), np.array(atom_of, np.int64), columns, len(here))


def _read_arrays(here: NDArray[Any], there: NDArray[Any]) -> OutputParts:
    both = np.concatenate([here, there])
    if both.dtype.kind == "f":
        both = both.astype(np.float64, copy=False)
    elif both.dtype != np.int64:
        both = both.astype(np.int64)
    table = both.reshape(len(both), -1)
    odd = np.zeros(len(table), np.int64)
    if both.dtype.kind == "f":
        for j in range(table.shape[1]):
            odd = odd * 4 + np.where(
                np.isnan(table[:, j]), 1, np.where(np.isinf(table[:, j]), 2 + (table[:, j] > 0), 0)
            )
    shapes = np.unique(odd, return_inverse=True)[1]
    atoms = np.unique(table[:, 0], return_inverse=True)[1].ravel()
    for j in range(1, table.shape[1]):  # column by column: numbers sort ten times as fast as rows of them
        seen, place = np.unique(table[:, j], return_inverse=True)
        atoms = np.unique(atoms * len(seen) + place.ravel(), return_inverse=True)[1].ravel()
    return OutputParts(shapes, atoms.astype(np.int64), tuple(table.T), len(here))


def _taken_apart(output: object) -> tuple[Hashable, Hashable, tuple[object, ...]]:
    """The shape of an output, the output as a key, and its finite numbers in order."""
    numbers: list[object] = []
    shape = _shape(output, numbers)
    if type(output) in (int, str, float) and not (isinstance(output, float) and math.isnan(output)):
        return shape, output if type(output) is not float else ("float", output), tuple(numbers)
    return shape, (shape, tuple(numbers)), tuple(numbers)


def _shape(output: object, numbers: list[object]) -> Hashable:
    match output:
        case bool() | np.bool_():
            numbers.append(int(output))
            return "bool"
        case int() | np.integer():
            numbers.append(int(output))
            return "number"
        case float() | np.floating():
            value = float(output)
            if math.isfinite(value):
                numbers.append(value)
                return "number"
            return "NaN" if math.isnan(value) else ("+inf" if value > 0 else "-inf")
        case Fraction():
            numbers.append(output)
            return "number"
        case str() | bytes():
            return output
        case BaseException():
            return (type(output).__name__, str(output))
        case tuple() | list():
            return (type(output).__name__, *(_shape(part, numbers) for part in output))
        case np.ndarray():
            return (str(output.dtype), output.shape, *(_shape(part, numbers) for part in output.ravel().tolist()))
        case dict():
            return ("dict", *((str(key), _shape(output[key], numbers)) for key in output))
        case None:
            return "None"
        case _ if is_dataclass(output) and not isinstance(output, type):
            parts = (_shape(getattr(output, field.name), numbers) for field in fields(output))
            return (type(output).__name__, *parts)
        case _:
            return (type(output).__name__, repr(output))


def form(output: object) -> str:
    """The types an output is made of, texts by name: ``tuple(int, int)``, ``str yes``."""
    match output:
        case str():
            return "str"
        case tuple() | list():
            return f"{type(output).__name__}({', '.join(form(part) for part in output)})"
        case _:
            return type(output).__name__


def _column(cells: list[object]) -> NDArray[Any]:
    kinds = {type(cell) for cell in cells}
    if kinds == {int} and all(abs(cell) < 1 << 62 for cell in cells):  # type: ignore[arg-type]  # all are int
        return np.array(cells, np.int64)
    if kinds <= {float, type(None)}:
        return np.array([math.nan if cell is None else cell for cell in cells], np.float64)
    return np.array(cells, object)


def _floats(column: NDArray[Any]) -> Floats:
    """The numbers as floats: NaN where there is none, the largest float where it is too large."""
    if column.dtype != object:
        return column.astype(np.float64, copy=False)
    return np.array([_float(cell) for cell in column], np.float64)


def _float(cell: Any) -> float:
    if cell is None:
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.copysign(1.7e308, cell)


# --- features --------------------------------------------------------------------------------------------------------


def features(data: OutputParts, training: NDArray[np.int64]) -> list[Feature]:
    """Every feature of outputs, with cells fixed by the rows ``training``."""
    found = [_listed("kind", data.shapes, training), _listed("atoms", data.atoms, training)]
    values = [_floats(column) for column in data.columns[:COLUMNS]]
    for place, (column, value) in enumerate(zip(data.columns, values, strict=False)):
        name = "value" if len(data.columns) == 1 else f"number {place + 1}"
        ordered = _binned(name, value, training)
        found.append(ordered)
        if place < FINE:
            found += _bits(name, column, value, ordered, training)
    if len(data.columns) > 1:
        found += list(_several(np.stack(values, 1), [_floats(column) for column in data.columns], training))
    unique: dict[bytes, Feature] = {}
    for feature in found:
        if feature.cells > 1:
            unique.setdefault(_partition(feature.codes[training]), feature)
    return list(unique.values())


def _partition(codes: Codes) -> bytes:
    """Equal for features that part the training rows alike; the names of the cells matter only where rows are many."""
    if len(codes) <= ALIKE:
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        codes = first[place.ravel()]
    return codes.tobytes()


def with_score(found: list[Feature], here: NDArray[np.int64], there: NDArray[np.int64]) -> list[Feature]:
    """The features and the learned score: the sum of their log likelihood ratios on the rows given.

    Parameters
    ----------
    found : list of Feature
    here, there : array of int
        Rows of either side that the score is learned on.

    Returns
    -------
    list of Feature
        One more than before.
    """
    if len(found) < 2 or not len(here) or not len(there):
        return found
    rows = np.concatenate([here, there])
    every = np.zeros(len(found[0].codes))
    single = np.zeros(len(every))
    for feature in found:
        a = np.bincount(feature.codes[here], minlength=feature.cells) + 0.5
        b = np.bincount(feature.codes[there], minlength=feature.cells) + 0.5
        ratio = np.log(a / len(here)) - np.log(b / len(there))
        if feature.name.startswith("number") and " " not in feature.name.removeprefix("number "):
            single += ratio[feature.codes]
        every += ratio[feature.codes]
    scores = [_binned("score", every, rows)]
    if single.any():
        scores.append(_binned("score of the numbers", single, rows))
    return [*found, *(score for score in scores if score.cells > 1)]


def _listed(name: str, values: Codes, training: NDArray[np.int64]) -> Feature:
    """One cell for each value seen more than once in training, most frequent first, and one for all others."""
    seen, counts = np.unique(values[training], return_counts=True)
    if len(seen) > ATOMS or int(counts.min(initial=2)) < 2:
        common = np.argsort(-counts, kind="stable")[:ATOMS]
        seen = np.sort(seen[common[counts[common] > 1]])
    if not len(seen):
        return Feature(name, np.zeros(len(values), np.int64), 1, False)
    place = np.minimum(np.searchsorted(seen, values), len(seen) - 1)
    return Feature(name, np.where(seen[place] == values, place, len(seen)), len(seen) + 1, False)


def _binned(name: str, values: Floats, training: NDArray[np.int64]) -> Feature:
    """Cells between quantiles of the training rows, finer at the ends; the last cell holds what is no number."""
    known = values[training]
    known = np.sort(known[~np.isnan(known)])
    if not len(known):
        return Feature(name, np.zeros(len(values), np.int64), 1, True)
    edges = known[np.append(True, known[1:] != known[:-1])]
    if len(edges) > 2 * BINS:
        size = len(known)
        ends = 1 << np.arange(max(1, size.bit_length() - 7))
        places = np.concatenate([np.arange(0, size, -(-size // BINS)), ends - 1, size - ends])
        edges = np.unique(known[places])
    codes = np.searchsorted(edges, values, side="right")
    return Feature(name, np.where(np.isnan(values), len(edges) + 1, codes), len(edges) + 2, True)


def _bits(
    name: str, column: NDArray[Any], value: Floats, ordered: Feature, training: NDArray[np.int64]
) -> Iterator[Feature]:
    missing = np.isnan(value)
    exponent = np.where(missing | (value == 0), -ZERO, np.frexp(np.where(np.isfinite(value), value, 0.0))[1])
    lowest, mantissa = _lowest_bit(column)
    coarse = ordered.codes * (1 << LITTLE) // ordered.cells
    yield _listed(f"{name} lowest bit", lowest, training)
    yield _listed(f"{name} lowest bit x value", lowest * (1 << LITTLE) + coarse, training)
    yield _listed(f"{name} sign and exponent", exponent * 2 + np.signbit(value), training)
    yield _listed(f"{name} last three bits", mantissa & 7, training)
    if column.dtype == np.int64:
        for modulus in (3, 5, 7):
            yield _listed(f"{name} modulo {modulus}", column % modulus, training)


def _lowest_bit(column: NDArray[Any]) -> tuple[Codes, Codes]:
    """The exponent of the lowest set bit (ZERO for 0 or nothing), and the odd part or mantissa as a whole number."""
    if column.dtype == np.int64:
        bits = (column & -column).astype(np.float64)
        return np.where(column == 0, ZERO, np.frexp(bits)[1].astype(np.int64) - 1), column
    if column.dtype == np.float64:
        fraction, exponent = np.frexp(np.where(np.isfinite(column), column, 0.0))
        whole = (fraction * 2.0**53).astype(np.int64)
        bits = (whole & -whole).astype(np.float64)
        lowest = np.frexp(bits)[1].astype(np.int64) - 1 + exponent - 53
        return np.where(whole == 0, ZERO, lowest), whole
    pairs = [_odd(cell) for cell in column]
    return np.array([pair[0] for pair in pairs], np.int64), np.array([pair[1] for pair in pairs], np.int64)


def _odd(cell: Any) -> tuple[int, int]:
    if cell is None or cell == 0:
        return ZERO, 0
    over, under = Fraction(cell).as_integer_ratio()
    over = abs(over)
    low = (over & -over).bit_length() - (under & -under).bit_length()
    return max(-ZERO, min(low, ZERO)), over & 0xFFFF


def _several(values: Floats, every: list[Floats], training: NDArray[np.int64]) -> Iterator[Feature]:
    """Features of the several numbers of one output."""
    total, most = every[0].copy(), np.full(len(values), -np.inf)
    for column in every[1:]:
        total = total + column
    for column in every:
        most = np.fmax(most, column)
    least = np.nanmin(np.where(np.isnan(values), np.inf, values), axis=1)
    filled = np.where(np.isnan(values), -np.inf, values)
    yield _binned("sum", total, training)
    yield _binned("largest", most, training)
    yield _binned("smallest", least, training)
    with np.errstate(invalid="ignore"):
        yield _binned("spread", most - least, training)
    yield _listed("which is largest", filled.argmax(axis=1), training)
    yield _listed("which is smallest", np.where(np.isnan(values), np.inf, values).argmin(axis=1), training)
    first = filled[:, :5]
    order = np.zeros(len(values), np.int64)
    for place in np.argsort(first, axis=1, kind="stable").T:
        order = order * 5 + place
    yield _listed("order", order, training)
    ranked = np.sort(filled, axis=1)
    yield _listed("equal numbers", (ranked[:, 1:] == ranked[:, :-1]).sum(axis=1), training)
