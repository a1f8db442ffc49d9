r"""method="auto" with atoms: values that many records share have a mass of their own, found from noisy counts.

    records --at no atom-----> bars        \
            --at an atom-----> one count   > one vector of noisy counts -> Density
            --without value--> one count  /

The candidates are public: 0 and the ends of the bounds, at which records crowd most often; listed values; values that a
search found (``search``) and released. A record belongs to one part of a partition, by the candidate it is at and by
nothing else. All parts are one partition, so their counts are one mechanism of the price of bars without atoms. What
stands out of the noise is an atom, for nothing; what does not goes back to its bar.

Proof: docs/proofs/densities.md, Proposition 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from reticent.data.order_statistics import ABSENT
from reticent.data.query import Query, Records, Rows, Tally
from reticent.data.query_result import QueryResult
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
from reticent.synthesis.method_selection import BARS, CENSUS, Auto, auto
from reticent.synthesis.mixture import MixtureNoise, at_values
from reticent.synthesis.remarks import NoticedAtoms, public_values, sentence, whole_word
from reticent.synthesis.search import APART, FALSE, MISSED, SHARE, STANDS, Search, least_bar, search_for, worthwhile
from reticent.synthesis.size import swapped

Values: TypeAlias = tuple[Fraction, ...]  # ascending

BETA: Final = 0.0125  # on either side, for every part
SMALL: Final = 1e-9  # records: of a number that is public
SHOWS: Final = 3.0  # roots of the variance of all waves: what smoothing leaves of one bar (docs/reference)


@dataclass(frozen=True, eq=False, repr=False)
class PartitionDensity:
    """A density of one column by a privately chosen grid, with atoms.

    Attributes
    ----------
    auto : Auto
        The grid and its choice, at all of epsilon. No public number of records is fixed in it: a record that is
        replaced may leave the grid for an atom.
    listed : tuple of Fraction
        Public candidates.
    sought : Axis, optional
        Bounds within which other values are searched for, where the number of records makes it worth its price.
    missing : bool
        Records without a value are counted, too.
    step : int
        Seconds of one unit of a column of dates, 0 of numbers.

    Guarantee
    ---------
    epsilon, pure: noisy number of records, search, choice and one vector of noisy counts in sequence. The number of
    records, public or noisy, says whether there is a search: the dearer of the two.
    """

    auto: Auto
    listed: Values
    sought: Axis | None = None
    missing: bool = False
    step: int = 0

    @cached_property
    def guarantee(self) -> Guarantee:
        label = "density by a private choice, with atoms"
        if self.auto.census is None:
            assert self.auto.terms.size is not None
            return compose.in_sequence(self._parts(self.search(self.auto.terms.size)), label=label)
        after = self._parts(None)
        if self.sought is not None:
            made = search_for(self.sought, self.auto.terms.neighbours, self.auto.epsilon)
            plans = [compose.in_sequence(self._parts(search)) for search in (None, made)]
            after = [compose.one_of(plans, label="with a search or without")]
        return compose.in_sequence([self.auto.census.guarantee, *after], label=label)

    def _parts(self, search: Search | None) -> list[Guarantee]:
        """Guarantees of all that follows the number of records."""
        made = self.after(search)
        first = [] if search is None else [search.mechanism.guarantee]
        first += [] if made.choice is None else [made.choice.guarantee]
        return [*first, replace(self.counter(made).guarantee, label="bars and atoms, however many were chosen")]

    def counter(self, auto: Auto) -> Geometric:
        """The mechanism of all counts: one record is in one of them."""
        near = auto.terms.neighbours
        return Geometric(L1(Fraction(swapped(near)), near), auto.left)

    def search(self, n: int) -> Search | None:
        """The search, where so many records are worth it."""
        if self.sought is None:
            return None
        return worthwhile(search_for(self.sought, self.auto.terms.neighbours, self.auto.epsilon), n)

    def after(self, search: Search | None) -> Auto:
        """The grid and its choice at what a search leaves."""
        if search is None:
            return self.auto
        census = Fraction(0) if self.auto.census is None else CENSUS
        return replace(self.auto, epsilon=self.auto.epsilon * (1 - SHARE - census) / (1 - census))

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.auto.axes

    @property
    def queries(self) -> tuple[Query, ...]:
        (one,) = self.axes
        if self.sought is None:  # the engine counts: no value leaves it
            return (Tally(one.column, self._edges), *((Rows(),) if self.missing else ()))
        return (Records((one.column,), (unit_of(one),)),)

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        """The density, or no reply where the noise hides that there are records at all."""
        size = self.auto.bought(self._present(results), entropy)
        search = self.search(max(round(size.records), 1))
        auto = self.after(search)
        listed = self.listed if search is None else self._found(search, results, entropy)
        counts, beside, absent = self._parted(results, listed)
        pair = auto.pair(max(round(size.records), 1))
        main = auto.chosen(pair, counts, size, entropy)
        release = auto.paid(main)
        exact = [*(release.sums.table.T @ counts).tolist(), *beside, *([absent] if self.missing else [])]
        noisy = np.array(gate.draw(self.counter(auto), exact, entropy), np.float64)
        bars = len(exact) - len(beside) - self.missing
        lost = max(float(noisy[-1]), 0.0) if self.missing else None
        told = PartitionDraw(
            self, auto, search, listed, release, noisy[:bars], noisy[bars : bars + len(beside)], size, lost
        )
        found = told.density()
        if found is None:
            return NO_REPLY
        words = (auto.words(pair, main), *found.words)
        return Reply(replace(found, guarantee=self.guarantee, words=words))

    def expected(self, people: int) -> DensityAccuracy:
        n = self.auto.terms.size or people
        search = self.search(n)
        auto = self.after(search)
        found = auto.expected(n)
        bars = auto.pair(n)[0].release.sums.table.shape[1]
        said = [found.note, sentence(self.axes[0].column, self.noticed(search, float(n), bars))]
        if search is not None:
            said.append(f"ε {float(search.noise.epsilon):.2g} goes to the search")
        return replace(found, note="; ".join(text for text in said if text))

    def noticed(self, search: Search | None, n: float, bars: int) -> tuple[NoticedAtoms, ...]:
        """From which share of the records on an atom is found.

        Parameters
        ----------
        search : Search or None
            The search, where it was worth its price.
        n : float
            Number of records.
        bars : int
            Number of bars.

        Returns
        -------
        tuple of NoticedAtoms
        """
        (one,), counter, n = self.axes, self.counter(self.after(search)), max(n, 1.0)
        found = []
        if self.listed:
            least = sum(least_bar(counter, 1, chance) for chance in (chance_of(self.listed), MISSED))
            names = public_values(self.listed, (one.low, one.high), self.step)
            found.append(NoticedAtoms(one.column, names, min(least / n, 1.0)))
        if one.whole and bars == one.steps[-1]:  # a bar for every number
            noise = 2.0 * float(counter.scale) ** 2 * bars
            shows = SHOWS * math.sqrt(bar_smoothing.CAUTION * (n + noise)) / n
            found.append(NoticedAtoms(one.column, whole_word(self.step), min(shows, 1.0)))
        return (*found, *(() if search is None else search.noticed(n)))

    # --- what the rows say --------------------------------------------------------------------------------------------

    def _present(self, results: Sequence[QueryResult]) -> int:
        """Records with a value."""
        records = results[0].records
        return sum(results[0].vectors[0]) if records is None else int((records[:, 0] != ABSENT).sum())

    def _found(self, search: Search, results: Sequence[QueryResult], entropy: Entropy) -> Values:
        """The candidates, with what the search found."""
        records = results[0].records
        assert records is not None
        present = records[records[:, 0] != ABSENT]
        return _merged(self.axes[0], self.listed, search.draw(present[:, 0], entropy))

    @cached_property
    def _edges(self) -> tuple[Fraction, ...]:
        (one,) = self.axes
        width = Fraction(1) if one.whole else (one.edges[-1] - one.edges[0]) * NARROW
        return tuple(sorted({*one.edges, *self.listed, *(value + width for value in self.listed)}))

    def _parted(self, results: Sequence[QueryResult], listed: Values) -> tuple[Integers, list[int], int]:
        """Records in each cell that are at no atom, those at each, and those without a value."""
        records = results[0].records
        if records is None:
            return self._tallied(results, listed)
        (one,), present = self.axes, records[records[:, 0] != ABSENT]
        unit = unit_of(one)
        ends = (math.floor(one.edges[0] / unit), math.floor((one.edges[-1] - one.whole) / unit))
        read = np.clip(present[:, 0], *ends)
        inner = np.array([math.ceil(edge / unit) for edge in one.edges[1:-1]], np.int64)
        at = np.full(len(read), -1, np.int64)
        for number, value in enumerate(listed):
            at[read == math.floor(value / unit)] = number
        places = np.searchsorted(inner, read[at < 0], side="right")
        beside = np.bincount(at[at >= 0], minlength=len(listed)).tolist()
        return np.bincount(places, minlength=one.cells).astype(np.int64), beside, len(records) - len(present)

    def _tallied(self, results: Sequence[QueryResult], listed: Values) -> tuple[Integers, list[int], int]:
        """The same where the engine counted values between ``_edges``."""
        (one,) = self.axes
        counts, rest = results[0].vectors[0], np.zeros(one.cells, np.int64)
        held = dict.fromkeys(listed, 0)
        for (start, _), count in zip(pairwise(self._edges), counts, strict=True):
            if start in held:
                held[start] += count
            else:
                place = int(np.searchsorted(one.cuts, float(start), side="right")) - 1
                rest[min(max(place, 0), one.cells - 1)] += count
        absent = results[1].vectors[0][0] - sum(counts) if self.missing else 0
        return rest, list(held.values()), absent


@dataclass(frozen=True, eq=False, repr=False)
class PartitionDraw:
    """Noisy counts of all parts, and what they make: everything here was released."""

    plan: PartitionDensity
    auto: Auto
    search: Search | None
    listed: Values
    release: LinearDensity
    bars: Floats
    beside: Floats
    size: bar_smoothing.NoisySize
    lost: float | None

    @property
    def counter(self) -> Geometric:
        return self.plan.counter(self.auto)

    def density(self) -> Density | None:
        """The density, with its atoms; None where the noise hides that there are records at all."""
        kept = self._kept()
        atoms = [(self.listed[at], max(float(self.beside[at]), 0.0)) for at in kept]
        apart = sum(count for _, count in atoms)
        own = self.release.sums.deviation
        near = bar_smoothing.NoisySize(
            max(self.size.records - apart, 0.0),
            max(math.hypot(self.size.deviation, own * math.sqrt(len(atoms))), SMALL),
        )
        bars = self.bars + self._given_back(kept)
        match bar_smoothing.told(self.release, bars, near):
            case Reply(found):
                rest, number = found, float(found.n)
            case NoReply() if apart > own * NORMAL * 2.0 * math.sqrt(max(len(atoms), 1)):
                rest, number = self._nothing(), 0.0
            case NoReply():
                return None
        _, _, unsure = bar_smoothing.pooled(float(bars.sum()), own * math.sqrt(len(bars)), near)
        noise = MixtureNoise(least_bar(self.counter, 1, BETA), NORMAL * unsure if number else 0.0, self.lost)
        made = at_values(rest, number, atoms, noise)
        noticed = self.plan.noticed(self.search, number + apart, len(self.bars))
        at = "a single value that has" if len(atoms) == 1 else f"{len(atoms)} single values, each with"
        beside = (
            (f"{apart:,.0f} more records are at {at} a share of its own, and in no bar",) if atoms and number else ()
        )
        words = (*made.words, *beside, sentence(self.plan.axes[0].column, noticed))
        return replace(made, noticed=noticed, guarantee=self.plan.guarantee, words=words)

    def _kept(self) -> list[int]:
        """Numbers of the candidates that stand out of the noise."""
        found = []
        bar = least_bar(self.counter, 1, chance_of(self.listed))
        for number, (value, count) in enumerate(zip(self.listed, self.beside.tolist(), strict=True)):
            usual = self._usual(value)
            if count > bar + usual and count > STANDS * usual:
                found.append(number)
        return found

    def _usual(self, value: Fraction) -> float:
        """Records at a whole number that is like the others of its bar; none at a real one."""
        (one,) = self.plan.axes
        if not one.whole:
            return 0.0
        place = self._bar(value)
        held = float(one.sizes[bar_smoothing.bar_of(self.release.sums) == place].sum())
        beside = sum(1 for other in self.listed if self._bar(other) == place)
        return max(float(self.bars[place]), 0.0) / max(held - beside, 1.0)

    def _bar(self, value: Fraction) -> int:
        """The bar of a value."""
        cell = int(self.plan.axes[0].cell([float(value)])[0])
        return int(bar_smoothing.bar_of(self.release.sums)[cell])

    def _given_back(self, kept: Sequence[int]) -> Floats:
        """Counts of candidates that are no atoms, in their bars."""
        found = np.zeros(len(self.bars))
        for number, value in enumerate(self.listed):
            if number not in kept:
                found[self._bar(value)] += float(self.beside[number])
        return found

    def _nothing(self) -> Density:
        """The density of no records."""
        masses = np.zeros([one.cells for one in self.plan.axes])
        masses.flat[0] = 1.0
        words = ("the noise hides what is not an atom: it counts as nothing",)
        return Density(self.plan.axes, masses, "atoms alone", self.plan.guarantee, 1, words=words)


def parted(
    column: tuple[str, Fraction, Fraction, bool],
    terms: DensityTerms,
    epsilon: Fraction,
    *,
    listed: Sequence[Fraction] = (),
    missing: bool = False,
    steps: Steps = MappingProxyType({}),
) -> PartitionDensity:
    """The plan: the private choice of a grid for one column, with atoms.

    Parameters
    ----------
    column : (name, low, high, whole numbers)
    terms : Terms
    epsilon : Fraction
        Of all of it, the search included.
    listed : sequence of Fraction
        Public values that may have a mass of their own, beside 0 and the ends of the bounds.
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
    name, low, high, whole = column
    made = auto(column, replace(terms, fixed=False), epsilon, steps)
    for value in listed:
        if not low <= value <= high or (whole and value.denominator != 1):
            among = "whole numbers of the column" if whole else "values"
            raise PublicParameterError(
                f"atoms are {among} within the bounds, {show(low)} to {show(high)}, got {show(value)}"
            )
    (bounds,) = declared([even(name, low, high, 1, whole=whole)], steps)
    few = bounds.whole and bounds.steps[-1] <= BARS[-1]  # bars show every one of them
    return PartitionDensity(made, candidates(made.axes[0], listed), None if few else bounds, missing, bounds.step)


# --- candidates -------------------------------------------------------------------------------------------------------


def candidates(one: Axis, listed: Sequence[Fraction] = ()) -> Values:
    """The public candidates of a column: 0, the ends of its bounds, and what is listed."""
    low, high = one.edges[0], one.edges[-1] - (1 if one.whole else 0)
    zero = {Fraction(0)} if low <= 0 <= high else set()
    return _merged(one, tuple(sorted(listed)), tuple(sorted({*zero, low, high})))


def _merged(one: Axis, first: Sequence[Fraction], more: Sequence[Fraction]) -> Values:
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


def chance_of(listed: Values) -> float:
    """Chance that one candidate without mass is taken for an atom."""
    return FALSE / max(len(listed), 1)
