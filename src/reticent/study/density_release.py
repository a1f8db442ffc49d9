"""Whole-data-set release: the question as a step, and what comes out: a density, or made-up rows.

    study.release_density("x", method="series", epsilon=1) -> DensityRelease   one release with one question
    study.synthesize(["x", "y"], epsilon=1)                -> Synthetic        the same, with rows drawn from it

Both go the one way of a release: refuse, reserve, read, draw, commit. Rows are drawn from what was released, with a
key of their own, as often as one likes.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Final, SupportsIndex, cast

import numpy as np
from numpy.typing import NDArray

from reticent.certificate.render.tables import safe
from reticent.data.query import Present, Query
from reticent.data.schema import Category, Integer
from reticent.data.table import Result
from reticent.entropy import Entropy, Replayed, system
from reticent.errors import NoReplyError, PublicParameterError, QuestionError, refusing
from reticent.outcome import Estimate, NoReply, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number, read
from reticent.statistics import public_facts
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.context import Expected, Setting
from reticent.statistics.density import DensityOf, Growth, OfDensity, Private, Settled, whole
from reticent.statistics.estimand import estimand
from reticent.statistics.questions import density
from reticent.synthesis import size
from reticent.synthesis.axis import Axis
from reticent.synthesis.check import Fit
from reticent.synthesis.density import KEY, NORMAL, Density, sampled
from reticent.synthesis.fidelity import checked, split
from reticent.synthesis.linear import PLAIN
from reticent.synthesis.linear import Expected as InHeights
from reticent.synthesis.linear_queries import Terms
from reticent.synthesis.options import Options, Plan, plan_for
from reticent.synthesis.partition import parted
from reticent.synthesis.remarks import sentence
from reticent.synthesis.series import grid
from reticent.synthesis.steps import mixed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reticent.certificate.certificate import Certificate
    from reticent.study.release import Release

Floats = NDArray[np.float64]

PARTS: Final = 10  # stretches of a column whose shares stand in the table of a release
MOST_ROWS: Final = 1 << 30
RUNNING: Final = ("ks", "tree")  # bound their distribution function, and nothing else
SMOOTHING: Final = ("orthogonal series", "kernel estimate", "Bernstein mechanism")  # names of methods that have bias
CHECKING: Final = Fraction(1, 10)  # of epsilon, for the checks of made-up rows


# --- the question -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DensityStep:
    """A density as a step of a release: one draw; the cells of the answer are shares of a few stretches."""

    name: str
    plan: Plan
    caveats: tuple[str, ...]
    estimand: str = ""

    @property
    def queries(self) -> tuple[Query, ...]:
        return self.plan.queries

    @property
    def guarantee(self) -> Guarantee:
        return replace(self.plan.guarantee, label=self.name)

    def answer(self, results: Sequence[Result], entropy: Entropy) -> Answer:
        match self.plan.draw(results, entropy):
            case Reply(found):
                caveats = (*self.caveats, *found.words, *hidden(found))
                return Answer(self.name, tuple(cells(found)), caveats, density=found)
            case NoReply() as declined:
                return Answer(self.name, (Cell((), declined),), self.caveats)

    def expected(self, people: int) -> Expected:
        found = self.plan.expected(people)
        note = "of a typical point, in units of the uniform density"
        if isinstance(found, size.Expected):
            note = "of the distribution function"
        return Expected(found.noise, found.sampling, "; ".join(text for text in (note, found.note) if text))


def prepare(asked: DensityOf, setting: Setting, epsilon: Fraction) -> DensityStep:
    """The step for a density at exactly ``epsilon``; a method may cost less.

    Raises
    ------
    QuestionError
        Before rows are read: by group, of a category, without bounds, of a method that cannot be had so; or where the
        public number of people is so small at this epsilon that noise hides every shape.
    PublicParameterError
        A grid, lattice or number of coefficients that is too large, with its size.
    """
    if setting.keys is not None:
        raise QuestionError(f"{asked.name} is of the whole table: ask it without groups. Nothing was charged.")
    if setting.units == 0:
        raise QuestionError(f"{asked.name}: the table has no records, which is public here. Nothing was charged.")
    columns = [(name, *_ends(asked, name, setting)) for name in asked.columns]
    person, near = setting.schema.person, setting.neighbours
    options = Options(
        asked.method, asked.cells, asked.degree, asked.bandwidth, asked.iterations, asked.size, asked.settle
    )
    delta = (setting.delta or Fraction(0)) if asked.delta is not None else Fraction(0)
    if asked.missing and all(public_facts.stands_in(setting.schema.column(name)) for name in asked.columns):
        raise QuestionError(
            f"{asked.name}: no value is missing, since a public one stands in ([columns] missing). Nothing was charged."
        )
    size = _public_size(asked, setting)
    terms = Terms(near, size, person.rows, size is not None and person.rows == 1)
    records = setting.units if near.kind == "substitute" and person.rows == 1 else None
    epsilon, checking = split(epsilon, asked.checks)
    plan: Plan
    if asked.seeks:
        plan = parted(columns, terms, epsilon, listed=asked.atoms, missing=asked.missing)
    elif (asked.atoms or asked.missing) and not options.counts_itself:
        plan = mixed(options, columns, terms, epsilon, delta, atoms=asked.atoms, missing=asked.missing)
    else:
        plan = plan_for(options, columns, terms, epsilon, delta, atoms=asked.atoms, records=records)
    if setting.units is not None:
        _hopeless(asked, plan, setting.units * person.rows, epsilon)
    if checking:
        plan = checked(plan, grid(columns, 1), near, checking, people=records, atoms=asked.atoms)
    caveats = [
        text for name, low, high, _ in columns for text in public_facts.caveats_of(name, (low, high), setting, "person")
    ]
    if person.column is not None:
        caveats.append(f"at most {person.rows} rows of each person count")
    return DensityStep(asked.name, plan, tuple(caveats), estimand(asked, setting))


def _ends(asked: DensityOf, name: str, setting: Setting) -> tuple[Fraction, Fraction, bool]:
    declared = setting.schema.column(name)
    if isinstance(declared, Category):
        raise QuestionError(
            f"{name} is a category: histogram({name}) releases the count of each value. Nothing was charged."
        )
    low, high = public_facts.bounds(asked.name, setting, name, asked.low, asked.high)
    return low, high, isinstance(declared, Integer)


def _public_size(asked: DensityOf, setting: Setting) -> int | None:
    """The number of records where it is public: every person has one, and none lacks a value."""
    if setting.neighbours.kind != "substitute" or setting.schema.person.rows > 1:
        return None
    sizes = {public_facts.public_size(Present(name), setting) for name in asked.columns}
    return sizes.pop() if len(sizes) == 1 else None


def _hopeless(asked: DensityOf, plan: Plan, people: int, epsilon: Fraction) -> None:
    """Refuse what public numbers alone show to be noise."""
    match plan.expected(people):
        case InHeights(noise) if noise is not None and noise > PLAIN:
            enough = float(epsilon) * noise / PLAIN
            raise QuestionError(
                f"{asked.name}: with {people:,} records at this ε the noise hides every shape, and nothing but the "
                f"uniform density could be told (± {noise:.2g} of its height). About ε {enough:.2g} would show "
                "something, or fewer cells, a lower degree, a larger bandwidth. Nothing was charged."
            )
        case size.Expected(noise) if noise is not None and noise >= 1.0 and asked.method in RUNNING:
            raise QuestionError(
                f"{asked.name}: with at most {people:,} records at this ε the noise of its distribution function is "
                "± 1, all there is, and nothing but the uniform density could be told. Nothing was charged."
            )
        case _:
            pass


@refusing()
def question(
    columns: str | Sequence[str] | DensityOf,
    method: OfDensity,
    options: tuple[int | Private | None, int | Private | None, Number | None, int | None, int | Growth | None],
    settle: Settled,
    atoms: Sequence[Number] | str | None,
    checks: Number,
    delta: Number | None,
) -> DensityOf:
    """A question from the arguments of ``Study.release_density``; one that is a question already is taken as it is.

    Raises
    ------
    QuestionError
        For options beside a question, which has its own.
    """
    cells, degree, bandwidth, iterations, size = options
    if not isinstance(columns, DensityOf):
        return density(
            columns,
            method=method,
            cells=cells,
            degree=degree,
            bandwidth=bandwidth,
            iterations=iterations,
            size=size,
            settle=settle,
            atoms=atoms,
            checks=checks,
            delta=delta,
        )
    given = atoms is not None or settle != "simplex" or bool(checks)
    if method != "auto" or any(one is not None for one in options) or given:
        raise QuestionError("a question rt.density(...) has its options already: give them there. Nothing was charged.")
    return columns if delta is None else replace(columns, delta=read(delta, "delta"))


@refusing()
def share_of_checks(columns: str | Sequence[str] | DensityOf, given: Number | None, rows: int | None) -> Number:
    """What ``rows`` made-up rows spend on checks where it is left out: a question says so itself."""
    check_rows(rows)
    if given is not None:
        return given
    return 0 if isinstance(columns, DensityOf) else CHECKING


def hidden(density: Density) -> tuple[str, ...]:
    """That no interval allows for bias, unless every value has a cell of its own and nothing is smoothed."""
    alone = density.boxes is None and all(one.whole and np.all(one.sizes == 1.0) for one in density.axes)
    if alone and not smooths(density):
        return ()
    return ("intervals allow for noise and sampling, not for what is smoothed away or spread evenly inside a cell",)


def smooths(density: Density) -> bool:
    """Whether the method has bias beside the width of its cells."""
    return density.method.startswith(SMOOTHING) or "smoothed" in density.method


# --- the answer -------------------------------------------------------------------------------------------------------


def cells(density: Density) -> Iterator[Cell]:
    """Shares of up to ten equal stretches of each column, of atoms, and of missing values, with their intervals."""
    for one in density.axes:
        part = density if len(density.axes) == 1 else density.marginal(one.column)
        for low, high, last in _stretches(one):
            inner = high if last or one.whole else float(np.nextafter(high, low))
            text = f"{low:g} to {high:g}" if one.whole else f"[{low:g}, {high:g}{']' if last else ')'}"
            label = ((one.column, text),)
            yield Cell(label, Reply(part.probability(low, inner)))
    for value, _ in density.atoms:
        yield Cell(((density.axes[0].column, f"= {value:g}"),), Reply(density.probability(value, value)))
    if density.missing is not None:
        share, noise = density.missing, density.beside or 0.0
        half = NORMAL * (share * (1 - share) * (1 - share) / density.n) ** 0.5  # of n / (1 - share) records
        radius = math.hypot(noise, half)
        found = Estimate(share, max(share - radius, 0.0), min(share + radius, 1.0), noise, half)
        yield Cell((("missing", "yes"),), Reply(found))


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


# --- what comes out ---------------------------------------------------------------------------------------------------


class DensityRelease:
    """One released density with its certificate: ``study.release_density``.

    ``density`` answers any question about it for free: ``pdf``, ``cdf``, ``quantile``, ``probability``, ``marginal``,
    ``sample``. ``save`` writes csv (the cells), json (the certificate), html and svg.
    """

    __slots__ = ("_release",)

    def __init__(self, release: Release) -> None:
        self._release = release

    @property
    def answer(self) -> Answer:
        (answer,) = self._release.answers
        return answer

    @property
    def outcome(self) -> Outcome[Density]:
        """``Reply(Density)`` or ``NoReply()``."""
        found = self.answer.density
        if found is None:
            (cell,) = self.answer.cells
            assert isinstance(cell.outcome, NoReply)
            return cell.outcome
        return Reply(cast(Density, found))  # study made it; an answer knows it by its protocol

    @property
    def density(self) -> Density:
        """The density.

        Raises
        ------
        NoReplyError
            Where the release gave no reply.
        """
        match self.outcome:
            case Reply(found):
                return found
            case NoReply():
                raise NoReplyError(
                    f"{self.answer.name} gave no reply, so there is no density. Handle it: match release.outcome: "
                    "case rt.Reply(density): … case rt.NoReply(): …"
                )

    @property
    def replied(self) -> bool:
        return self._release.replied

    @property
    def certificate(self) -> Certificate:
        return self._release.certificate

    @property
    def guarantee(self) -> Guarantee:
        return self._release.guarantee

    @property
    def receipt(self) -> str:
        """The id of the ledger entry that paid for it."""
        return self._release.receipt

    @property
    def caveats(self) -> tuple[str, ...]:
        return self.certificate.caveats

    def sample(self, count: int) -> Floats:
        """``count`` made-up records from a stream of their own; free, as often as one likes."""
        return self.density.sample(count)

    def synthetic(self, rows: int | None = None) -> Synthetic:
        """Made-up rows as a table; by default as many as the release says there are."""
        return Synthetic(self, rows)

    def explain(self, prior: float = 0.1) -> str:
        """What the guarantee means for one person, in odds."""
        return self._release.explain(prior)

    def proof(self) -> str:
        """Every part with its loss, theorem and source."""
        return self._release.proof()

    def plot(self) -> Figure:
        """The density with its band."""
        return self.density.plot()

    def save(self, stem: str | Path) -> tuple[Path, ...]:
        """Write ``stem`` .csv (the cells), .json (the certificate), .html and .svg; returns the paths."""
        paths = self._release.save(stem)
        match self.outcome:
            case Reply(found):
                paths[0].write_text(cells_csv(found), encoding="utf-8")
            case NoReply():
                pass  # the sheet says so
        return paths

    def __repr__(self) -> str:
        return repr(self._release)

    def _repr_html_(self) -> str:
        return self._release._repr_html_()


class Synthetic(DensityRelease):
    """Made-up rows from a released density: ``study.synthesize``.

    Any data frame library takes it (``__arrow_c_stream__``); ``to_parquet`` and ``to_csv`` write it. The rows were
    drawn once, when it was made; ``sample`` draws others. Missing values are as frequent as the release says, if it
    does.
    """

    __slots__ = ("_rows",)

    def __init__(self, made: DensityRelease, rows: int | None = None) -> None:
        super().__init__(made._release)
        density = made.density
        given = check_rows(rows)
        count = density.n if given is None else given
        stream = Replayed(system().bits(8 * KEY).to_bytes(KEY, "little"))
        drawn = sampled(density, count, stream).reshape(count, -1)
        if density.missing is not None:
            share = (stream.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
            drawn[share < density.missing] = np.nan
        self._rows = drawn

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(one.column for one in self.density.axes)

    def frame(self) -> object:
        """A pyarrow Table, a column for each column; whole numbers as integers, missing values as nulls."""
        import pyarrow as pa

        found = {}
        for one, values in zip(self.density.axes, self._rows.T, strict=True):
            absent = np.isnan(values)
            plain = np.where(absent, one.low, values)
            found[one.column] = pa.array(plain.astype(np.int64) if one.whole else plain, mask=absent)
        return pa.table(found)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        table = self.frame()
        return table.__arrow_c_stream__(requested_schema)  # type: ignore[attr-defined]  # a pyarrow Table has it

    def to_parquet(self, path: str | Path) -> Path:
        """Write the rows as Parquet."""
        import pyarrow.parquet as pq

        pq.write_table(self.frame(), Path(path))
        return Path(path)

    def to_csv(self, path: str | Path) -> Path:
        """Write the rows as CSV, with a header; missing values are empty."""
        whole = [one.whole for one in self.density.axes]
        with Path(path).open("w", encoding="utf-8", newline="") as opened:
            writer = csv.writer(opened, lineterminator="\r\n")
            writer.writerow(self.columns)
            for row in self._rows.tolist():
                texts = [
                    "" if value != value else int(value) if one else value
                    for value, one in zip(row, whole, strict=True)
                ]
                writer.writerow(texts)
        return Path(path)

    def fits(self) -> tuple[Fit, ...]:
        """How far these rows are from the records, table by table, where ``checks`` were bought; free.

        Returns
        -------
        tuple of Fit
            One for each column and each two columns: the largest difference of two shares and where it is, with an
            interval that holds for all tables together with 95 %. Empty without ``checks``.
        """
        density = self.density
        rows = {one.column: values for one, values in zip(density.axes, self._rows.T, strict=True)}
        return tuple(check.fit(rows, absent=density.missing is not None) for check in density.checks)

    def good_for(self) -> tuple[str, ...]:
        """Which tables the rows reproduce, by charged checks; without them by theory. Nothing is read for it.

        Returns
        -------
        tuple of str
            With ``checks`` a line for each table that was counted: reproduced or not, within how much, at 95 %.
            Without, for each column, how far noise and drawing the rows may move any share up to a value, at 95 %,
            where the method can say, which leaves out what wide cells or few coefficients hide; and that nothing was
            checked. Then for each column from which share of the records on a value that they have in common is found,
            or that none was looked for: what is not found is spread over the values near it.
        """
        density, said = self.density, []
        single = tuple(self._single(one) for one in density.axes)
        if density.checks:
            last = "not for: rare cells, other tables than these, intervals that take the rows for real ones"
            return (*(fit.words for fit in self.fits()), *single, last)
        drawing = (np.log(2.0 / 0.025) / (2.0 * len(self))) ** 0.5  # Dvoretzky, Kiefer, Wolfowitz, Massart
        for one in density.axes:
            if density.wander is None:
                continue
            most = 100 * min(density.wander + float(drawing), 1.0)
            said.append(
                f"shares of {one.column} up to any edge: moved by noise and drawing by {most:.2g} points at most"
            )
        if len(density.axes) > 1:
            said.append(f"relations of {' and '.join(self.columns)}, cell by cell: as wide as the band says")
        said.append("not checked against the records: checks=0.1 would spend a tenth of ε on that")
        last = "not for: what the method smooths away, rare cells, intervals that take the rows for real ones"
        return (*said, *single, last)

    def _single(self, one: Axis) -> str:
        """What the rows are good for where single values of a column matter."""
        density = self.density
        if all(size == 1.0 for size in one.sizes) and one.whole and not smooths(density):
            return f"single values of {one.column}: each has a cell of its own"
        told = sentence(one.column, density.noticed)
        counted = [value for check in density.checks if check.columns == (one.column,) for value in check.atoms]
        listed = [] if density.noticed else [f"{value:g}" for value in counted]
        return f"{told}; {' and '.join(listed)} were counted by themselves" if listed else told


def _text(value: float, *, whole: bool) -> str:
    return "" if math.isnan(value) else str(int(value)) if whole else repr(value)


def check_rows(rows: SupportsIndex | None) -> int | None:
    """The number of rows, None where it is that of the records; one that cannot be drawn is refused."""
    count = whole(rows, "rows")
    if count is not None and not 1 <= count <= MOST_ROWS:
        raise PublicParameterError(f"rows must be a whole number from 1 to 2^30, got {count}")
    return count


def cells_csv(density: Density) -> str:
    """The cells of a density: the ends of each along every column, its mass, half-width, and mass per unit."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    names = [f"{one.column} {end}" for one in density.axes for end in ("low", "high")]
    writer.writerow([*(safe(name) for name in names), "mass", "noise", "density"])
    lone = [
        {float(one.edges[cell]): float(atom) for cell, atom in zip(one.lone, one.atoms, strict=True)}
        for one in density.axes
    ]
    for ends, mass, half in _rows_of(density):
        pairs = [(of[low], of[low]) if low in of else (low, high) for of, (low, high) in zip(lone, ends, strict=True)]
        flat = [end for pair in pairs for end in pair]
        size = float(np.prod([high - low for low, high in pairs]))
        writer.writerow([*flat, mass, "" if half is None else half, mass / size if size else ""])
    for value, mass in density.atoms:
        writer.writerow([value, value, mass, "", ""])
    if density.missing is not None:
        writer.writerow(["missing", *([""] * (2 * len(density.axes) - 1)), density.missing, "", ""])
    return out.getvalue()


def _rows_of(density: Density) -> Iterator[tuple[list[tuple[float, float]], float, float | None]]:
    cuts = [one.cuts for one in density.axes]
    masses = density.masses.ravel().tolist()
    bands = [None] * len(masses) if density.band is None else density.band.ravel().tolist()
    if density.boxes is None:
        every = product(*([(float(a), float(b)) for a, b in pairwise(cut)] for cut in cuts))
        for ends, mass, half in zip(every, masses, bands, strict=True):
            yield list(ends), mass, half
        return
    for box, mass, half in zip(density.boxes, masses, bands, strict=True):
        yield [(float(cut[a]), float(cut[b])) for cut, (a, b) in zip(cuts, box, strict=True)], mass, half
