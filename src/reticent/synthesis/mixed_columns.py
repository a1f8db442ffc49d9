"""Mixed columns: values with a mass of their own and missing values beside the density of the rest.

    rows --value is an atom--> noisy counts of atoms and of missing values
         --any other value---> any method, as if the others were not there

Which part a row belongs to is decided by its own value alone, so the parts are a partition nobody looked for: what one
row costs is the dearer of the two, not their sum. Each part is made for adding or removing one row with its size
private, and what one row costs is lifted to a person.

On a real column an atom is the values from it up to 2^-40 of the range above. At a bound it also has the values moved
there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from reticent.data.order_statistics import ABSENT
from reticent.data.query import Query, Records, Rows, Tally
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.rounding import exp_down, exp_up
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import group_loss
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import L1
from reticent.synthesis import size
from reticent.synthesis.atoms import emptied
from reticent.synthesis.axis import Axis
from reticent.synthesis.bernstein import Bernstein
from reticent.synthesis.density import Density
from reticent.synthesis.kernel import Kernel
from reticent.synthesis.ks import KSRelease
from reticent.synthesis.linear import DensityAccuracy, LinearDensity
from reticent.synthesis.linear_queries import DensityTerms
from reticent.synthesis.method_selection import Auto
from reticent.synthesis.options import Columns, DensityMechanism, Options, plan_for
from reticent.synthesis.parameter_selection import TunedDensity
from reticent.synthesis.series import Series, grid
from reticent.synthesis.tree import CountTree

ROW: Final = Adjacency("add_remove", unit="row")
SHORT: Final = Fraction(999, 1000)
NARROW: Final = Fraction(1, 1 << 40)  # of the range of a real column: the width of an atom
MISS: Final = 0.025  # beside what a band of the rest leaves out


@dataclass(frozen=True, eq=False, repr=False)
class MixtureDensity:
    """A density with atoms, with a share of missing values, or with both.

    Attributes
    ----------
    plan : Plan
        Of the rest, for adding or removing one row.
    axes : tuple of Axis
        The grid of the plan where nothing is left for it to say.
    atoms : tuple of Fraction
        Public, in order, within the bounds.
    missing : bool
    terms : Terms
        Of the whole.
    epsilon : Fraction
        Of one row.
    """

    plan: DensityMechanism
    axes: tuple[Axis, ...]
    atoms: tuple[Fraction, ...]
    missing: bool
    terms: DensityTerms
    epsilon: Fraction

    @cached_property
    def counter(self) -> Geometric:
        return Geometric(L1(Fraction(1), ROW), self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        parts = [self.counter.guarantee, self.plan.guarantee]
        every = compose.across(parts, neighbours=ROW, label="atoms, missing values and the rest")
        return compose.of_person(every, self.terms.neighbours, rows=self.terms.rows)

    @property
    def queries(self) -> tuple[Query, ...]:
        (query,) = self.plan.queries
        if isinstance(query, Records):
            return (query,)
        assert isinstance(query, Tally)
        return (replace(query, edges=self._edges(query)), *((Rows(),) if self.missing else ()))

    def draw(self, results: Sequence[QueryResult], entropy: Entropy) -> Outcome[Density]:
        exact, rest = self._parted(results)
        noisy = [max(count, 0) for count in gate.draw(self.counter, exact, entropy)]
        outcome = self.plan.draw([rest], entropy)
        atoms, missing = noisy[: len(self.atoms)], noisy[len(self.atoms) :]
        match outcome:
            case Reply(found):
                return Reply(self._joined(found, found.n, atoms, missing))
            case NoReply() if sum(atoms) > self.counter.radius(MISS, len(exact)):
                flat = np.zeros([one.cells for one in self.axes])
                told = ("the noise hides what is not an atom: it counts as nothing",)
                masses = flat.copy()
                masses.flat[0] = 1.0  # of a rest of 0 records
                found = Density(self.axes, masses, "atoms alone", self.guarantee, 1, words=told)
                return Reply(self._joined(found, 0, atoms, missing))
            case NoReply():
                return NO_REPLY

    def expected(self, people: int) -> DensityAccuracy | size.DistributionAccuracy:
        found = self.plan.expected(people)
        each = self.counter.radius(MISS, 1) / people
        said = f"atoms and missing values are drawn apart, each share ± {each:.2g}"
        return replace(found, note="; ".join(part for part in (found.note, said) if part))

    def _joined(self, found: Density, rest: int, atoms: Sequence[int], missing: Sequence[int]) -> Density:
        """All shares put together; their noise adds to that of the distribution function."""
        found = emptied(found, [float(value) for value in self.atoms])
        total = max(rest + sum(atoms), 1)
        share = rest / total if sum(atoms) else 1.0
        radius = self.counter.radius(MISS, max(len(atoms), 1)) / total if atoms else 0.0
        said = f"each atom's share has noise of ± {radius:.2g}, and its records are in no bar or cell" if atoms else ""
        masses = tuple(count / total for count in atoms)
        lost = missing[0] / max(missing[0] + total, 1) if missing else 0.0
        blur = unsure(self.plan) / total  # the number of the rest is off, too
        off = radius * max(len(atoms), 1) + blur * sum(masses)
        wander = None if found.wander is None else found.wander * share + off
        one = self.counter.radius(MISS, 1) / total
        return replace(
            found,
            masses=found.masses * (max(1.0 - sum(masses), 0.0) if atoms else 1.0),
            guarantee=self.guarantee,
            n=total,
            atoms=tuple((float(value), mass) for value, mass in zip(self.atoms, masses, strict=True)),
            missing=lost if missing else None,
            band=None if found.band is None else found.band * share,
            wander=None if wander is None else min(wander, 1.0),
            grain=None if found.grain is None else found.grain * share,
            shift=None if found.shift is None else found.shift * share,
            words=tuple(text for text in (*found.words, said) if text),
            beside=min(math.hypot(one, blur * max(*masses, lost, 0.0)), 1.0),
        )

    def _edges(self, query: Tally) -> tuple[Fraction, ...]:
        ends = {point for value in self.atoms for point in (value, value + self._width)}
        top = max(query.edges[-1], *ends) if ends else query.edges[-1]
        return tuple(sorted({*query.edges, *ends, top}))

    @property
    def _width(self) -> Fraction:
        (one,) = self.axes
        return Fraction(1) if one.whole else (one.edges[-1] - one.edges[0]) * NARROW

    def _parted(self, results: Sequence[QueryResult]) -> tuple[tuple[int, ...], QueryResult]:
        """Counts of atoms and of missing values, and what the plan is given: the rest."""
        (query,) = self.plan.queries
        if isinstance(query, Records):
            records = results[0].records
            assert records is not None
            absent = records[:, 0] == ABSENT
            return (int(absent.sum()),), QueryResult(records=records[~absent])
        assert isinstance(query, Tally)
        edges, counts = self._edges(query), results[0].vectors[0]
        rest = [0] * query.bins
        cut = np.array([float(edge) for edge in query.edges])
        held = dict.fromkeys(self.atoms, 0)
        for (start, _), count in zip(pairwise(edges), counts, strict=True):
            if start in held:
                held[start] = count
            else:
                place = int(np.searchsorted(cut, float(start), side="right")) - 1
                rest[min(max(place, 0), query.bins - 1)] += count
        absent_rows = (results[1].vectors[0][0] - sum(counts),) if self.missing else ()
        return (*held.values(), *absent_rows), QueryResult(vectors=(tuple(rest),))


def unsure(plan: DensityMechanism) -> float:
    """Half-width of the number of records that a plan tells, but for ``MISS``; 0 where it is no noisy one."""
    match plan:
        case KSRelease() if plan.size.bought is not None:
            return float(plan.size.bought.radius(MISS))
        case Auto() | TunedDensity() if plan.census is not None:
            return float(plan.census.radius(MISS))
        case CountTree():
            return float(plan.mechanism.radius(MISS))  # of its root alone; the other nodes make it less
        case Series() | Kernel() | Bernstein():
            return plan.plan.unsure
        case LinearDensity():
            return plan.unsure
        case _:
            return 0.0


def of_one(delta: Fraction, epsilon: Fraction, steps: int) -> Fraction:
    """A delta of one row, at this epsilon of one row, whose group loss over so many rows is at most ``delta``.

    Parameters
    ----------
    delta : Fraction
        Of a person.
    epsilon : Fraction
        Of one row.
    steps : int
        Rows of a person.

    Returns
    -------
    Fraction
    """
    if steps == 1 or not delta:
        return delta
    each = delta * (exp_down(epsilon) - 1) / (exp_up(steps * epsilon) - 1)
    while _lifted(each, epsilon, steps) > delta:  # what is stated is rounded up
        each *= SHORT
    return each


def _lifted(delta: Fraction, epsilon: Fraction, steps: int) -> Fraction:
    match group_loss(ApproxDP(epsilon, delta), steps):
        case ApproxDP(_, lifted):
            return lifted
        case other:
            raise AssertionError(f"a group of (epsilon, delta) has {other!r}")


def mixed(
    options: Options,
    columns: Columns,
    terms: DensityTerms,
    epsilon: Fraction,
    delta: Fraction,
    *,
    atoms: Sequence[Fraction],
    missing: bool,
) -> MixtureDensity:
    """A plan with atoms and missing values.

    Parameters
    ----------
    options : Options
        Method and its details.
    columns : Columns
        Name, bounds and kind of each column.
    terms : DensityTerms
        Neighbours, and the number of rows where it is public.
    epsilon, delta : Fraction
        Loss of the whole density.
    atoms : sequence of Fraction
        Values with a probability of their own.
    missing : bool
        True if the share of missing values is a part of the density.

    Returns
    -------
    MixtureDensity
        Plan with its guarantee.

    Raises
    ------
    PublicParameterError
        For atoms outside the bounds, atoms so close that they are one, and atoms of a whole-number column that are no
        whole numbers. For a method that reads values otherwise than by cells.
    """
    steps = terms.rows * (2 if terms.neighbours.kind == "substitute" else 1)
    plan = plan_for(options, columns, DensityTerms(ROW), epsilon / steps, of_one(delta, epsilon / steps, steps))
    if len(plan.queries) != 1 or not isinstance(plan.queries[0], Tally if len(columns) == 1 else Records):
        raise PublicParameterError(f"method={options.method} has no atoms and no missing values: name another")
    axes = getattr(plan, "axes", None) or grid(columns)
    made = MixtureDensity(plan, tuple(axes), tuple(sorted(atoms)), missing, terms, epsilon / steps)
    for _, low, high, whole in columns if atoms else ():
        for value in made.atoms:
            if not low <= value <= high or (whole and value.denominator != 1):
                among = "whole numbers of the column" if whole else "values"
                raise PublicParameterError(
                    f"atoms are {among} within the bounds, {show(low)} to {show(high)}, got {show(value)}"
                )
        if any(float(value) >= float(value + made._width) for value in made.atoms) or any(
            first + made._width > second for first, second in pairwise(made.atoms)
        ):
            raise PublicParameterError("atoms are too close to each other, or the bounds to each other")
    return made
