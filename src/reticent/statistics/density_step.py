"""Density as a step of a release: one draw, whose answer has the density and shares of a few stretches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from reticent.data.format import section
from reticent.data.query import PresentValues, Query
from reticent.data.query_result import QueryResult
from reticent.data.schema import Category, Integer, Person, Real, value_words
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import Estimate, NoReply, Reply
from reticent.privacy.convert import epsilon_delta
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import rough
from reticent.statistics import public_facts
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.context import (
    HEAPED,
    ExpectedAccuracy,
    Setting,
    StepWork,
    of_persons,
    values_of,
    values_of_each,
)
from reticent.statistics.density import DensityOf
from reticent.statistics.density_distance import Ends, distance
from reticent.statistics.density_replies import replies_of
from reticent.statistics.prepare import calendar_of
from reticent.statistics.public_facts import listed
from reticent.statistics.shares import ASSUMED
from reticent.synthesis import size
from reticent.synthesis.axis import Axis, Steps
from reticent.synthesis.bernstein import Bernstein
from reticent.synthesis.check import VAGUE
from reticent.synthesis.density import NORMAL, Density
from reticent.synthesis.fidelity import PAIR, FidelityRelease, checked, split, worth
from reticent.synthesis.joint_grid import JointDensity, joint
from reticent.synthesis.linear import PLAIN
from reticent.synthesis.linear import DensityAccuracy as InHeights
from reticent.synthesis.linear_queries import DensityTerms
from reticent.synthesis.method_selection import Auto
from reticent.synthesis.mixed_columns import mixed
from reticent.synthesis.options import DensityMechanism, Options, plan_for
from reticent.synthesis.partition import PartitionDensity, parted
from reticent.synthesis.series import grid

Floats = NDArray[np.float64]

PARTS: Final = 10  # stretches of a column whose shares stand in the table of a release
OF_POINT: Final = "of a typical point, in units of the uniform density"  # a note says what widths are of
OF_DISTRIBUTION: Final = "of the distribution function"
MOST_ROWS: Final = 1 << 30
CHECKING: Final = Fraction(1, 10)  # of epsilon, for the checks of made-up rows by default
RUNNING: Final = ("ks", "tree")  # bound their distribution function, and nothing else
SMOOTHING: Final = ("orthogonal series", "kernel estimate", "Bernstein mechanism")  # names of methods that have bias


# --- the question -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DensityStep:
    """A density as a step of a release: one draw; the cells of the answer are shares of a few stretches."""

    name: str
    plan: DensityMechanism
    caveats: tuple[str, ...]
    person: Person
    estimand: str = ""
    steps: Steps = field(default_factory=dict)
    columns: tuple[Ends, ...] = ()
    made: Callable[[int, Fraction], DensityMechanism] | None = field(default=None, compare=False)
    untold: str = ""

    @property
    def queries(self) -> tuple[Query, ...]:
        return self.plan.queries

    @property
    def work(self) -> StepWork:
        """A method that searches for its detail, or solves for its heights, takes seconds where others count."""
        plan = self.plan.plan if isinstance(self.plan, FidelityRelease) else self.plan
        searches = isinstance(plan, Auto | PartitionDensity | JointDensity | Bernstein)
        return StepWork(searched=len(self.columns) if searches else 0)

    @property
    def guarantee(self) -> Guarantee:
        return replace(self.plan.guarantee, label=self.name)

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        match self.plan.draw(results, entropy):
            case Reply(drawn):
                found = drawn.declared(self.steps)
                caveats = (*self.caveats, *found.words, *hidden(found))
                return Answer(self.name, tuple(cells(found)), caveats, law=found)
            case NoReply() as declined:
                return Answer(self.name, (Cell((), declined),), self.caveats)

    def expected(self, people: int) -> ExpectedAccuracy:
        found = of_persons(self._expected, people, self.person.rows, self.person)
        return replace(found, others=tuple(one for one in found.others if one[0] in found.apart))

    def _expected(self, records: int) -> ExpectedAccuracy:
        found = self.plan.expected(records)
        measured = OF_DISTRIBUTION if isinstance(found, size.DistributionAccuracy) else OF_POINT
        told = "; ".join(text for text in (measured, found.note, self.untold, self._unround()) if text)
        return ExpectedAccuracy(found.noise, found.sampling, told, replies_of(self.plan, records))

    def _unround(self) -> str:
        """Words on made-up values off the grid of the records; nothing where every column has a step."""
        loose = [name for name, _, _, whole in self.columns if not whole and name not in self.steps]
        if not loose:
            return ""
        return f"made-up values of {listed(loose, 'and')} are not round: declare a resolution if records are"

    def as_printed(self, found: ExpectedAccuracy, people: int) -> ExpectedAccuracy:
        """An expectation with the half-widths of the shares that an answer prints, and the distance from the law.

        They are of draws on made-up rows, for which a plan alone has the time. Numbers of rows that a reply hangs on
        have their own.
        """
        if self.made is None or found.noise is None:
            return found
        told = _of_point(found.note, found.noise)
        drawn = self._drawn(values_of(people, self.person.rows, self.person))
        if drawn.noise is None:
            return replace(found, note=told)
        each = values_of_each(people, self.person.rows, self.person) if found.apart else {}
        apart = ((name, *self._drawn(values).headline) for name, values in each.items() if name in found.apart)
        return replace(
            found,
            noise=drawn.noise,
            sampling=drawn.sampling,
            note=f"of the share of a stretch that the answer prints, on average; {told}; {drawn.note}",
            figures=drawn.figures,
            others=(*drawn.others, *(one for one in apart if one[1] is not None)),
            typical=drawn.typical,
        )

    def _drawn(self, rows: int) -> ExpectedAccuracy:
        """Half-widths of the shares that an answer prints of so many rows, and their distance from the law."""
        assert self.made is not None
        printed = cells if len(self.columns) == 1 else stretches
        drawn = distance(self.columns, self.made, rows, printed, epsilon_delta(self.guarantee.loss)[0])
        return ExpectedAccuracy(
            drawn.noise,
            drawn.sampling,
            drawn.words,
            figures=drawn.figures,
            others=drawn.others,
            typical=HEAPED if drawn.others else "",
        )


def _of_point(note: str, noise: float) -> str:
    """A note that begins with the noise of what the method measures; that of other numbers of rows stands behind."""
    ends, measured, rest = note.partition(OF_POINT if OF_POINT in note else OF_DISTRIBUTION)
    ends = ends.removesuffix("; ").removeprefix("noise ")
    return f"noise ± {rough(noise)} {measured}{f' ({ends})' if ends else ''}{rest}"


def prepare(asked: DensityOf, setting: Setting, epsilon: Fraction) -> DensityStep:
    """The step for a density at exactly ``epsilon``; a method may cost less.

    Parameters
    ----------
    asked : DensityOf
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    DensityStep

    Raises
    ------
    QuestionError
        Before rows are read: by group, of a category, without bounds, or of a method that cannot be had so. Also if the
        public number of people is so small at this epsilon that noise hides every shape.
    PublicParameterError
        A grid, lattice or number of coefficients that is too large, with its size.
    """
    if setting.keys is not None:
        raise QuestionError(f"{asked.name} is of the whole table: ask it without groups. Nothing was charged.")
    if setting.units == 0:
        raise QuestionError(f"{asked.name}: the table has no records, which is public here. Nothing was charged.")
    columns = [(name, *_ends(asked, name, setting)) for name in asked.names]
    person = setting.schema.person
    if asked.atoms.missing and all(public_facts.stands_in(setting.schema.column(name)) for name in asked.names):
        raise QuestionError(
            f"{asked.name}: no value is missing, since a public one stands in ([columns] missing). Nothing was charged."
        )
    most = _worth_checking(asked, setting, epsilon, columns)
    asked, untold = _settled(asked, most), _unchecked(asked, most)
    plan = _mechanism(asked, setting, epsilon, columns, most)
    if setting.units is not None:
        inner = plan.plan if isinstance(plan, FidelityRelease) else plan
        _hopeless(asked, inner, setting.units * person.rows, split(epsilon, _share(asked))[0])
    caveats = [
        text for name, low, high, _ in columns for text in public_facts.caveats_of(name, (low, high), setting, "person")
    ]
    if person.column is not None:
        caveats.append(public_facts.at_most(person))
    return DensityStep(
        public_facts.name_of(asked.name, setting),
        plan,
        tuple(caveats),
        person,
        steps=_steps(asked, setting),
        columns=tuple((name, float(low), float(high), whole) for name, low, high, whole in columns),
        made=lambda rows, times: _mechanism(asked, _with_rows(setting, rows), epsilon * times, columns, most),
        untold=untold,
    )


def _share(asked: DensityOf) -> Fraction:
    """The share of epsilon for checks."""
    return CHECKING if asked.checks == "auto" else asked.checks


def _worth_checking(
    asked: DensityOf, setting: Setting, epsilon: Fraction, columns: Sequence[tuple[str, Fraction, Fraction, bool]]
) -> int:
    """Most columns of the tables that are checked: all that a share by name pays for, by default what tells something.

    Where the number of persons is private it goes by those declared, else by ``ASSUMED``; what one plan supposes moves
    nothing.
    """
    if asked.checks != "auto":
        return PAIR if asked.checks else 0
    person = setting.schema.person.as_declared
    people = setting.units or person.people or ASSUMED
    return worth(
        grid(columns, 1),
        setting.neighbours,
        split(epsilon, CHECKING)[1],
        people=_public_records(setting),
        atoms=asked.atoms.values,
        rows=values_of(people, person.rows, person),
    )


def _settled(asked: DensityOf, most: int) -> DensityOf:
    """The question with the share of epsilon that its checks take."""
    return attrs.evolve(asked, checks=(CHECKING if most else Fraction(0)) if asked.checks == "auto" else asked.checks)


def _unchecked(asked: DensityOf, most: int) -> str:
    """Words of a plan on the tables that are not bought, as they would tell nothing; none where all are."""
    if asked.checks != "auto" or most >= min(len(asked.names), PAIR):
        return ""
    close = f"a share to ± {100 * VAGUE:.0f} points"
    if most:
        return f"no table of two columns is checked, as with these none would tell {close}"
    return f"no table is checked, as none would tell {close}: the density has that ε"


def _public_records(setting: Setting) -> int | None:
    """The number of records, where it is public and each person has one."""
    return setting.units if setting.neighbours.kind == "substitute" and setting.schema.person.rows == 1 else None


def _steps(asked: DensityOf, setting: Setting) -> dict[str, int | Fraction]:
    """Seconds of one unit of the columns of dates, and declared resolutions of real ones."""
    steps: dict[str, int | Fraction] = {}
    for name in asked.names:
        dated, declared = calendar_of(name, setting.schema), setting.schema.column(name)
        if dated is not None:
            steps[name] = dated.step
        elif isinstance(declared, Real) and declared.resolution is not None:
            steps[name] = declared.resolution
    return steps


def _with_rows(setting: Setting, rows: int) -> Setting:
    """The same circumstances, where a public number of persons is so many."""
    return setting if setting.units is None else replace(setting, units=max(rows // setting.schema.person.rows, 1))


def _mechanism(
    asked: DensityOf,
    setting: Setting,
    epsilon: Fraction,
    columns: Sequence[tuple[str, Fraction, Fraction, bool]],
    most: int,
) -> DensityMechanism:
    """The release of the whole density, with checks of tables of ``most`` columns."""
    person, near = setting.schema.person, setting.neighbours
    steps = _steps(asked, setting)
    detail, (atoms, missing) = asked.detail, (asked.atoms.values, asked.atoms.missing)
    options = Options(
        asked.method, detail.cells, detail.degree, detail.bandwidth, detail.iterations, detail.size, detail.settle
    )
    delta = setting.delta or Fraction(0)
    size = _public_size(asked, setting)
    terms = DensityTerms(near, size, person.rows, size is not None and person.rows == 1)
    records = _public_records(setting)
    _check_atoms(atoms, columns[0], setting)
    epsilon, checking = split(epsilon, _share(asked))
    plan: DensityMechanism
    if asked.method == "auto" and len(columns) > 1:
        plan = joint(columns, terms, epsilon, seek=asked.seeks, missing=missing, steps=steps)
    elif asked.seeks:
        plan = parted(columns[0], terms, epsilon, listed=atoms, missing=missing, steps=steps)
    elif (atoms or missing) and not options.counts_itself:
        plan = mixed(options, columns, terms, epsilon, delta, atoms=atoms, missing=missing)
    else:
        plan = plan_for(options, columns, terms, epsilon, delta, atoms=atoms, records=records)
    if checking:
        plan = checked(plan, grid(columns, 1), near, checking, people=records, atoms=atoms, most=most)
    return plan


def _check_atoms(atoms: Sequence[Fraction], column: tuple[str, Fraction, Fraction, bool], setting: Setting) -> None:
    """Refuse listed atoms that no value of the column can be, in its own words."""
    name, low, high, whole = column
    declared = setting.schema.column(name)
    dated = isinstance(declared, Integer) and declared.calendar is not None
    for value in atoms:
        if not low <= value <= high or (whole and value.denominator != 1):
            among = "dates" if dated else "whole numbers of the column" if whole else "values"
            ends = " to ".join(value_words(end, declared) for end in (low, high))
            raise PublicParameterError(
                f"atoms are {among} within the bounds, {ends}, got {value_words(value, declared)}"
            )


def _ends(asked: DensityOf, name: str, setting: Setting) -> tuple[Fraction, Fraction, bool]:
    declared = setting.schema.column(name)
    if isinstance(declared, Category):
        told = ""
        if all(type(key) is int for key in declared.among):
            least, most = min(map(int, declared.among)), max(map(int, declared.among))
            told = f', or declare it as whole numbers: {section(name)} kind = "integer", low = {least}, high = {most}'
        raise QuestionError(
            f"Made-up rows are of numbers only, and {name} is a category: leave {name} out{told}. "
            f"histogram({name}) releases the count of each value. Nothing was charged."
        )
    low, high = public_facts.bounds(asked.name, setting, name, asked.low, asked.high)
    return low, high, isinstance(declared, Integer)


def _public_size(asked: DensityOf, setting: Setting) -> int | None:
    """The number of records where it is public: every person has one, and none lacks a value."""
    if setting.neighbours.kind != "substitute" or setting.schema.person.rows > 1:
        return None
    sizes = {public_facts.public_size(PresentValues(name), setting) for name in asked.names}
    return sizes.pop() if len(sizes) == 1 else None


def _hopeless(asked: DensityOf, plan: DensityMechanism, people: int, epsilon: Fraction) -> None:
    """Refuse what public numbers alone show to be noise."""
    match plan.expected(people):
        case InHeights(noise) if noise is not None and noise > PLAIN:
            enough = float(epsilon) * noise / PLAIN
            raise QuestionError(
                f"{asked.name}: with {people:,} records at this ε the noise hides every shape, and nothing but the "
                f"uniform density could be told (± {rough(noise)} of its height). About ε {rough(enough)} would show "
                "something, or fewer cells, a lower degree, a larger bandwidth. Nothing was charged."
            )
        case size.DistributionAccuracy(noise) if noise is not None and noise >= 1.0 and asked.method in RUNNING:
            raise QuestionError(
                f"{asked.name}: with at most {people:,} records at this ε the noise of its distribution function is "
                "± 1, all there is, and nothing but the uniform density could be told. Nothing was charged."
            )
        case _:
            pass


def hidden(density: Density) -> tuple[str, ...]:
    """Caveat that no interval allows for bias; none if every value has a cell of its own and nothing is smoothed."""
    alone = density.boxes is None and all(one.whole and np.all(one.sizes == 1.0) for one in density.axes)
    if alone and not smooths(density):
        return ()
    return ("intervals allow for noise and sampling, not for what is smoothed away or spread evenly inside a cell",)


def smooths(density: Density) -> bool:
    """Tell if the method has bias beside the width of its cells."""
    return density.method.startswith(SMOOTHING) or "smoothed" in density.method


# --- the answer -------------------------------------------------------------------------------------------------------


def cells(density: Density) -> Iterator[Cell]:
    """Shares of up to ten equal stretches of each column, of atoms, and of missing values, with their intervals."""
    yield from stretches(density)
    for value, _ in density.atoms:
        yield Cell(
            ((density.axes[0].column, f"= {density.axes[0].words(value)}"),), Reply(density.probability(value, value))
        )
    if density.missing is not None:
        share, noise = density.missing, density.beside or 0.0
        half = NORMAL * (share * (1 - share) * (1 - share) / density.n) ** 0.5  # of n / (1 - share) records
        radius = math.hypot(noise, half)
        found = Estimate(share, max(share - radius, 0.0), min(share + radius, 1.0), noise, half)
        yield Cell((("missing", "yes"),), Reply(found))


def stretches(density: Density) -> Iterator[Cell]:
    """Shares of up to ten equal stretches of each column, with their intervals."""
    for one in density.axes:
        part = density if len(density.axes) == 1 else density.marginal(one.column)
        for low, high, last in _stretches(one):
            inner = high if last or one.whole else float(np.nextafter(high, low))
            ends = f"{one.words(low)} to {one.words(high)}"
            text = ends if one.whole else f"[{low:g}, {high:g}{']' if last else ')'}"
            label = ((one.column, text),)
            yield Cell(label, Reply(part.probability(low, inner)))


def _stretches(one: Axis) -> Iterator[tuple[float, float, bool]]:
    """Ends of up to ten equal parts of a column; of whole numbers both ends belong to a part."""
    count = min(PARTS, int(one.high - one.low) + 1) if one.whole else PARTS
    for place in range(count):
        if one.whole:
            values = int(one.high - one.low) + 1
            first, stop = values * place // count, values * (place + 1) // count
            yield one.low + first, one.low + stop - 1, place == count - 1
        else:
            span = one.high - one.low
            yield one.low + span * place / count, one.low + span * (place + 1) / count, place == count - 1
