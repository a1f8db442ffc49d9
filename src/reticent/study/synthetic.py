"""Made-up rows from a released density: a table with the density's certificate, drawn at no cost.

study.synthesize(["x", "y"], epsilon=1)       -> Synthetic
release.synthetic("density(x)", rows=1_000)   -> Synthetic, of a release that has the density already
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from reticent.atomic_file import replace
from reticent.certificate.certificate import Certificate
from reticent.certificate.render.listing import folded
from reticent.data.notation import Notation
from reticent.entropy import Replayed, system
from reticent.errors import PublicParameterError, QuestionError, Refusal
from reticent.ledger.fingerprint import refuse_replacing
from reticent.privacy.explain import sentence as loss_sentence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number, rough, show
from reticent.statistics.density import DensityOf
from reticent.statistics.density_step import smooths
from reticent.statistics.options import whole
from reticent.statistics.public_facts import listed
from reticent.statistics.statistic import Ask, ask
from reticent.synthesis.association import associations, middle_ranks
from reticent.synthesis.axis import Axis
from reticent.synthesis.check import Discrepancy
from reticent.synthesis.density import KEY, Density
from reticent.synthesis.record_sampling import sampled
from reticent.synthesis.remarks import sentence

Floats = NDArray[np.float64]

MOST_ROWS: Final = 1 << 30
EMPTY: Final = 0.05  # of a column's range without rows, at an end, from which on it is said
KEPT: Final = 0.1  # of a rank correlation: rows that may be farther off keep it roughly
ROUGH: Final = 0.3  # and beyond this they do not
FEW: Final = 400  # rows: of fewer a rank correlation is off by more than ``KEPT`` for drawing alone
JUDGED: Final = 10_000  # rows, at most, that are drawn again where fewer are too few to judge by


class Sentences(tuple[str, ...]):
    """Sentences, each one entry; ``print`` folds them to lines as it does a release."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(line for text in self for line in folded("", text))


class Synthetic:
    """Made-up rows from a released density, drawn once: ``study.synthesize``.

    Any data frame library takes it (``__arrow_c_stream__``); ``to_parquet`` and ``to_csv`` write it. Missing values are
    as frequent as the release says, if it does.

    Attributes
    ----------
    density : Density
        The density that was released; it answers any question for free.
    certificate : Certificate
        Of the release.
    given_again : str
        Words of a stored density, which was charged once and not again; empty where this is the first time.
    """

    __slots__ = ("_most", "_notation", "_rows", "certificate", "density", "given_again")

    def __init__(
        self,
        density: Density,
        certificate: Certificate,
        rows: SupportsIndex | None = None,
        *,
        given_again: str = "",
        notation: Notation | None = None,
    ) -> None:
        self.density, self.certificate, self.given_again = density, certificate, given_again
        self._notation = notation or Notation()
        given = check_rows(rows)
        self._most = _most_rows(certificate)
        count = given if given is not None else density.n if self._most is None else min(density.n, self._most)
        stream = Replayed(system().bits(8 * KEY).to_bytes(KEY, "little"))
        drawn = sampled(density, count, stream).reshape(count, -1)
        if density.missing is not None:
            share = (stream.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
            drawn[share < density.missing] = np.nan
        self._rows = drawn

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        loss, near = self.guarantee.loss, self.guarantee.adjacency
        again = f"; {self.given_again}" if self.given_again else ""
        more = "".join(f"; {text}" for text in (self._odd, self._beyond) if text)
        return f"<{len(self):,} made-up rows of {', '.join(self.columns)}{more}: {loss_sentence(loss, near)}{again}>"

    @property
    def _odd(self) -> str:
        """The rule for records with a cell that cannot be read, by what is declared; empty where none can have one."""
        told = self.certificate.heading["columns"]  # of version 0.1.0 without some of these fields
        instead = {name: told[name].get("missing") for name in self.columns if not told[name].get("complete", False)}
        dropped = [name for name, value in instead.items() if value in (None, "drop")]
        if self.density.missing is not None:
            return "rows lack a value as often as the release says"
        said = []
        if dropped:
            said.append(f"records without a readable {listed(dropped, 'or')} are left out, so no made-up row lacks one")
        said += [f"an unreadable {name} counts as {value}" for name, value in instead.items() if name not in dropped]
        return "; ".join(said)

    @property
    def _beyond(self) -> str:
        """Words of rows that are more than there can be records; empty where they are not."""
        if self._most is None or len(self) <= self._most:
            return ""
        return f"there are at most {self._most:,} records: an analysis of more rows looks surer than it is"

    if not TYPE_CHECKING:  # a name that other libraries have says what it is called here

        def __getattr__(self, name: str) -> NoReturn:
            from reticent.habits import unknown

            raise unknown("synthetic", name)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the release; drawing rows costs nothing."""
        return self.certificate.guarantee

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(one.column for one in self.density.axes)

    def frame(self) -> object:
        """A pyarrow Table with integers for whole numbers, dates for dates, nulls for missing values."""
        import pyarrow as pa

        found = {}
        for one, values in zip(self.density.axes, self._rows.T, strict=True):
            absent = np.isnan(values)
            plain = np.where(absent, one.low, values)
            typed = one.moments(plain) if one.step else plain.astype(np.int64) if one.whole else plain
            found[one.column] = pa.array(typed, mask=absent)
        return pa.table(found)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        table = self.frame()
        return table.__arrow_c_stream__(requested_schema)  # type: ignore[attr-defined]  # a pyarrow Table has it

    def to_parquet(self, path: str | Path) -> Path:
        """Write the rows as Parquet; a file of rows under a ledger is never overwritten."""
        import pyarrow.parquet as pq

        made = io.BytesIO()
        pq.write_table(self.frame(), made)
        return _written(Path(path), made.getvalue())

    def to_csv(self, path: str | Path) -> Path:
        """Write the rows as CSV, as the study's file of text is written; missing values are empty.

        That is its delimiter, decimal sign, encoding and spelling of dates, so that one program reads both. Where rows
        come from another source, or from a certificate alone, it is the CSV of RFC 4180 in UTF-8. Rows under a ledger
        are never overwritten.
        """
        columns = [self._spelled(one, values) for one, values in zip(self.density.axes, self._rows.T, strict=True)]
        return _written(Path(path), self._notation.table(self.columns, zip(*columns, strict=True)))

    def _spelled(self, one: Axis, values: Floats) -> list[str | float | None]:
        """Cells of one column: whole numbers, numbers, or dates as the study spells them."""
        if one.step:
            spelling = self._notation.dates.get(one.column, "")
            return [None if value != value else one.spelled(value, spelling) for value in values.tolist()]
        return [None if value != value else float(int(value)) if one.whole else value for value in values.tolist()]

    def fits(self) -> tuple[Discrepancy, ...]:
        """Distance of these rows from the records, table by table, if ``checks`` were bought; free.

        Returns
        -------
        tuple of Fit
            One for each column and each two columns: the largest difference of two shares and where it is, with an
            interval that holds for all tables together with 95 %. Empty without ``checks``.
        """
        density = self.density
        rows = {one.column: values for one, values in zip(density.axes, self._rows.T, strict=True)}
        return tuple(check.fit(rows, absent=density.missing is not None) for check in density.checks)

    def good_for(self) -> Sentences:
        """Tables that the rows reproduce, by charged checks; without them by theory. Nothing is read for it.

        Returns
        -------
        Sentences
            A tuple of texts, which ``print`` folds. With ``checks`` a line for each table that was counted:
            reproduced or not, within how much, at 95 %. Without, for each column, the greatest change of any share up
            to a value by noise and by drawing the rows, at 95 %. A method that cannot say has no such line. It leaves
            out the bias of wide cells or few coefficients, and says that nothing was checked. Then for each column
            the share of the records from which on a common value is found, or that none was looked for: what is not
            found is spread over the values near it. The last line but one says what becomes of records that lack a
            value, where they may. Of few rows chance would decide: the lines are then of more rows of the same
        density, and the first one says so.
        """
        if len(self) >= min(FEW, self.density.n):
            return Sentences(self._good_for())
        count = min(self.density.n, JUDGED, self._most or JUDGED)
        again = Synthetic(self.density, self.certificate, count, notation=self._notation)
        few = f"{len(self):,} row{'s are' if len(self) > 1 else ' is'} too few to judge by"
        return Sentences((f"{few}: what follows is of {count:,} rows drawn from the same density", *again._good_for()))

    def _good_for(self) -> tuple[str, ...]:
        density, said = self.density, [self._beyond] if self._beyond else []
        single, odd = (*map(self._single, density.axes), *self._unround()), (self._odd,) if self._odd else ()
        known = (*self._relations(), *self._columns())
        if density.checks:
            last = "not for: rare cells, the largest and smallest values, intervals that take the rows for real ones"
            return (*said, *(fit.words for fit in self.fits()), *known, *single, *odd, last)
        drawing = (np.log(2.0 / 0.025) / (2.0 * len(self))) ** 0.5  # Dvoretzky, Kiefer, Wolfowitz, Massart
        for one in density.axes:
            if density.wander is None or known:
                continue
            most = 100 * min(density.wander + float(drawing), 1.0)
            said.append(
                f"shares of {one.column} up to any edge: moved by noise and drawing by {rough(most)} points at most"
            )
        said += known
        if len(density.axes) > 1 and not known:
            said.append(f"relations of {' and '.join(self.columns)}, cell by cell: as wide as the band says")
        said.append("not checked against the records: checks=0.1 would spend a tenth of ε on that")
        last = "not for: what the method smooths away, rare cells, intervals that take the rows for real ones"
        return (*said, *single, *odd, last)

    def _relations(self) -> Iterator[str]:
        """Sentences on the rank correlation of every two columns: of the rows, and where that of the records is."""
        present = self._rows[~np.isnan(self._rows).any(axis=1)]
        for (first, second), told in associations(self.density):
            ranks = [middle_ranks(present[:, self.columns.index(name)]) for name in (first, second)]
            flat = len(present) < 2 or min(float(np.ptp(one)) for one in ranks) == 0.0
            here = 0.0 if flat else float(np.corrcoef(ranks[0], ranks[1])[0, 1])
            verdict, why = _kept(here, told.low, told.high)
            yield (
                f"relation of {first} and {second} {verdict}: rank correlation {here:.2f} in these rows, that of the "
                f"records between {down(told.low)} and {up(told.high)} (95 %, by noise and width of cells){why}"
            )

    def _columns(self) -> Iterator[str]:
        """Sentences on the distribution of each column, where it was released by itself, and on ends without rows."""
        for margin, one, values in zip(self.density.margins, self.density.axes, self._rows.T, strict=False):
            drawn = np.sort(values[~np.isnan(values)])
            ends = one.cuts[1:-1] - one.whole  # the last value before each edge
            apart = np.abs(np.searchsorted(drawn, ends, side="right") / max(len(drawn), 1) - margin.cdf(ends))
            most = 100 * min(float(apart.max(initial=0.0)) + (margin.wander or 0.0), 1.0)
            told = (
                f"values of {one.column}: shares up to any value within {rough(most)} points of the records', by noise "
                "(95 %), and farther where values heap inside a cell"
            )
            if len(drawn) and max(drawn[0] - one.low, one.high - drawn[-1]) > EMPTY * (one.high - one.low):
                reached = f"{one.words(drawn[0])} to {one.words(drawn[-1])}"
                told += f"; all rows lie from {reached}, since noise hides the few beyond"
            yield told

    def _unround(self) -> Iterator[str]:
        """Sentence on the columns whose rows need not be round as those of the records are; none where all are."""
        loose = [one.column for one in self.density.axes if not one.whole and one.resolution is None]
        if loose:
            yield f"{listed(loose, 'and')} of a row need not be round: a resolution that is declared is kept"

    def _single(self, one: Axis) -> str:
        """Sentence on the use of the rows for single values of a column."""
        density = self.density
        if all(size == 1.0 for size in one.sizes) and one.whole and not smooths(density):
            return f"single values of {one.column}: each has a cell of its own"
        told = sentence(one.column, density.noticed)
        if one.resolution is not None:
            told = f"{one.column} of every row is a multiple of {show(one.resolution)}, the declared resolution; {told}"
        counted = [value for check in density.checks if check.columns == (one.column,) for value in check.atoms]
        named = [] if density.noticed else [one.words(value) for value in counted]
        return f"{told}; {' and '.join(named)} were counted by themselves" if named else told


def _kept(here: float, low: float, high: float) -> tuple[str, str]:
    """Verdict on a rank correlation of made-up rows beside the interval of the records', and why there is none.

    Parameters
    ----------
    here : float
        Of the rows.
    low, high : float
        Of the records.

    Returns
    -------
    pair of str
    """
    off = max(high - here, here - low)
    if off <= KEPT:
        return "kept", ""
    if off <= ROUGH:
        return "kept roughly", ""
    if low <= here <= high:
        return (
            "cannot be told",
            ": this interval is too wide to tell. A larger ε or more people narrow it",
        )
    return "not kept", ""


def down(value: float) -> str:
    """Two digits after the point, rounded down."""
    return f"{np.floor(100.0 * value) / 100.0:.2f}"


def up(value: float) -> str:
    """Two digits after the point, rounded up."""
    return f"{np.ceil(100.0 * value) / 100.0:.2f}"


def _most_rows(certificate: Certificate) -> int | None:
    """The most records that the public number of people can have; None where that is private."""
    people = certificate.heading["people"]
    return None if people is None else int(people) * certificate.guarantee.adjacency.rows


def _written(path: Path, content: bytes) -> Path:
    refuse_replacing(path)
    replace(path, content)
    return path


@contextmanager
def named_as(asked: Ask, call: str | None) -> Iterator[None]:
    """A refusal inside names the call that was made in place of the density behind it; None where that was asked."""
    try:
        yield
    except Refusal as refused:
        if call is not None:
            told = re.sub(r" If you know none, use .*? may give no reply\.", "", str(refused))  # no question makes rows
            refused.args = (told.replace(asked.name, call),)
        raise


def call_of(columns: str | Sequence[str] | DensityOf | Ask) -> str | None:
    """``synthesize(["x", "y"])``, as it was called of columns; None of a question."""
    if isinstance(columns, DensityOf | Ask):
        return None
    return f"synthesize({json.dumps(columns if isinstance(columns, str) else [*columns], ensure_ascii=False)})"


def asked_density(columns: str | Sequence[str] | DensityOf | Ask, rows: int | None, delta: Number | None) -> Ask:
    """Density question behind made-up rows: the one asked, or that of ``columns`` with checks that tell something.

    Parameters
    ----------
    columns : str, sequence of str, density or Ask
        Names of the columns, or the question.
    rows : int or None
        Number of made-up rows; None for the released number.
    delta : number or None
        Delta of the question.

    Returns
    -------
    Ask

    Raises
    ------
    QuestionError, PublicParameterError
        A question that is no density; a number of rows that cannot be drawn.
    """
    check_rows(rows)
    asked = ask(columns if isinstance(columns, DensityOf | Ask) else DensityOf(columns, checks="auto"))
    if not isinstance(asked.statistic, DensityOf):
        raise QuestionError(f"rows are drawn from a density: rt.density(…), got {asked.name}.")
    return asked.at(asked.epsilon, delta=delta) if asked.delta is None and delta is not None else asked


def check_rows(rows: SupportsIndex | None) -> int | None:
    """The number of rows, None where it is that of the records; one that cannot be drawn is refused."""
    count = whole(rows, "rows")
    if count is not None and not 1 <= count <= MOST_ROWS:
        raise PublicParameterError(f"rows must be a whole number from 1 to 2^30, got {count}")
    return count
