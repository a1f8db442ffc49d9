"""Equal laws of a number in two groups or more: Mann and Whitney's and Kruskal and Wallis's test on noisy counts.

    counts     rows by group and public bin, with geometric noise; ties, and values in one bin, count one half
    order      within a bin no order is seen: of two groups it can be worth half the product of their shares in it
    scores     c = mid-rank of a bin among all groups - 1/2, times p / (p + v / m): a bin that noise alone may have
               filled (p its share of all, v the variance of its noise, m the rows of a group) says nothing
    statistic  sum over groups of E^2 / (r n s^2 + v sum c^2), E = (scores of a group) - (its share) (scores of all),
               s^2 the variance of the scores, r the most rows of a person; v = 0 and r = 1 is Kruskal and Wallis's H
    law        multinomial tables of the noisy sizes and the pooled noisy shares, r rows at a time, with fresh noise

The effect of two groups is P(X < Y) + P(X = Y) / 2 - 1/2, of more the farthest mean rank from 1/2. Every row is in at
most one cell, so a row moves the table by 1, whatever the number of bins. Moreover k even bins keep 1 - 1 / k^2 of the
rows' worth (the variance of k tied ranks). See docs/theory/hypotheses.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np

from reticent.data.query import Tally
from reticent.data.query_result import QueryResult
from reticent.data.schema import Category, Integer, Key
from reticent.entropy import Simulation
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import Estimate
from reticent.privacy.numbers import rough, show
from reticent.statistics import public_facts
from reticent.statistics.context import COMMON, SMALL, SMALLER, TENTH, UNEVEN, ExpectedAccuracy, Setting
from reticent.statistics.hypotheses import groups, null
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.hypotheses.independence import seeing, words_of
from reticent.statistics.hypotheses.null import Floats
from reticent.statistics.hypotheses.step import HypothesisResult, HypothesisStep
from reticent.statistics.intervals import NONE, half_width, known, normal_half_width, too_few

FEWEST, MOST = 6, 128  # bins of a rule
USUAL: Final = 16  # bins at least, where noise leaves room: fewer hold most of a skewed law in one and hide its order
EACH: Final = 10  # rows x (epsilon of one row) for each bin up to the usual number
CELLS: Final = 512  # of a rule, over all groups
DRAWS: Final = 4_999  # simulated tables, of up to CELLS cells
ROOM: Final = Fraction(64, 25)  # squared bins for each row x (epsilon of one row)^2: bins cost noise, and few cost ties
ASSUMED: Final = 1000  # rows, for the number of bins where no number of persons is public
CHUNK: Final = 1 << 20  # simulated cells at a time
FARTHEST: Final = 12.0  # deviations that a plan shifts a group at most
SURELY: Final = 8.0  # half-widths of noise and sampling, beyond which an effect is seen
HALF: Final = 0.5
FEWEST_ROWS: Final = 10.0
TOLD: Final = 2.0  # deviations of the noise in a group's size that the size exceeds, or the group is left out
TOO_FEW: Final = "too few noisy rows in a group for a test at this loss: the p-value is 1"


@dataclass(frozen=True, slots=True)
class GroupRanks:
    """Groups by bins with noise of ``scale`` in every cell.

    ``alike`` is the most rows of one person; ``assumed`` are the shares of the bins in a plan, ``shape`` is its words.
    ``single`` tells of every bin if all its values are equal, so that no order of them is hidden.
    """

    among: tuple[Key, ...]
    scale: float
    alike: int
    assumed: tuple[float, ...]
    shape: str
    single: tuple[bool, ...]
    draws: int = DRAWS

    @property
    def hiding(self) -> Floats:
        """One half for a bin whose values may have an order, which ties do not show; 0 for another."""
        return np.where(self.single, 0.0, HALF)

    @property
    def effect(self) -> str:
        if len(self.among) == 2:
            return f"P({self.among[0]} < {self.among[1]}) less 1/2"
        return "farthest mean rank from 1/2"

    @property
    def bins(self) -> int:
        return len(self.assumed)

    @property
    def variance(self) -> float:
        """Variance of the noise of one cell, or a little more."""
        return 2.0 * self.scale**2

    def protected(self, results: Sequence[QueryResult]) -> list[tuple[int, ...]]:
        (counts,) = results
        return list(counts.vectors)

    def tell(self, noisy: Sequence[tuple[int, ...]]) -> HypothesisResult:
        """Result for the groups that have rows enough to be told from noise."""
        whole = np.array(noisy, np.float64)
        table = whole[[not self._few(size) for size in whole.sum(axis=1)]]
        words = self._left_out(whole)
        if len(table) < 2:
            low = -HALF if len(whole) == 2 else 0.0
            return HypothesisResult(
                Estimate(0.0, low, HALF, HALF, HALF), 0.0, null.PValue(1.0, 1.0, 1.0), (*words, TOO_FEW)
            )
        shares = _pooled(table)
        observed = float(statistic(table, self.variance, self.alike))
        under, far = self._under(tuple(table.sum(axis=1).tolist()), tuple(shares.tolist()))
        if len(whole) == 2:
            effect, hidden = self._chance(table)
            words = (f"ties count one half: P is {rough(HALF + effect.value)}", *_unseen(hidden, effect))
            words += words_of(effect.noise, effect.sampling, "distance from 1/2")
        else:
            effect, hidden = self._farthest(table, shares, far)
            words += _unseen(hidden, effect)
            words += words_of(effect.noise, effect.sampling, "mean rank's distance from 1/2")
        return HypothesisResult(effect, observed, null.p_value(observed, under), words)

    def _under(self, sizes: tuple[float, ...], shares: tuple[float, ...]) -> tuple[Floats, Floats]:
        """The statistic of simulated tables, and the farthest mean rank."""
        found, far, source = [], [], null.stream("ranks")
        for table in self._tables(sizes, (shares,) * len(sizes), self.draws, source):
            found.append(statistic(table, self.variance, self.alike))
            far.append(np.abs(mean_ranks(table, np.array(shares)) - HALF).max(axis=1))
        return np.concatenate(found), np.concatenate(far)

    def _left_out(self, table: Floats) -> tuple[str, ...]:
        few = [str(key) for key, size in zip(self.among, table.sum(axis=1), strict=True) if self._few(size)]
        return (f"left out for having too few noisy rows: {', '.join(few)}",) if few else ()

    def _tables(
        self, sizes: Sequence[float], shares: Sequence[Sequence[float] | Floats], draws: int, source: Simulation
    ) -> list[Floats]:
        """Noisy tables of groups of these sizes and shares, the rows of a person in one cell; in arrays of many."""
        persons = [round(size / self.alike) for size in sizes]
        found, each = [], max(1, CHUNK // (len(sizes) * self.bins))
        for start in range(0, draws, each):
            count = min(each, draws - start)
            rows = [source.multinomial(n, part, size=count) for n, part in zip(persons, shares, strict=True)]
            noise = null.geometric(self.scale, (count, len(sizes), self.bins), source)
            found.append((self.alike * np.stack(rows, axis=1) + noise).astype(np.float64))
        return found

    def _few(self, size: float) -> bool:
        """Tell if noise alone may have made a group of this size, so that it is left out."""
        return size < max(FEWEST_ROWS, TOLD * math.sqrt(self.bins * self.variance))

    def _chance(self, table: Floats) -> tuple[Estimate, float]:
        """P(X < Y) + P(X = Y) / 2 - 1/2 of the noisy counts, and how much of it the bins can hide.

        The chance lies between that of all ties lost and that of all ties won. Both are linear in each group's counts.
        Each end of the interval is one of them with its own half-width, to first order in what a cell adds.
        """
        first, second = table
        sizes = table.sum(axis=1)
        if any(too_few(size, [self.scale] * self.bins) for size in sizes.tolist()):
            return Estimate(0.0, -HALF, HALF, HALF, HALF), 0.0
        hidden = float(self.hiding @ (first * second)) / float(sizes.prod())

        def told(won: float) -> tuple[float, float, list[float]]:
            """The effect less 1/2, the variance of sampling and the scales of noise, ties won by so much."""
            above = (second.sum() - np.cumsum(second) + second * (HALF + won * self.hiding)) / sizes[1]
            below = (np.cumsum(first) - first * (HALF - won * self.hiding)) / sizes[0]
            value = float(first @ above / sizes[0])
            scales = [self.scale * x for x in (*((above - value) / sizes[0]), *((below - value) / sizes[1]))]
            parts = zip(np.maximum(table, 0.0), (above, below), sizes, strict=True)
            return value - HALF, self.alike * sum(_spread(row, score) / size for row, score, size in parts), scales

        away, sampled, scales = told(0.0)
        ends = [told(won) for won in (-1.0, 1.0)] if max(self.hiding) else [(away, sampled, scales)] * 2
        low, high = (
            value + side * half_width(known(spread), parts)
            for side, (value, spread, parts) in zip((-1.0, 1.0), ends, strict=True)
        )
        low, high = min(low, away), max(high, away)
        low, away, high = (min(max(end, -HALF), HALF) for end in (low, away, high))
        return Estimate(
            float(away), float(low), float(high), half_width(NONE, scales), normal_half_width(sampled)
        ), hidden

    def _farthest(self, table: Floats, shares: Floats, far: Floats) -> tuple[Estimate, float]:
        """The farthest mean rank; simulated distances of all groups at once bound how far any of them is off."""
        sizes, scores = table.sum(axis=1), np.cumsum(shares) - shares / 2.0
        away = np.abs(mean_ranks(table, shares) - HALF)
        sure = [not too_few(size, [self.scale] * self.bins) for size in sizes.tolist()]
        if not any(sure):
            return Estimate(0.0, 0.0, HALF, HALF, HALF), 0.0
        place = int(np.where(sure, away, -1.0).argmax())
        value, radius = min(float(away[place]), HALF), null.critical(far, 0.05)
        hidden = np.array([self._hidden(table, group) for group in range(len(table))])
        low, high = (float(np.max((away + side * hidden)[sure])) + side * radius for side in (-1.0, 1.0))
        noise = half_width(NONE, [self.scale * x / sizes[place] for x in scores - HALF])
        sampling = normal_half_width(self.alike * _spread(shares, scores) / sizes[place])
        found = Estimate(value, min(max(low, 0.0), value), max(min(high, HALF), value), noise, sampling)
        return found, float(hidden[place])

    def _hidden(self, table: Floats, group: int) -> float:
        """The most that orders within bins can move a group's mean rank, at 97.5 %; pairs of its own move nothing."""
        own, others = table[group], table.sum(axis=0) - table[group]
        pairs = max(float(own.sum() * table.sum()), 1.0)
        scales = [*(self.hiding * others), *(math.sqrt(len(table) - 1) * self.hiding * own)]
        found = float(self.hiding @ (own * others)) / pairs
        return max(found, 0.0) + half_width(NONE, [self.scale * scale / pairs for scale in scales])

    def expected(self, people: int) -> ExpectedAccuracy:
        """For groups of equal size whose values have the assumed shares; persons are taken to have one row each."""

        def seen(sure: float) -> float | None:
            def power(away: float) -> float:
                return 1.0 if away > sure else self._seen(away, people, null.LEVEL)

            return null.least_seen(power, 0.98 * self._most)

        return self._line(people, seen)

    def half_widths(self, people: int) -> ExpectedAccuracy:
        """The same without the effect that is seen, which takes simulated tables."""
        return self._line(people, lambda _: None)

    def _line(self, people: int, seen: Callable[[float], float | None]) -> ExpectedAccuracy:
        """The line of a plan; ``seen`` finds the effect that is seen, below one that is seen for sure."""
        size, shares = people / len(self.among), np.array(self.assumed)
        if self._few(size):
            return ExpectedAccuracy(None, None, TOO_FEW)
        scores = np.cumsum(shares) - shares / 2.0 - HALF
        compared = 2 if len(self.among) == 2 else 1  # noisy groups that the effect is made of

        def widths(sizes: Sequence[float]) -> tuple[float, float]:
            noise = half_width(NONE, [self.scale * x / one for one in sizes for x in scores.tolist()])
            return noise, normal_half_width(self.alike * _spread(shares, scores) * sum(1.0 / one for one in sizes))

        small = (people * SMALLER, people * (1.0 - SMALLER)) if compared == 2 else (size * SMALLER,)
        least = seen(SURELY * sum(widths([size] * compared)))
        what = f"distance of P({self.among[0]} < {self.among[1]}) from 1/2" if compared == 2 else "mean rank's distance"
        others = [(SMALL if compared == 2 else TENTH, *widths(small))]
        if self._few(small[0]):  # it would be left out
            others = []
        if compared == 2 and not self._few(people * COMMON):
            others.append((UNEVEN, *widths((people * COMMON, people * (1.0 - COMMON)))))
        hidden = float(self.hiding @ shares**2) * (1.0 if compared == 2 else 1.0 - 1.0 / len(self.among))
        assumed = f"{UNEVEN if compared == 2 else 'equal groups'}, {self.shape}"
        assumed += f", where the interval has ± {rough(hidden)} for the order within bins" if hidden else ""
        return seeing(*widths([size] * compared), least, what, assumed, others=others, most=HALF, typical=UNEVEN)

    def power(self, effect: float, people: int, level: float) -> float:
        """For groups of equal size and the assumed shares, the last group shifted on the scale that makes them normal.

        ``effect`` is P(first < second) less 1/2 of two groups; of more the last one's mean rank less 1/2.

        Parameters
        ----------
        effect : float
            Effect, in the unit of the test.
        people : int
            Number of people.
        level : float
            Level of the test, in (0, 1).

        Returns
        -------
        float
            Probability of a rejection, in [0, 1].

        Raises
        ------
        PublicParameterError
            An effect that these bins cannot have.
        """
        away = abs(effect)
        if away > self._most:
            raise PublicParameterError(f"{self.effect} is at most {rough(self._most, 3)} from no effect in these bins")
        if self._few(people / len(self.among)):
            return 0.0
        return self._seen(away, people, level)

    @property
    def _most(self) -> float:
        return _away(self, FARTHEST)

    def _seen(self, away: float, people: int, level: float) -> float:
        low, high = 0.0, FARTHEST
        for _ in range(40):
            middle = HALF * (low + high)
            low, high = (low, middle) if _away(self, middle) >= away else (middle, high)
        shares = [np.array(self.assumed)] * (len(self.among) - 1) + [_shifted(self.assumed, high)]
        pooled = tuple(np.mean(np.array(shares), axis=0).tolist())
        size, source = people / len(self.among), null.stream("ranks with an effect")
        tables = self._tables([size] * len(self.among), shares, null.PLANNED, source)
        found = np.concatenate([statistic(table, self.variance, self.alike) for table in tables])
        return float(np.mean(found > _bar(self, size, pooled, level)))


@lru_cache(maxsize=256)
def _bar(ranks: GroupRanks, size: float, shares: tuple[float, ...], level: float) -> float:
    """The critical value for groups of one size and law."""
    return null.critical(replace(ranks, draws=null.PLANNED)._under((size,) * len(ranks.among), shares)[0], level)


def _shifted(shares: tuple[float, ...], by: float) -> Floats:
    """Shares after a shift of the normal variable that the bins cut."""
    from scipy.special import ndtr, ndtri

    ends = ndtri(np.minimum(np.cumsum(shares)[:-1], 1.0))
    found: Floats = np.diff(ndtr(ends - by), prepend=0.0, append=1.0)
    return found


def _away(ranks: GroupRanks, by: float) -> float:
    """The effect less what it is without effect, where the last group is shifted by so much."""
    shares, moved = np.array(ranks.assumed), _shifted(ranks.assumed, by)
    chance = float(moved @ (np.cumsum(shares) - shares / 2.0)) - HALF
    return chance if len(ranks.among) == 2 else chance * (1.0 - 1.0 / len(ranks.among))


def statistic(table: Floats, variance: float, alike: int) -> Floats:
    """The statistic of tables of shape (..., groups, bins) with noise of this variance in every cell.

    Parameters
    ----------
    table : array of shape (..., groups, bins), float
        Noisy counts.
    variance : float
        Of the noise in a cell, in rows squared.
    alike : int
        Rows of a person that may be alike.

    Returns
    -------
    array of shape (...), float
    """
    sizes = np.maximum(table.sum(axis=-1), 1.0)
    total = sizes.sum(axis=-1, keepdims=True)
    shares = _pooled(table)
    scores = np.cumsum(shares, axis=-1) - shares / 2.0 - HALF
    scores = scores * shares / np.maximum(shares + variance * table.shape[-2] / total, 1e-12)
    scores = scores - (shares * scores).sum(axis=-1, keepdims=True)
    sums = (table * scores[..., None, :]).sum(axis=-1)
    apart = sums - sizes / total * sums.sum(axis=-1, keepdims=True)
    sampled = alike * sizes * (shares * scores**2).sum(axis=-1, keepdims=True)
    noise = variance * (scores**2).sum(axis=-1, keepdims=True)
    found: Floats = (apart**2 / np.maximum(sampled + noise, 1e-300)).sum(axis=-1)
    return found


def mean_ranks(table: Floats, shares: Floats) -> Floats:
    """The mean rank of every group as a share of all rows, by tables of shape (..., groups, bins)."""
    scores = np.cumsum(shares) - shares / 2.0
    found: Floats = (table @ scores) / np.maximum(table.sum(axis=-1), 1.0)
    return found


def _pooled(table: Floats) -> Floats:
    """Shares of the bins in all groups together: the nearest possible ones to what noise left, even ones of nothing.

    Cutting off what is below 0 would leave the noise above 0, and make every law look more even than it is.
    """
    counts = table.sum(axis=-2)
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    falling = -np.sort(-counts, axis=-1)
    left = (np.cumsum(falling, axis=-1) - total) / np.arange(1, counts.shape[-1] + 1)
    kept = np.maximum((falling > left).sum(axis=-1, keepdims=True), 1)
    found: Floats = np.maximum(counts - np.take_along_axis(left, kept - 1, axis=-1), 0.0) / total
    return found


def _unseen(hidden: float, effect: Estimate) -> tuple[str, ...]:
    """Words on the order within bins, where there may be one."""
    if hidden <= 0.0:
        return ()
    more = "; edges that are close where values crowd make it less" if hidden > effect.noise + effect.sampling else ""
    return (f"the interval allows for any order of values within a bin: about ± {rough(hidden)} of it{more}",)


def _spread(weights: Floats, scores: Floats) -> float:
    """The variance of scores under weights that need not sum to 1."""
    share = weights / max(float(weights.sum()), 1.0e-9)
    return max(float(share @ scores**2 - (share @ scores) ** 2), 0.0)


def step(asked: HypothesisTest, setting: Setting, epsilon: Fraction) -> HypothesisStep:
    """The step of "ranks".

    Parameters
    ----------
    asked : HypothesisTest
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    HypothesisStep

    Raises
    ------
    QuestionError
        Before rows are read: no public groups, a category on the left, or neither edges nor bounds.
    """
    if isinstance(setting.schema.column(asked.column), Category):
        raise QuestionError(f"ranks need numbers, and {asked.column} is a category. Nothing was charged.")
    keys = groups.keys_of(asked, setting)
    edges = asked.edges or _even(asked, setting, epsilon, len(keys.among))
    if len(edges) < 3:
        raise QuestionError(f"ranks need two bins or more: {asked.name} has three edges or more. Nothing was charged.")
    query = Tally(asked.column, edges=edges, keys=keys)
    mechanism = public_facts.geometric(public_facts.stability_of(query, setting), setting, epsilon)
    assert mechanism is not None  # a row that moves to another bin changes the table
    bins = len(edges) - 1
    shares = (1.0 / bins,) * bins if asked.edges else _bell(edges)
    shape = "evenly filled bins" if asked.edges else "a deviation of 1/6 of the range"
    low, high = (edges[0], edges[-1]) if asked.edges else _bounds(asked, setting)
    whole = isinstance(setting.schema.column(asked.column), Integer)
    single = _single(edges, high) if whole else (False,) * bins
    found = GroupRanks(keys.among, float(mechanism.scale), setting.schema.person.rows, shares, shape, single)
    ends = f"[{show(low)}, {show(high)}]"
    return HypothesisStep(
        public_facts.name_of(asked.name, setting),
        (query,),
        mechanism,
        found,
        setting,
        (
            f"ranks of {bins} public bins of {ends}: values in one bin tie, values outside count in the nearer end bin",
            *groups.several_rows(setting),
        ),
        f", ties one half, values cut to {ends}",
    )


def _even(asked: HypothesisTest, setting: Setting, epsilon: Fraction, among: int) -> tuple[Fraction, ...]:
    """Edges of even bins from the bounds; whole numbers are not cut, and each has a bin where that is not too many."""
    column = setting.schema.column(asked.column)
    if not public_facts.bounded(asked.column, asked.low, asked.high, setting):
        raise QuestionError(
            f"ranks are counted in public bins: {asked.name} needs edges known without looking at the file, such as "
            f"edges=0:50:5, or low and high. Nothing was charged."
        )
    low, high = _bounds(asked, setting)
    steps = 2 if setting.neighbours.kind == "substitute" else 1
    people, each = setting.units or ASSUMED, epsilon / steps / setting.schema.person.rows
    usual = min(USUAL, int(people * each / EACH))
    most = math.isqrt(int(people * (epsilon / steps) ** 2 / setting.schema.person.rows * ROOM))
    bins = max(FEWEST, min(max(usual, most), MOST, CELLS // among))
    if not isinstance(column, Integer):
        return tuple(low + (high - low) * place / bins for place in range(bins + 1))
    values = int(high - low) + 1
    wide = -(-values // bins)
    return tuple(min(low + wide * place, high + 1) for place in range(-(-values // wide) + 1))


def _bounds(asked: HypothesisTest, setting: Setting) -> tuple[Fraction, Fraction]:
    return public_facts.bounds(asked.name, setting, asked.column, asked.low, asked.high)


def _single(edges: tuple[Fraction, ...], high: Fraction) -> tuple[bool, ...]:
    """Tell of every bin if it has one whole number at most, of numbers that are at most ``high``."""
    starts = [*map(math.ceil, edges[:-1]), math.floor(high) + 1]
    return tuple(after - start <= 1 for start, after in pairwise(starts))


def _bell(edges: tuple[Fraction, ...]) -> tuple[float, ...]:
    """Shares of a normal law in the middle, with 1/6 of the range as its deviation."""
    from scipy.special import ndtr

    ends = 6.0 * (np.array([float((edge - edges[0]) / (edges[-1] - edges[0])) for edge in edges[1:-1]]) - HALF)
    return tuple(np.diff(ndtr(ends), prepend=0.0, append=1.0).tolist())


__all__ = ["GroupRanks", "mean_ranks", "statistic", "step"]
