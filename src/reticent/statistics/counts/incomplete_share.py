"""``incomplete(x, y)``: the share of rows with an odd cell in some columns, asked for or told beside an answer.

    odd_columns(asked, schema)    columns of a question that can hold odd cells, in the order of the schema
    IncompleteStep                the share of rows with an odd cell in some columns, by geometric noise
    words(beside, schema)         the caveat beside an answer

A cell is odd if it is missing, cannot be read, or is not listed, whatever public value stands in for it. How the share
of such rows is bought: ``shares.OddShare``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import attrs

from reticent.data.expression_tree import divided, key_text
from reticent.data.format import accented
from reticent.data.formula import Expression
from reticent.data.query import Incomplete, Query, Rows
from reticent.data.schema import Category, Integer, Key, Real, Schema, needed
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import NO_REPLY, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import show
from reticent.statistics import shares
from reticent.statistics.answer import Answer, Cell, IncompleteRows, ValueCount
from reticent.statistics.context import ExpectedAccuracy, Setting, guarantee_of, of_any, passing, values_of
from reticent.statistics.intervals import FEW, NONE, half_width, too_few
from reticent.statistics.options import GEOMETRIC
from reticent.statistics.public_facts import capped, listed, odd_cells, title, whole_cells
from reticent.statistics.shares import OddShare, share_of
from reticent.statistics.statistic import Ask, Dice, Statistic, read_column

if TYPE_CHECKING:
    from reticent.calendar import Calendar
    from reticent.data.query_result import QueryResult
    from reticent.entropy import Entropy
    from reticent.statistics.context import Step


def _names(columns: str | Expression | Iterable[str | Expression]) -> tuple[str, ...]:
    """The names of one column or several."""
    return tuple(map(read_column, (columns,) if isinstance(columns, str | Expression) else columns))


@attrs.frozen
class IncompleteShare(Statistic):
    """The share of rows with a cell that is missing, cannot be read, or is not listed.

    Parameters
    ----------
    of : str or sequence of str
        The columns.
    """

    verb: ClassVar[str] = "incomplete"
    axis: ClassVar[str] = "share"
    takes_dates: ClassVar[bool] = True
    declines: ClassVar[str] = "where noise hides how many rows there are"
    synonyms: ClassVar[tuple[str, ...]] = ("missing", "unreadable")
    positions: ClassVar[tuple[str, ...]] = ("of",)
    examples: ClassVar[tuple[str, ...]] = ("incomplete(x)", "incomplete(x, g)")

    of: tuple[str, ...] = attrs.field(converter=_names)

    def __attrs_post_init__(self) -> None:
        if not self.of or len(set(self.of)) != len(self.of):
            raise PublicParameterError("incomplete is of one column or more, each named once")

    @property
    def columns(self) -> tuple[str, ...]:
        """None: it counts odd cells itself."""
        return ()

    def renamed(self, of: Callable[[str], str]) -> IncompleteShare:
        return attrs.evolve(self, of=tuple(map(of, self.of)))

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.of

    def estimand(self, setting: Setting) -> str:
        return f"share of rows of this table with {odd_cells(self.of, setting.schema)}{capped(setting.schema.person)}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        return incomplete_step(self.of, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> IncompleteShare:
        return cls(dice.some(("x", "y", "k", "g", "h", "b"), 3))


# --- step -------------------------------------------------------------------------------------------------------------


MOST_CELLS: Final = 400  # the noise of their sum is that of a share bought for a twentieth of the price
MANY: Final = 0.05  # a share of odd cells that is surely above it asks for a cause
WITH_ACCENTS: Final = "labels with letters outside ASCII, which in another encoding than UTF-8 match no row"
OF_NUMBERS: Final = (
    "decimal",
    "thousands",
    "na",
    "symbols",
)  # keys of a study that say how cells of a kind are written
OF_DATES: Final = ("na", "format")
OF_LISTS: Final = ("encoding", "na", "among")
_PRODUCT: Final = re.compile(r"cross\((.*)\)", re.DOTALL)


def odd_columns(asked: Ask, schema: Schema) -> tuple[str, ...]:
    """The columns of a question, its groups included, that can hold odd cells: ``odd_among``."""
    weights = () if asked.weighed_by is None else (asked.weighed_by,)
    groups = () if asked.keys is None else asked.keys.columns
    if asked.keys is not None and not all(name in schema.columns for name in groups):
        groups = (asked.keys.column,)
    return odd_among((*asked.statistic.columns, *groups, *weights), schema)


def odd_among(columns: Sequence[str], schema: Schema) -> tuple[str, ...]:
    """Those of some columns that can hold odd cells, in the order of the schema: a share is the same in any order.

    A column is not among them that is complete, or of which the filter lets no row pass without a readable cell.
    """
    found = {name for name in columns if not schema.column(name).complete}
    if found and schema.where is not None:
        from reticent.data.contradictions import readable_columns

        found -= readable_columns(schema)
    return tuple(name for name in schema.columns if name in found)


def leaves_out(asked: Ask, schema: Schema) -> bool:
    """Tell if an answer is of fewer rows where cells are missing: no public value stands in for them."""
    return any(schema.column(name).stand_in is None for name in odd_columns(asked, schema))


def among(columns: tuple[str, ...], schema: Schema) -> str:
    """The part of an estimand that says which rows count: ``, among rows with a readable cost``."""
    dropped = [name for name in columns if schema.column(name).stand_in is None]
    taken = [f"an unreadable {name} counting as {_key(value)}" for name, value in _stand_ins(columns, schema)]
    readable = f"among rows with {whole_cells(dropped, schema)}" if dropped else ""
    return "".join(f", {part}" for part in (readable, *taken) if part)


def _stand_ins(columns: tuple[str, ...], schema: Schema) -> list[tuple[str, Key | Fraction]]:
    found = [(name, schema.column(name).stand_in) for name in columns]
    return [(name, value) for name, value in found if value is not None]


def _key(value: Key | Fraction) -> str:
    return show(value) if isinstance(value, Fraction) else key_text(value)


def _parts(column: str) -> list[str]:
    """The parts of a product of groups, as a question names them; of another column itself."""
    product = _PRODUCT.fullmatch(column)
    return [column] if product is None else divided(product[1])


def incomplete_step(
    columns: tuple[str, ...], setting: Setting, epsilon: Fraction, of_rows: Fraction | None = None
) -> IncompleteStep:
    """The step that tells the share of incomplete rows for ``epsilon``.

    ``of_rows`` is the scale of the noise of a number of rows that the release buys besides.

    Parameters
    ----------
    columns : tuple of str
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the share.
    of_rows : Fraction, optional
        Scale of the noise of a bought number of rows.

    Returns
    -------
    IncompleteStep

    Raises
    ------
    QuestionError
        Groups beside the question.
    """
    if setting.keys is not None:
        raise QuestionError("A share of incomplete rows is one for all groups: leave out 'by'. Nothing was charged.")
    for name in columns:
        setting.schema.column(name)
    public = public_rows(setting.schema, setting.units)
    bought = OddShare.of(setting.neighbours, public, epsilon, None if public is not None else of_rows)
    return IncompleteStep(columns, bought, setting)


@dataclass(frozen=True, slots=True)
class IncompleteStep:
    """The share of rows with an odd cell in ``columns``."""

    columns: tuple[str, ...]
    share: OddShare
    setting: Setting
    estimand: str = ""

    @property
    def name(self) -> str:
        named = [part for column in self.columns for part in _parts(column)]
        return title(IncompleteShare(tuple(dict.fromkeys(named))), self.setting)

    @property
    def queries(self) -> tuple[Query, ...]:
        return (Incomplete(self.columns), Rows()) if self.share.rows is None else (Incomplete(self.columns),)

    @property
    def guarantee(self) -> Guarantee:
        return guarantee_of(self.share.mechanism, self.setting, self.name)

    @property
    def as_declared(self) -> IncompleteStep:
        """The same step as a release knows it, without what one plan supposes of the rows of a person."""
        schema = replace(self.setting.schema, person=self.setting.schema.person.as_declared)
        return replace(self, setting=replace(self.setting, schema=schema))

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        return self.answer_by(results, entropy, None)

    def answer_by(self, results: Sequence[QueryResult], entropy: Entropy, rows_bought: float | None) -> Answer:
        """The share, with the noisy number of rows that the release bought besides, if it did.

        Parameters
        ----------
        results : sequence of QueryResult
        entropy : Entropy
        rows_bought : float or None
            Noisy number of rows.

        Returns
        -------
        Answer
        """
        ((odd,),), *more = (found.vectors for found in results)
        rest = more[0][0][0] - odd if more else 0
        return Answer(self.name, (Cell((), self.share.draw(odd, rest, entropy, rows_bought)),))

    def expected(self, people: int, *, odd: float = 0.0) -> ExpectedAccuracy:
        """For typical rows of a person, or one each: with more rows the share, ``odd`` of them, is known better."""
        person, scale = self.setting.schema.person, self.share.scale
        rows = values_of(people, person.rows, person)
        drawn = [scale, scale] if self.share.rows is None else []
        likely = passing(lambda number: not too_few(number, drawn) if drawn else number >= 1, rows, drawn)
        if rows < 1 or (drawn and too_few(rows, drawn)):
            return ExpectedAccuracy(None, None, FEW, of_any(likely))
        return ExpectedAccuracy(self.share.half_width(rows, odd), None, replies=of_any(likely))


def counts_complete(asked: Ask, schema: Schema) -> bool:
    """Tell if the numbers of an answer come to a noisy number of the rows that lack nothing.

    That is the number of values of a mean or a proportion of all rows, or the sum of all cells of a count.
    Its groups are all keys of their columns then, and a person has one row, which is in one cell.
    """
    if asked.weighed_by is not None:  # a row counts by its weight, which its own number hides
        return False
    statistic, keys = asked.statistic, asked.keys
    if keys is None and statistic.counts_values:
        (column,) = statistic.columns
        of_rows = asked.counts_rows or schema.person.rows == 1  # and not of persons, who may have several rows
        return of_rows and schema.column(column).stand_in is None
    columns = odd_columns(asked, schema)
    if schema.person.rows > 1 or not columns or any(schema.column(name).stand_in is not None for name in columns):
        return False
    groups = 1
    if keys is not None:
        declared = schema.column(keys.column) if not keys.is_found and keys.column in schema.columns else None
        if not isinstance(declared, Category) or {*declared.among} != {*keys.among}:
            return False
        groups = len(keys.among)
    if statistic.verb not in ("count", "histogram") or getattr(statistic, "mechanism", "") != GEOMETRIC:
        return False
    return groups * _cells(statistic, schema) <= MOST_CELLS


def _cells(statistic: Statistic, schema: Schema) -> int:
    """The cells of one group: the bins of a histogram, or one."""
    if statistic.verb == "count":
        return 1
    from reticent.statistics.counts.count_step import binned
    from reticent.statistics.counts.histogram import Histogram

    assert isinstance(statistic, Histogram)
    return len(binned(statistic, Setting(schema, None))[1])


def told_by(asked: Ask, schema: Schema, units: int | None, *, counted: bool = False) -> bool:
    """Tell if the share follows from an answer and the number of rows, both in the release anyway.

    Parameters
    ----------
    asked : Ask
        The question.
    schema : Schema
        Schema of the study.
    units : int or None
        The public number of persons.
    counted : bool
        Whether the release asks for the number of rows.

    Returns
    -------
    bool
        True if the share need not be bought.
    """
    return (counted or public_rows(schema, units) is not None) and counts_complete(asked, schema)


def public_rows(schema: Schema, units: int | None) -> int | None:
    """The number of rows, where it is public and exact."""
    return units if schema.person.size_public and schema.person.rows == 1 else None


def share_by_count(columns: tuple[str, ...], values: ValueCount, rows: float, of_rows: float) -> IncompleteRows:
    """The share of incomplete rows by a noisy number of complete ones in a number of rows: post-processing.

    Parameters
    ----------
    columns : tuple of str
    values : ValueCount
    rows, of_rows : float
        The number of rows, and the scale of its noise: 0 where it is public.

    Returns
    -------
    IncompleteRows
        Estimate with its interval.
    """
    if rows < 1 or (of_rows and too_few(rows, [of_rows])):
        return IncompleteRows(columns, NO_REPLY)
    odd = rows - values.number
    scales = [*values.scales, of_rows * (1.0 - min(max(odd / rows, 0.0), 1.0))]
    return IncompleteRows(columns, share_of(odd, rows, scales))


def scant(beside: IncompleteRows, values: ValueCount | None, schema: Schema) -> str:
    """The words about complete rows that are fewer than half of the people declared; empty where a share is clear.

    Both are known: the people are public, and the number of complete rows is a sum of released ones.

    Parameters
    ----------
    beside : IncompleteRows
    values : ValueCount or None
        Noisy number of complete rows, where the release has one.
    schema : Schema

    Returns
    -------
    str
    """
    person = schema.person
    if values is None or person.people is None or person.filtered or person.household is not None:
        return ""
    most = max(values.number + half_width(NONE, values.scales), 0.0)
    if not shares.unclear(beside.outcome) or most >= person.people / 2:
        return ""
    few = f"at most {math.ceil(most):,} rows have {whole_cells(beside.columns, schema)}"
    return f"; {few}, of {person.people:,} people declared; {shares.DECLARED}{', '.join(_ways(beside.columns, schema))}"


def words(beside: IncompleteRows, schema: Schema) -> str:
    """The caveat beside an answer, such as ``1.2 % of rows have a missing or unreadable cost: they are left out``."""
    columns = beside.columns
    which, then = f"have {odd_cells(columns, schema)}", instead(columns, schema)
    advice = f"; {shares.DECLARED}{', '.join(_ways(columns, schema))}" if shares.most(beside.outcome) else ""
    advice = advice or _encoding_words(beside, schema) or _spelling_words(beside, schema)
    found = beside.outcome
    many = isinstance(found, Reply) and found.value.low > MANY
    dates = _date_words(columns, schema) if advice or many or shares.unclear(found) else ""
    return f"{shares.words(beside.outcome, which, then)}{dates}{advice}{shares.again(beside.origin)}"


def _often_unlisted(beside: IncompleteRows, schema: Schema) -> dict[str, Category]:
    """The categories among the columns, where so many cells are odd that a cause is asked for."""
    found = beside.outcome
    if not isinstance(found, Reply) or found.value.low <= MANY:
        return {}
    columns = ((name, schema.stored.get(name)) for name in needed(schema, beside.columns))
    return {name: column for name, column in columns if isinstance(column, Category)}


def _encoding_words(beside: IncompleteRows, schema: Schema) -> str:
    """One possible cause of many unlisted cells: labels with accents, of a file whose encoding nobody stated."""
    odd = [name for name, column in _often_unlisted(beside, schema).items() if accented(column.among)]
    if schema.format.has_encoding or not odd:
        return ""
    have = f"{listed(odd, 'and')} {'has' if len(odd) == 1 else 'have'}"
    return f"; one cause may be the encoding of a CSV file, which is not stated: {have} {WITH_ACCENTS}"


def _spelling_words(beside: IncompleteRows, schema: Schema) -> str:
    """Words on what to declare where many cells are none of the listed texts: they may have other capitals."""
    for name, column in _often_unlisted(beside, schema).items():
        if any(key != key.lower() for key in column.among if isinstance(key, str)):
            return f"; if cells have other capitals, list these too and ask by lower({name})"
    return ""


def _date_words(columns: tuple[str, ...], schema: Schema) -> str:
    """The form in which dates of these columns are read: others are all missing, and few people hide that."""
    stored = ((name, schema.stored.get(name)) for name in needed(schema, columns))
    dated = {
        name: column.calendar for name, column in stored if isinstance(column, Integer) and column.calendar is not None
    }
    alike: dict[str, list[str]] = {}
    for name, dates in dated.items():
        alike.setdefault(dates.forms, []).append(name)
    forms = [f"text of {listed(names, 'and')} is read like {form}" for form, names in alike.items()]
    zone = " (with Z or an offset: by zone = … alone)" if any(map(_lacks_zone, dated.values())) else ""
    return f"; {', '.join(forms)} and in no other form{zone}: compare a cell of the file" if forms else ""


def _lacks_zone(dates: Calendar | None) -> bool:
    """Tell if a zone would read cells with Z or an offset, which are missing without it."""
    return dates is not None and dates.kind == "datetime" and not (dates.zone or dates.format)


def _ways(columns: tuple[str, ...], schema: Schema) -> list[str]:
    """Keys of a study that say how the cells of these columns, or of those they are computed of, are written."""
    found: set[str] = set()
    for name in needed(schema, columns):
        match schema.columns.get(name) if schema.table_of(name) else schema.stored.get(name):
            case Real() | Integer(calendar=None):
                found.update(OF_NUMBERS)
            case Integer(calendar=dates):
                found.update(OF_DATES)
                if _lacks_zone(dates):
                    found.add("zone")
            case Category():
                found.update(OF_LISTS)
            case None:
                pass  # computed of others
    order = ("decimal", "thousands", "encoding", "na", "symbols", "among", "format", "zone")
    return [word for word in order if word in found]


def instead(columns: tuple[str, ...], schema: Schema) -> str:
    """Treatment of rows with an odd cell in these columns, such as ``they are left out``."""
    if all(schema.column(name).stand_in is None for name in columns):
        return "they are left out"
    if any(schema.column(name).stand_in is None for name in columns):
        taken = "; ".join(f"for {name} {_key(value)} stands in" for name, value in _stand_ins(columns, schema))
        return f"they are left out, but {taken}"
    return "; ".join(f"{_key(value)} stands in for {name}" for name, value in _stand_ins(columns, schema))
