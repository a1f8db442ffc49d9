r"""method="auto" with atoms: values that many records share have a mass of their own, found from noisy counts.

    records --at an atom of no column--> bars of all columns      \
            --at an atom of some-------> bars of the other columns  > one vector of noisy counts -> Density
            --without a value----------> one count                /

The candidates are public: 0 and the ends of the bounds, at which records crowd most often; listed values; values that a
search found (``search``) and released. A record belongs to one part of a partition, by the candidates it is at and by
nothing else. Bars of all parts are one partition, so their counts are one mechanism of the price of bars without atoms.
What stands out of the noise is an atom, for nothing; what does not goes back to its bar.

Proof: docs/proofs/densities.md, Proposition 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from reticent.data.order_statistics import ABSENT
from reticent.data.query import Query, Records, Rows, Tally
from reticent.data.table import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import L1
from reticent.synthesis import bar_smoothing
from reticent.synthesis.axis import NARROW, Axis, Steps, declared, even
from reticent.synthesis.density import NORMAL, Density
from reticent.synthesis.histogram import unit_of
from reticent.synthesis.linear import DensityAccuracy, LinearDensity
from reticent.synthesis.linear_queries import DensityTerms, Floats, Integers
from reticent.synthesis.method_selection import BARS, CENSUS, RULE, Auto, auto, bars
from reticent.synthesis.mixture import AtomPart, MixtureNoise, at_values, joined, margin
from reticent.synthesis.options import Columns
from reticent.synthesis.remarks import NoticedAtoms, public_values, sentence, whole_word
from reticent.synthesis.search import (
    APART,
    FALSE,
    MISSED,
    SHARE,
    STANDS,
    Search,
    least_bar,
    searches,
    searching,
)
from reticent.synthesis.size import swapped

Values: TypeAlias = tuple[tuple[Fraction, ...], ...]  # of each column, ascending
Pattern: TypeAlias = tuple[int, ...]  # of each column the number of its atom, -1 for none

PARTS: Final = 64  # at most, by the atoms that records are at
TENTH: Final = 0.1  # of the records: what bars beside an atom are made for
BETA: Final = 0.0125  # on either side, for every part
SMALL: Final = 1e-9  # records: of a number that is public
FAR: Final = 1e9  # records: of a number that nothing but its own bars tells
SHOWS: Final = 3.0  # roots of the variance of all waves: what smoothing leaves of one bar (docs/reference)
HIDDEN: Final = (
    0.25  # of the records: where an atom of several columns needs more, none is looked for, and none is lost
)
WIDE: Final = 100  # whole numbers: with more of them bars of several columns hide what is at the ends


@dataclass(frozen=True, eq=False, repr=False)
class PartitionDensity:
    """A density by a privately chosen grid, with atoms.

    Attributes
    ----------
    auto : Auto
        The grid and its choice, at all of epsilon. No public number of records is fixed in it: a record that is
        replaced may leave the grid for an atom.
    listed : tuple of tuple of Fraction
        Public candidates of each column.
    sought : tuple of Axis
        Columns in which other values are searched for, where the number of records makes it worth its price.
    missing : bool
        Records without a value are counted, too.
    steps : tuple of int
        Of columns of dates the seconds of one unit, 0 of numbers; empty where all columns are numbers.

    Guarantee
    ---------
    epsilon, pure: noisy number of records, searches, choice and one vector of noisy counts in sequence. The number of
    records, public or noisy, says whether there are searches: the dearer of the two.
    """

    auto: Auto
    listed: Values
    sought: tuple[Axis, ...] = ()
    missing: bool = False
    steps: tuple[int, ...] = ()

    @cached_property
    def guarantee(self) -> Guarantee:
        label = "density by a private choice, with atoms"
        if self.auto.census is None:
            assert self.auto.terms.size is not None
            return compose.in_sequence(self._parts(len(self.searches(self.auto.terms.size))), label=label)
        after = self._parts(0)
        if self.sought:
            plans = [compose.in_sequence(self._parts(count)) for count in range(len(self.sought) + 1)]
            after = [compose.one_of(plans, label="with a search or without")]
        return compose.in_sequence([self.auto.census.guarantee, *after], label=label)

    def _parts(self, count: int) -> list[Guarantee]:
        """Guarantees of all that follows the number of records, with searches in so many columns."""
        made, near = self.after(count), self.auto.terms.neighbours
        first = [search.mechanism.guarantee for search in searching(self.sought[:count], near, self.auto.epsilon)]
        first += [] if made.choice is None else [made.choice.guarantee]
        return [*first, replace(self.counter(made).guarantee, label="bars and atoms, however many were chosen")]

    def counter(self, auto: Auto) -> Geometric:
        """The mechanism of all counts: one record is in one of them."""
        near = auto.terms.neighbours
        return Geometric(L1(Fraction(swapped(near)), near), auto.left)

    def searches(self, n: int) -> tuple[Search, ...]:
        """The searches that so many records are worth."""
        return searches(self.sought, self.auto.terms.neighbours, self.auto.epsilon, n)

    def after(self, count: int) -> Auto:
        """The grid and its choice at what searches in so many columns leave."""
        if not count:
            return self.auto
        census = Fraction(0) if self.auto.census is None else CENSUS
        return replace(self.auto, epsilon=self.auto.epsilon * (1 - SHARE - census) / (1 - census))

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.auto.axes

    @property
    def queries(self) -> tuple[Query, ...]:
        if len(self.axes) == 1 and not self.sought:  # the engine counts: no value leaves it
            return (Tally(self.axes[0].column, self._edges), *((Rows(),) if self.missing else ()))
        return (Records(tuple(one.column for one in self.axes), tuple(map(unit_of, self.axes))),)

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        """The density, or no reply where the noise hides that there are records at all."""
        size = self.auto.bought(self._present(results), entropy)
        made = self.searches(max(round(size.records), 1))
        auto = self.after(len(made))
        public = self.usable(auto, max(size.records, 1.0))
        listed = self._found(public, made, results, entropy)
        patterns = patterns_of(listed)
        counts, beside, absent = self._parted(results, listed, patterns)
        pair = auto.pair(max(round(size.records), 1))
        main = auto.chosen(pair, counts, size, entropy)
        release = auto.paid(main)
        others = tuple(self._bars(auto, pattern, size) for pattern in patterns)
        exact = [release.sums.table.T @ counts]
        exact += [one.sums.table.T @ part if one else part for one, part in zip(others, beside, strict=True)]
        lengths = [len(part) for part in exact]
        flat = [int(count) for part in exact for count in part.tolist()] + ([absent] if self.missing else [])
        noisy = np.array(gate.draw(self.counter(auto), flat, entropy), np.float64)
        drawn = np.split(noisy[: sum(lengths)], np.cumsum(lengths)[:-1])
        lost = max(float(noisy[-1]), 0.0) if self.missing else None
        told = PartitionDraw(
            self, auto, made, listed, patterns, release, drawn[0], others, tuple(drawn[1:]), size, lost
        )
        found = told.density()
        if found is None:
            return NO_REPLY
        words = (auto.words(pair, main), *found.words)
        return Reply(replace(found, guarantee=self.guarantee, words=words))

    def expected(self, people: int) -> DensityAccuracy:
        n = self.auto.terms.size or people
        made = self.searches(n)
        auto = self.after(len(made))
        found, said = auto.expected(n), []
        bars = auto.pair(n)[0].release.sums.table.shape[1]
        for one, noticed in zip(self.axes, self.noticed(auto, made, (float(n), bars), None), strict=True):
            said.append(sentence(one.column, noticed))
        if made:
            said.append(f"ε {float(sum(search.noise.epsilon for search in made)):.2g} goes to the search")
        return replace(found, note="; ".join(text for text in (found.note, *said) if text))

    def noticed(
        self, auto: Auto, made: Sequence[Search], size: tuple[float, int], counts: Sequence[int] | None
    ) -> tuple[tuple[NoticedAtoms, ...], ...]:
        """For each column from which share of the records on an atom is found.

        Parameters
        ----------
        auto : Auto
            Plan of the search for atoms.
        made : sequence of Search
            Searches that were worth their price, one for each sought column.
        size : tuple of float and int
            Number of records and number of bars.
        counts : sequence of int or None
            Number of counts behind an atom of each column; None before the release.

        Returns
        -------
        tuple of tuple of NoticedAtoms
            For each column its atoms, with the share.
        """
        found, counter, (n, bars) = [], self.counter(auto), size
        steps = self.steps or (0,) * len(self.axes)
        for place, (one, values) in enumerate(zip(self.axes, self.usable(auto, max(n, 1.0)), strict=True)):
            step = steps[place]
            among = self._behind(auto, max(round(n), 1)) if counts is None else counts[place]
            bar, missed = (reach_of(counter, among, chance) for chance in (chance_of(self.listed), MISSED))
            names = public_values(values, (one.low, one.high), step)
            own = [NoticedAtoms(one.column, names, min((bar + missed) / max(n, 1.0), 1.0))] if values else []
            if len(self.axes) == 1 and one.whole and bars == one.steps[-1]:  # a bar for every number
                noise = 2.0 * float(counter.scale) ** 2 * bars
                shows = SHOWS * math.sqrt(bar_smoothing.CAUTION * (n + noise)) / max(n, 1.0)
                own.append(NoticedAtoms(one.column, whole_word(step), min(shows, 1.0)))
            mine = [search for search in made if search.bounds.column == one.column]
            found.append((*own, *(each for search in mine for each in search.noticed(n))))
        return tuple(found)

    def _behind(self, auto: Auto, n: int) -> int:
        """Counts that add up to that of one atom, for n records."""
        total = 0
        for rest in product(*([-1, *range(len(values))] for values in self.listed[1:])):
            sized = self._bars(auto, (0, *rest), bar_smoothing.NoisySize(float(n), 0.0))
            total += 1 if sized is None else sized.sums.table.shape[1]
        return total

    def _bars(self, auto: Auto, pattern: Pattern, size: bar_smoothing.NoisySize) -> LinearDensity | None:
        """Bars along the columns in which a record is at no atom; None where it is at one in each."""
        axes = tuple(one for one, atom in zip(self.axes, pattern, strict=True) if atom < 0)
        if not axes:
            return None
        columns, worth = len(axes), TENTH * max(size.records, 1.0) * float(min(auto.left, Fraction(1)))
        wanted = math.log(max(RULE[columns] * math.sqrt(worth), 1.0)) / columns
        most = max(one.cells for one in axes)
        sizes = [*(count for count in BARS[columns] if count < most), *((most,) if most <= BARS[columns][-1] else ())]
        count = min(sizes, key=lambda each: abs(math.log(each) - wanted))
        made = bars(axes, count, replace(auto.terms, size=1, fixed=False))
        return replace(made, sums=replace(made.sums, terms=auto.terms, epsilon=auto.left))

    # --- what the rows say --------------------------------------------------------------------------------------------

    def _present(self, results: Sequence[QueryResult]) -> int:
        """Records with a value."""
        records = results[0].records
        return sum(results[0].vectors[0]) if records is None else int((records[:, 0] != ABSENT).sum())

    def usable(self, auto: Auto, n: float) -> Values:
        """The candidates that so many records are worth: of several columns what is none is left out of the density."""
        if len(self.axes) == 1:
            return self.listed
        among, counter = self._behind(auto, max(round(n), 1)), self.counter(auto)
        least = sum(reach_of(counter, among, chance) for chance in (chance_of(self.listed), MISSED))
        return self.listed if least <= HIDDEN * n else tuple(() for _ in self.axes)

    def _found(
        self, public: Values, made: Sequence[Search], results: Sequence[QueryResult], entropy: Entropy
    ) -> Values:
        """The candidates of each column, with what the searches found; as many as there is room for."""
        if not made:
            return public
        records = results[0].records
        assert records is not None
        present, names = records[records[:, 0] != ABSENT], [one.column for one in self.axes]
        more = {one.bounds.column: one.draw(present[:, names.index(one.bounds.column)], entropy) for one in made}
        merged = [_merged(one, values, more.get(one.column, ())) for one, values in zip(self.axes, public, strict=True)]
        return _roomy(public, tuple(merged))

    @cached_property
    def _edges(self) -> tuple[Fraction, ...]:
        (one,), (values,) = self.axes, self.listed
        width = Fraction(1) if one.whole else (one.edges[-1] - one.edges[0]) * NARROW
        return tuple(sorted({*one.edges, *values, *(value + width for value in values)}))

    def _parted(
        self, results: Sequence[QueryResult], listed: Values, patterns: Sequence[Pattern]
    ) -> tuple[Integers, list[Integers], int]:
        """Records in each cell that are at no atom, those of each part in cells of its own, and those without value."""
        records = results[0].records
        if records is None:
            return self._tallied(results, listed)
        present = records[records[:, 0] != ABSENT]
        at, places = np.full(present.shape, -1, np.int64), np.empty(present.shape, np.int64)
        for column, (one, values) in enumerate(zip(self.axes, listed, strict=True)):
            unit = unit_of(one)
            ends = (math.floor(one.edges[0] / unit), math.floor((one.edges[-1] - one.whole) / unit))
            read = np.clip(present[:, column], *ends)
            inner = np.array([math.ceil(edge / unit) for edge in one.edges[1:-1]], np.int64)
            places[:, column] = np.searchsorted(inner, read, side="right")
            for number, value in enumerate(values):
                at[read == math.floor(value / unit), column] = number
        sides = [one.cells for one in self.axes]
        found = []
        for pattern in ((-1,) * len(sides), *patterns):
            own = (at == np.array(pattern)).all(axis=1)
            free = [place for place, atom in enumerate(pattern) if atom < 0]
            flat = np.zeros(int(own.sum()), np.int64)
            for place in free:
                flat = flat * sides[place] + places[own, place]
            found.append(np.bincount(flat, minlength=math.prod(sides[place] for place in free)).astype(np.int64))
        return found[0], found[1:], len(records) - len(present)

    def _tallied(self, results: Sequence[QueryResult], listed: Values) -> tuple[Integers, list[Integers], int]:
        """The same for one column whose values the engine counted between ``_edges``."""
        (one,), (values,) = self.axes, listed
        counts, rest = results[0].vectors[0], np.zeros(one.cells, np.int64)
        held = dict.fromkeys(values, 0)
        for (start, _), count in zip(pairwise(self._edges), counts, strict=True):
            if start in held:
                held[start] += count
            else:
                place = int(np.searchsorted(one.cuts, float(start), side="right")) - 1
                rest[min(max(place, 0), one.cells - 1)] += count
        absent = results[1].vectors[0][0] - sum(counts) if self.missing else 0
        return rest, [np.array([held[value]], np.int64) for value in values], absent


@dataclass(frozen=True, eq=False, repr=False)
class PartitionDraw:
    """Noisy counts of all parts, and what they make: everything here was released."""

    plan: PartitionDensity
    auto: Auto
    made: tuple[Search, ...]
    listed: Values
    patterns: tuple[Pattern, ...]
    release: LinearDensity
    bars: Floats
    others: tuple[LinearDensity | None, ...]
    beside: tuple[Floats, ...]
    size: bar_smoothing.NoisySize
    lost: float | None

    @property
    def counter(self) -> Geometric:
        return self.plan.counter(self.auto)

    def density(self) -> Density | None:
        """The density, with its atoms; None where the noise hides that there are records at all."""
        kept = self._kept()
        parts = [
            (pattern, release, noisy)
            for pattern, release, noisy in zip(self.patterns, self.others, self.beside, strict=True)
            if all(atom < 0 or (column, atom) in kept for column, atom in enumerate(pattern))
        ]
        counts = [max(float(noisy.sum()), 0.0) for _, _, noisy in parts]
        own, apart = self.release.sums.deviation, sum(len(noisy) for _, _, noisy in parts)
        near = bar_smoothing.NoisySize(
            max(self.size.records - sum(counts), 0.0),
            max(math.hypot(self.size.deviation, own * math.sqrt(apart)), SMALL),
        )
        bars = self.bars + self._given_back(kept)
        match bar_smoothing.told(self.release, bars, near):
            case Reply(found):
                rest, number = found, float(found.n)
            case NoReply() if sum(counts) > own * NORMAL * 2.0 * math.sqrt(max(apart, 1)):
                rest, number = self._nothing(), 0.0
            case NoReply():
                return None
        _, _, unsure = bar_smoothing.pooled(float(bars.sum()), own * math.sqrt(len(bars)), near)
        widest = max([len(noisy) for _, _, noisy in parts], default=1)
        noise = MixtureNoise(reach_of(self.counter, widest, BETA), NORMAL * unsure if number else 0.0, self.lost)
        n = number + sum(counts)
        columns = len(self.listed)
        behind = [
            max((sum(len(part) for at, part in zip(self.patterns, self.beside, strict=True) if at[k] == 0)), 1)
            for k in range(columns)
        ]
        if columns == 1:
            values = [(self.listed[0][at], count) for ((at,), _, _), count in zip(parts, counts, strict=True)]
            made = at_values(rest, number, values, noise)
        else:
            made = joined(rest, number, [self._part(*part, rest) for part in parts], noise)
        noticed = tuple(
            one for each in self.plan.noticed(self.auto, self.made, (n, len(self.bars)), behind) for one in each
        )
        words = tuple(sentence(one.column, noticed) for one in self.plan.axes)
        return replace(made, noticed=noticed, guarantee=self.plan.guarantee, words=(*made.words, *words))

    def _kept(self) -> set[tuple[int, int]]:
        """Columns and numbers of the candidates that stand out of the noise."""
        found = set()
        for column, values in enumerate(self.listed):
            for number, value in enumerate(values):
                own = [part for at, part in zip(self.patterns, self.beside, strict=True) if at[column] == number]
                count = sum(float(part.sum()) for part in own)
                bar = reach_of(self.counter, sum(map(len, own)), chance_of(self.listed))
                usual = self._usual(value)
                if count > bar + usual and count > STANDS * usual:
                    found.add((column, number))
        return found

    def _usual(self, value: Fraction) -> float:
        """Records at a value that is like the others of its bar: of one column of whole numbers, else none."""
        if len(self.listed) > 1 or not self.plan.axes[0].whole:
            return 0.0
        place = self._bar(value)
        (one,) = self.plan.axes
        held = float(one.sizes[bar_smoothing.bar_of(self.release.sums) == place].sum())
        beside = sum(1 for other in self.listed[0] if self._bar(other) == place)
        return max(float(self.bars[place]), 0.0) / max(held - beside, 1.0)

    def _bar(self, value: Fraction) -> int:
        """The bar of a value; of one column."""
        cell = int(self.plan.axes[0].cell([float(value)])[0])
        return int(bar_smoothing.bar_of(self.release.sums)[cell])

    def _given_back(self, kept: set[tuple[int, int]]) -> Floats:
        """Counts of candidates that are no atoms, in their bars; of several columns they are left out."""
        found = np.zeros(len(self.bars))
        if len(self.listed) == 1:
            for number, (value, part) in enumerate(zip(self.listed[0], self.beside, strict=True)):
                if (0, number) not in kept:
                    found[self._bar(value)] += float(part.sum())
        return found

    def _part(self, pattern: Pattern, release: LinearDensity | None, noisy: Floats, rest: Density) -> AtomPart:
        """Records at the atoms of a pattern; where they are too few, the others are as in the rest."""
        at = tuple(None if number < 0 else values[number] for values, number in zip(self.listed, pattern, strict=True))
        count = max(float(noisy.sum()), 0.0)
        if release is None:
            return AtomPart(at, count, None)
        match bar_smoothing.told(release, noisy, bar_smoothing.NoisySize(count, FAR)):
            case Reply(found):
                return AtomPart(at, count, found)
            case NoReply():
                return AtomPart(at, count, margin(rest, [place for place, number in enumerate(pattern) if number < 0]))

    def _nothing(self) -> Density:
        """The density of no records."""
        masses = np.zeros([one.cells for one in self.plan.axes])
        masses.flat[0] = 1.0
        words = ("the noise hides what is not an atom: it counts as nothing",)
        return Density(self.plan.axes, masses, "atoms alone", self.plan.guarantee, 1, words=words)


def parted(
    columns: Columns,
    terms: DensityTerms,
    epsilon: Fraction,
    *,
    listed: Sequence[Fraction] = (),
    missing: bool = False,
    steps: Steps = MappingProxyType({}),
) -> PartitionDensity:
    """The plan: the private choice of a grid for one to three columns, with atoms.

    Parameters
    ----------
    columns : sequence of (name, low, high, whole numbers)
    terms : Terms
    epsilon : Fraction
        Of all of it, the searches included.
    listed : sequence of Fraction
        Public values of one column that may have a mass of their own, beside 0 and the ends of the bounds.
    missing : bool
    steps : mapping of column to int or Fraction
        Of columns of dates the seconds of one unit, of real ones a declared resolution.

    Returns
    -------
    PartitionDensity
        Plan with its guarantee.

    Raises
    ------
    PublicParameterError
        For listed values outside the bounds, or of a whole-number column and no whole numbers; before rows are read.
    """
    terms = replace(terms, fixed=False)
    made = auto(columns, terms, epsilon, steps)
    for value in listed:
        _, low, high, whole = columns[0]
        if not low <= value <= high or (whole and value.denominator != 1):
            among = "whole numbers of the column" if whole else "values"
            raise PublicParameterError(
                f"atoms are {among} within the bounds, {show(low)} to {show(high)}, got {show(value)}"
            )
    bounds = declared([even(name, low, high, 1, whole=whole) for name, low, high, whole in columns], steps)
    few = len(columns) == 1 and bounds[0].whole and bounds[0].steps[-1] <= BARS[1][-1]  # bars show every one of them
    units = tuple(one.step for one in bounds) if any(one.step for one in bounds) else ()
    return PartitionDensity(made, candidates(made.axes, listed), () if few else bounds, missing, units)


# --- candidates -------------------------------------------------------------------------------------------------------


def candidates(axes: Sequence[Axis], listed: Sequence[Fraction] = ()) -> Values:
    """The public candidates of each column: 0 and the ends of its bounds, and of one column what is listed.

    Of several columns the ends of whole numbers are candidates where there are more than ``WIDE`` of them: in narrow
    bars they are seen anyway.
    """
    found = []
    for one in axes:
        low, high = one.edges[0], one.edges[-1] - (1 if one.whole else 0)
        zero = {Fraction(0)} if low <= 0 <= high else set()
        ends = {low, high} if len(axes) == 1 or not one.whole or high - low >= WIDE else set()
        found.append(_merged(one, tuple(sorted(listed)), tuple(sorted(zero | ends))))
    return tuple(found)


def _merged(one: Axis, first: Sequence[Fraction], more: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Values of both lists that have a cell of their own, in order; of two that are too close the earlier one stays."""
    width = (one.edges[-1] - one.edges[0]) * NARROW * APART
    found: list[Fraction] = []
    for value in (*first, *more):
        alone = one.whole or (_apart(one, value) and all(abs(value - other) >= width for other in found))
        if alone and value not in found:
            found.append(value)
    return tuple(sorted(found))


def _apart(one: Axis, value: Fraction) -> bool:
    """Tell if the doubles next to a value leave room for a cell."""
    step = (one.edges[-1] - one.edges[0]) * NARROW / APART
    return float(value) < float(value + step) and float(value - step) < float(value)


def _roomy(listed: Values, found: Values) -> Values:
    """Listed values and the found ones that there is room for, the first of each column; all of one column."""
    if len(found) == 1:
        return found
    kept = [list(values) for values in listed]
    more = [[value for value in values if value not in own] for values, own in zip(found, listed, strict=True)]
    for each in range(max(map(len, more), default=0)):
        for place, values in enumerate(more):
            sides = [len(own) + 1 + (1 if place == k else 0) for k, own in enumerate(kept)]
            if each < len(values) and math.prod(sides) <= PARTS:
                kept[place].append(values[each])
    return tuple(tuple(sorted(values)) for values in kept)


def patterns_of(listed: Values) -> tuple[Pattern, ...]:
    """The parts of a table: which atom of each column a record is at, -1 for none; but for none in all."""
    every = product(*([-1, *range(len(values))] for values in listed))
    return tuple(pattern for pattern in every if max(pattern) >= 0)


def chance_of(listed: Values) -> float:
    """Chance that one candidate without mass is taken for an atom."""
    return FALSE / max(sum(map(len, listed)), 1)


def reach_of(noise: Geometric, counts: int, chance: float) -> float:
    """Bound that the sum of so many noises exceeds with at most this chance: exact for one, else Chernoff's.

    Parameters
    ----------
    noise : Geometric
    counts : int
        Number of noises in the sum.
    chance : float
        In (0, 1).

    Returns
    -------
    float
        In records.
    """
    if counts <= 1:
        return float(least_bar(noise, 1, chance))
    scale, tilts = float(noise.scale), np.linspace(0.001, 0.999, 999)
    return float(((math.log(1.0 / chance) - counts * np.log1p(-(tilts**2))) * scale / tilts).min())
