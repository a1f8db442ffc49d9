"""Total casts: from a cell as it arrives to a double, a whole double or the text of a listed key, else null.

A number is read to the nearest double, in the format that the study declares. Text that is no number, NaN, null and
everything listed as ``na`` are missing. +-inf stays and falls on the nearer bound. An integer column keeps whole values
only ("12.0" is 12, "12.5" is missing). A category becomes the canonical text of its key, or missing if the key is not
listed. No cell makes a cast fail: an error would be about a row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from typing import Any, Final, TypeAlias, assert_never

import ibis

from reticent.calendar import Calendar
from reticent.data.columns import Storage
from reticent.data.engines.numbers import clamp as clamp
from reticent.data.engines.numbers import double as double
from reticent.data.expression_tree import key_text as key_text
from reticent.data.format import PLAIN, Format
from reticent.data.schema import EXACT_DOUBLE, Category, Column, Integer, Real, Text

DTYPES: Final[Mapping[Storage, str]] = {
    "text": "string",
    "whole": "int64",
    "real": "float64",
    "truth": "boolean",
    "seconds": "int64",
    "instants": "int64",
}
WHOLE: Final = re.compile("0|-?[1-9][0-9]*")  # as an engine writes whole numbers

Expr: TypeAlias = Any  # Ibis is not typed; expressions never leave ``plan`` but as SQL text
# control characters, ends of lines and paragraphs, and marks that turn the direction of writing
UNFIT: Final = r"[[:cntrl:]\x{80}-\x{9f}\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]"


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
            from reticent.data.engines import moments

            return moments.cell(raw, known_text(raw, storage, form), storage, calendar, form)
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
