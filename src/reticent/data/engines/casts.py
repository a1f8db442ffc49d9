"""Total casts: from a cell as it arrives to a double, a whole double or the text of a listed key, else null.

A number is read to the nearest double, in the format that the study declares. Text that is no number, NaN, null and
everything listed as ``na`` are missing. +-inf stays and falls on the nearer bound. An integer column keeps whole values
only ("12.0" is 12, "12.5" is missing). A category becomes the canonical text of its key, or missing if the key is not
listed. No cell makes a cast fail: an error would be about a row.

A date or time becomes the integer of its calendar. Text that the calendar's pattern takes is put in ISO order and cast;
30 February becomes null there. Seconds of a typed source are taken as they stand, or are converted from UTC to the
declared zone. Far dates are moved into the years 1 to 9999 first.
"""

from __future__ import annotations

import datetime
import hashlib
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, TypeAlias, assert_never

import ibis

from reticent.calendar import FIRST, LAST, MONTHS, Calendar, seconds
from reticent.data.columns import Storage
from reticent.data.expression_tree import key_text as key_text
from reticent.data.format import LISTED_EDGES, NAMED_EDGES, PLAIN, Format
from reticent.data.schema import EXACT_DOUBLE, Category, Column, Integer, Real, Text
from reticent.errors import PublicParameterError

if TYPE_CHECKING:
    import pyarrow as pa

DTYPES: Final[Mapping[Storage, str]] = {
    "text": "string",
    "whole": "int64",
    "real": "float64",
    "truth": "boolean",
    "seconds": "int64",
    "instants": "int64",
}
SHORT: Final = 64  # categories that a statement names; a longer list is a table
WHOLE: Final = re.compile("0|-?[1-9][0-9]*")  # as an engine writes whole numbers

Expr: TypeAlias = Any  # Ibis is not typed; expressions never leave ``plan`` but as SQL text
# control characters, ends of lines and paragraphs, and marks that turn the direction of writing
UNFIT: Final = r"[[:cntrl:]\x{80}-\x{9f}\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]"


@ibis.udf.scalar.builtin(name="timezone", signature=(("string", "timestamp"), "timestamp('UTC')"))  # type: ignore[untyped-decorator]
def _instant(zone: str, wall: Any) -> Any:
    """The instant at which clocks of a zone show a time."""


@ibis.udf.scalar.builtin(name="timezone", signature=(("string", "timestamp('UTC')"), "timestamp"))  # type: ignore[untyped-decorator]
def _wall(zone: str, instant: Any) -> Any:
    """The time that clocks of a zone show at an instant."""


def double(value: float) -> Expr:
    """A double literal, written as text so that no engine reads it as a rounded decimal."""
    return ibis.literal(repr(float(value)), "string").cast("float64")


def clamp(x: Expr, low: float, high: float) -> Expr:
    """``x`` moved into [low, high]; null stays null. Only comparisons, so infinities are safe.

    Parameters
    ----------
    x : Expr
        Double.
    low, high : float
        Ends of the range.

    Returns
    -------
    Expr
        Double in [low, high], or null.
    """
    return ibis.cases((x < double(low), double(low)), (x > double(high), double(high)), else_=x)


def number(column: Expr, storage: Storage, form: Format = PLAIN) -> Expr:
    """The double a cell denotes, or null; never NaN.

    Parameters
    ----------
    column : Expr
    storage : storage type
    form : Format
        Way in which text writes numbers.

    Returns
    -------
    Expr
    """
    match storage:
        case "text":
            text = ibis.ifelse(column.re_search(form.pattern), column, ibis.null("string"))
            for sign in form.dropped:
                text = text.replace(sign, "")
            text = text if form.decimal == "." else text.replace(form.decimal, ".")
            return text.strip().try_cast("float64")
        case "whole" | "seconds" | "instants":
            return column.cast("float64")
        case "real":
            return ibis.ifelse(column.isnan(), ibis.null("float64"), column)
        case "truth":
            return ibis.cases((column, double(1)), (~column, double(0)), else_=ibis.null("float64"))
        case _:
            assert_never(storage)


def whole_or_null(x: Expr) -> Expr:
    """``x`` where it is a whole number (every double beyond 2^53 is)."""
    inner = clamp(x, -float(EXACT_DOUBLE), float(EXACT_DOUBLE))
    return ibis.ifelse(inner.floor().cast("float64") == inner, x, ibis.null("float64"))


def whole_text(x: Expr) -> Expr:
    """Decimal text of a whole double within 2^53."""
    return clamp(x, -float(EXACT_DOUBLE), float(EXACT_DOUBLE)).floor().cast("int64").cast("string")


def plain_text(column: Expr, storage: Storage) -> Expr:
    """The text of a cell, equal for equal values whatever the source: 7 and 7.0 are both "7"."""
    match storage:
        case "text":
            return column
        case "whole" | "seconds" | "instants":
            return column.cast("string")
        case "real":
            x = number(column, "real")
            short = (x > double(-float(EXACT_DOUBLE))) & (x < double(float(EXACT_DOUBLE)))
            return ibis.ifelse(short & whole_or_null(x).notnull(), whole_text(x), x.cast("string"))
        case "truth":
            return ibis.cases((column, "true"), (~column, "false"), else_=ibis.null("string"))
        case _:
            assert_never(storage)


def _truth_text(column: Expr, storage: Storage, form: Format) -> Expr:
    x = number(column, storage, form)
    yes, no = x == double(1), x == double(0)
    if storage == "text":
        word = column.strip().lower()
        yes, no = yes.fill_null(False) | (word == "true"), no.fill_null(False) | (word == "false")
    return ibis.cases((yes, "true"), (no, "false"), else_=ibis.null("string"))


def parsed(raw: Expr, storage: Storage, column: Column | Text, form: Format) -> Expr:
    """The double or the text of a cell, before it is held against the declaration; null where ``na`` lists it.

    Parameters
    ----------
    raw : Expr
    storage : storage type
    column : Column or Text
    form : Format
        Way in which text writes numbers.

    Returns
    -------
    Expr
    """
    match column:
        case Integer(calendar=Calendar() as calendar):
            return moment(raw, known_text(raw, storage, form), storage, calendar, form)
        case Real() | Integer():
            return _known_number(number(raw, storage, form), form)
        case Category(among=(bool(), *_)):
            absent = _listed(plain_text(raw, storage).strip(), form)
            return ibis.ifelse(absent, ibis.null("string"), _truth_text(raw, storage, form))
        case Category(among=(int(), *_)):
            return _known_number(number(raw, storage, form), form)
        case Category() | Text():
            return known_text(raw, storage, form)
        case _:
            assert_never(column)


def moment(raw: Expr, text: Expr, storage: Storage, calendar: Calendar, form: Format) -> Expr:
    """The integer of a cell as a double, or null.

    Parameters
    ----------
    raw : Expr
        The cell as the source stores it.
    text : Expr
        The cell as text, null where ``na`` lists it.
    storage : Storage
        Storage of the column.
    calendar : Calendar
        Step and zone of the column.
    form : Format
        Notation of missing cells.

    Returns
    -------
    Expr
        Steps since 1 January 1970 as a double, or null.
    """
    match storage:
        case "seconds":
            whole = clamp(raw.cast("float64"), -float(EXACT_DOUBLE), float(EXACT_DOUBLE))  # the last is no integer
            found = _listed_date(whole, form)
        case "instants":
            found = _listed_date(_local(raw.cast("float64"), calendar.zone), form)
        case _:
            found = _read_moment(text, calendar)
    return (found / double(calendar.step)).floor().cast("float64")


def _listed_date(found: Expr, form: Format) -> Expr:
    """Seconds, or null where ``na`` lists their date."""
    absent = []
    for word in form.na:
        try:
            absent.append(float(seconds(word)[0]))
        except PublicParameterError:
            continue
    return ibis.ifelse(found.isin([double(one) for one in absent]), ibis.null("float64"), found) if absent else found


def _read_moment(text: Expr, calendar: Calendar) -> Expr:
    """Seconds of a cell that is text."""
    # tested here, and not around all that follows: DuckDB computes once what is the same, but not within a branch
    text = ibis.ifelse(text.re_search(calendar.pattern), text, ibis.null("string"))
    text = text if calendar.format else text.strip()
    parts = _parts_by_pattern(text, calendar) if calendar.format else _parts_by_place(text)
    day = _year(parts, calendar.century) + "-" + _month(parts) + "-" + parts["%d"]
    time = [_hour(parts), *(parts.get(name, ibis.literal("0")) for name in ("%M", "%S"))]
    wall = (day + " " + time[0] + ":" + time[1] + ":" + time[2]).try_cast("timestamp")
    found = seconds_of(wall)
    if not calendar.zone or calendar.format:
        return found
    offset = text.right(len("+01:00")).re_extract(r"(Z|[+-][0-9][0-9]:?[0-9][0-9])$", 1)
    digits = ibis.ifelse((offset == "") | (offset == "Z"), "+0000", offset.replace(":", ""))
    minutes = digits.substr(1, 2).cast("float64") * double(60) + digits.substr(3, 2).cast("float64")
    east = ibis.ifelse(digits.substr(0, 1) == "-", double(60), double(-60)) * minutes
    return ibis.ifelse(offset == "", found, _local(found + east, calendar.zone))


def _parts_by_pattern(text: Expr, calendar: Calendar) -> dict[str, Expr]:
    """Digits and names of a text of the pattern, by directive; 0 for those that it lacks."""
    parts = {name: text.re_extract(calendar.pattern, nth) for nth, name in enumerate(calendar.order, start=1)}
    return {name: ibis.ifelse(part == "", "0", part) for name, part in parts.items()}


def _parts_by_place(text: Expr) -> dict[str, Expr]:
    """The same of a text as ISO 8601 has it, by their places: to find them by the pattern takes five times as long."""
    timed, exact = text.substr(10, 1).isin(["T", " "]), text.substr(16, 1) == ":"
    parts = {"%Y": text.substr(0, 4), "%m": text.substr(5, 2), "%d": text.substr(8, 2)}
    parts |= {"%H": ibis.ifelse(timed, text.substr(11, 2), "0"), "%M": ibis.ifelse(timed, text.substr(14, 2), "0")}
    return parts | {"%S": ibis.ifelse(timed & exact, text.substr(17, 2), "0")}


def _year(parts: Mapping[str, Expr], century: int) -> Expr:
    """Four digits of the year; of two, those that lie in the hundred years from ``century`` on."""
    if "%y" not in parts:
        return parts["%Y"]
    first, rest = divmod(century, 100)
    return ibis.ifelse(parts["%y"] >= f"{rest:02}", f"{first:02}", f"{first + 1:02}") + parts["%y"]


def _month(parts: Mapping[str, Expr]) -> Expr:
    """The digits of the month, of its English name too."""
    if "%m" in parts:
        return parts["%m"]
    name = parts.get("%b", parts.get("%B")).substr(0, 3).lower()
    return ibis.cases(*((name == month[:3].lower(), f"{nth:02}") for nth, month in enumerate(MONTHS, 1)), else_="0")


def _hour(parts: Mapping[str, Expr]) -> Expr:
    """The hour of the day; of AM and PM, 12 AM is 0 and 12 PM is 12."""
    if "%I" not in parts:
        return parts.get("%H", ibis.literal("0"))
    hour, late = parts["%I"], parts["%p"].lower() == "pm"
    named = ((hour.isin([str(nth), f"{nth:02}"]), nth % 12) for nth in range(1, 13))
    return ibis.cases(*((found, ibis.ifelse(late, f"{nth + 12}", f"{nth:02}")) for found, nth in named), else_="0")


def _local(utc: Expr, zone: str) -> Expr:
    """Seconds on the clocks of a zone."""
    return seconds_of(_wall(zone, _instant("UTC", timestamp(utc))))


def timestamp(found: Expr) -> Expr:
    """The timestamp of seconds since 1970, within the years 1 to 9999."""
    inside = clamp(found, float(FIRST), float(LAST))
    return ibis.literal(datetime.datetime(1970, 1, 1), "timestamp") + inside.floor().cast("int64").as_interval("s")


def seconds_of(moment: Expr) -> Expr:
    """Seconds of a timestamp since 1970, as a double."""
    return moment.epoch_seconds().cast("float64")


def known_text(raw: Expr, storage: Storage, form: Format) -> Expr:
    """The text of a cell; null where ``na`` lists it, letter by letter.

    Parameters
    ----------
    raw : Expr
    storage : storage type
    form : Format
        Its ``na`` lists texts that count as missing.

    Returns
    -------
    Expr
    """
    text = plain_text(raw, storage)
    return ibis.ifelse(_listed(text, form), ibis.null("string"), text) if form.na else text


def known_number(raw: Expr, form: Format) -> Expr:
    """A whole number; null where ``na`` lists its text. Texts are made of no cell: ``na`` is read instead."""
    absent = [int(word) for word in form.na if WHOLE.fullmatch(word) and -(1 << 63) <= int(word) < 1 << 63]
    return ibis.ifelse(raw.isin(absent), ibis.null("int64"), raw) if absent else raw


def _listed(text: Expr, form: Format) -> Expr:
    return text.isin(list(form.na)) if form.na else ibis.literal(False)


def _known_number(x: Expr, form: Format) -> Expr:
    absent = [x == double(value) for value in form.missing_numbers]
    return ibis.ifelse(reduce(lambda a, b: a | b, absent), ibis.null("float64"), x) if absent else x


def typed(x: Expr, column: Column | Text) -> Expr:
    """A parsed cell as declared: a double, a whole double, the text of a listed key, or a text; else null."""
    match column:
        case Real():
            return x
        case Integer():
            return whole_or_null(x)
        case Category(trimmed=True, among=among, longest=None) if len(among) <= SHORT:
            without_blanks = x.strip().cases(*((key, key) for key in among), else_=ibis.null("string"))
            return ibis.ifelse(x.isin(among), x, without_blanks)  # to trim every cell takes twice as long as all else
        case Category(among=among):
            texts = texts_of_keys(x, column)
            return ibis.ifelse(texts.isin([key_text(key) for key in among]), texts, ibis.null("string"))
        case Text(longest=longest):
            return _short(x, longest)
        case _:
            assert_never(column)


def _short(x: Expr, longest: int) -> Expr:
    """A text stripped and cut to its first characters; null where nothing is left, or a character is unfit."""
    short = x.strip().substr(0, longest).strip()
    unfit = (short == "") | short.re_search(UNFIT)
    return ibis.ifelse(unfit, ibis.null("string"), short)


def texts_of_keys(x: Expr, column: Category) -> Expr:
    """The text that a parsed cell has as a key, listed or not."""
    if column.longest is not None:
        return _short(x, column.longest)
    if column.trimmed:
        blanks = list(string.whitespace)
        return ibis.ifelse(x.substr(0, 1).isin(blanks) | x.right(1).isin(blanks), x.strip(), x)
    return whole_text(whole_or_null(x)) if type(column.among[0]) is int else x


def engine_type(column: Column | Text) -> str:
    """The engine type of a parsed cell."""
    if isinstance(column, Text):
        return "string"
    return "string" if isinstance(column, Category) and type(column.among[0]) is not int else "float64"


def with_stand_in(x: Expr, column: Column) -> Expr:
    """A typed cell, or the public value of its column where it is null."""
    if column.stand_in is None:
        return x
    if isinstance(column, Category):
        return x.fill_null(key_text(column.stand_in))
    return x.fill_null(double(float(column.stand_in)))


# --- bins -------------------------------------------------------------------------------------------------------------


def binned(rows: Expr, edges: Sequence[Fraction]) -> Expr:
    """Rows with ``bin``: the number of inner edges that are not above ``x``; ``x`` itself of more than a table lists.

    A statement names few edges. Of more it names every so manyth, which parts the line. The edges inside of a part
    stand beside its rows.

    Parameters
    ----------
    rows : Table
        An Ibis expression with a number ``x``, none missing.
    edges : sequence of Fraction
        In order.

    Returns
    -------
    Table
    """
    if len(edges) > LISTED_EDGES:
        return rows.mutate(bin=rows.x)
    inner, x = [float(edge) for edge in edges[1:-1]], rows.x.cast("float64")
    if not _are_listed(edges):
        return rows.mutate(bin=_number_up_to(x, [*map(double, inner)]))
    step = _stride(inner)
    rows = rows.mutate(part=_number_up_to(x, [*map(double, inner[step - 1 :: step])]))
    names = [f"edge{nth}" for nth in range(step - 1)]
    listed = ibis.table({"in_part": "int64", **dict.fromkeys(names, "float64")}, name=_name_of(edges))
    rows = rows.inner_join(listed, rows.part == listed.in_part)
    found = rows.part * step + _number_up_to(rows.x.cast("float64"), [rows[name] for name in names])
    return rows.mutate(bin=ibis.ifelse(found > len(inner), len(inner), found))  # the last part repeats its last edge


def edge_tables(several: Iterable[Sequence[Fraction]]) -> dict[str, pa.Table]:
    """The tables of edges that statements of bins read, by name."""
    return {_name_of(edges): _table_of(edges) for edges in several if _are_listed(edges)}


def _are_listed(edges: Sequence[Fraction]) -> bool:
    return NAMED_EDGES < len(edges) <= LISTED_EDGES


def _stride(inner: Sequence[float]) -> int:
    """Edges from one that is named to the next, so that a statement names fewer than ``NAMED_EDGES``."""
    return -(-(len(inner) + 1) // NAMED_EDGES)


def _name_of(edges: Sequence[Fraction]) -> str:
    """A name that tells a table of edges from others."""
    return f"edges_{hashlib.sha256(repr([*map(float, edges[1:-1])]).encode()).hexdigest()[:32]}"


def _table_of(edges: Sequence[Fraction]) -> pa.Table:
    """The edges inside of each part of the line."""
    import pyarrow as pa

    inner = [float(edge) for edge in edges[1:-1]]
    step = _stride(inner)
    inner += [inner[-1]] * step
    firsts = range(0, len(inner) - step + 1, step)
    columns = {
        f"edge{nth}": pa.array([inner[first + nth] for first in firsts], pa.float64()) for nth in range(step - 1)
    }
    return pa.table({"in_part": pa.array(range(len(firsts)), pa.int64()), **columns})


def _number_up_to(x: Expr, edges: Sequence[Expr], before: int = 0) -> Expr:
    """``before``, and the number of rising edges that are not above ``x``: as many comparisons as halvings."""
    if not edges:
        return ibis.literal(before, "int64")
    half = len(edges) // 2
    upper = _number_up_to(x, edges[half + 1 :], before + half + 1)
    return ibis.ifelse(x < edges[half], _number_up_to(x, edges[:half], before), upper)
