"""Texts of numbers in many notations, the formats that read them, and what an engine should make of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from reticent.data.format import THOUSANDS, Format, is_text
from reticent.data.order_statistics import RunLength
from reticent.data.query import Keys, OrderedValues
from reticent.data.schema import Person, Schema, integer, real
from reticent.data.table import Table

FORMATS = [
    Format(decimal=decimal, thousands=sign, na=("NA", "-999", "-"))
    for decimal in (".", ",")
    for sign in THOUSANDS
    if sign != decimal
] + [
    Format(symbols=("€", "%", "$")),
    Format(decimal=",", thousands=".", symbols=("€", "EUR", "%")),
    Format(decimal=",", thousands=" ", symbols=("kr", "kr.", "€/m²", "€")),
    Format(thousands="'", symbols=("Fr.", "(a)")),
    Format(symbols=("g", "fg", "xin", "bi", "ab")),  # parts of inf stand in some of them
]
WRITTEN = [
    *("1", "-1", "+1.5", "1.5", "1,5", ".5", ",5", "5.", "5,", "1e3", "1,5e3", "1.5E-3", " 7 ", "\t7\n", "inf", "-INF"),
    *("1,977.61", "1.977,61", "1 977,61", "1\u00a0977,61", "1\u202f977.61", "1'977.61", "1\u2019977", "1_977"),
    *("1,97", "12,34.5", "1,9776", "1234,567", "1,234,567.8", "1.234.567,8", "1,234 567", "0,000,001", "1,234e2"),
    *("", " ", "-", ".", ",", "--1", "1,,000", ",977", "1,", "1.2.3", "NA", "-999", "-999.0", "-9,99", "nan", "x"),
    *("€ 5", "5 €", "-€5", "€-5", "€ -5", "- € 5", "-5 €", "+5%", "€5€", "€€5", "5 %%", "5 € %", "€", "%", "-€", "5€5"),
    *("1.234,50 €", "1,234.50€", "1 234,50\u00a0kr", "1'234.50 Fr.", "Fr. 5", "Fr.5", "kr.5", "5 €/m²", "5(a)", "1e3€"),
    *(
        "\t$\u202f5\n",
        "$1,5",
        "inf €",
        "nan %",
        "€ 5 -",
        "€ - 5",
        "5 eur",
        "5 EUR",
        "EUR5E3",
        "1E5EUR",
        "EUR",
        "-5 - €",
    ),
    *(
        "infg",
        "inffg",
        "abinf",
        "biinf",
        "xinf",
        "inf g",
        "5fg",
        "5g",
        "ab5",
        "-bi 5 fg",
        "1e5g",
        "g5e3",
        "+inf",
        "INFINITY",
    ),
    *("1\x00", "\x001", "１２", "٣", "1\ud7ff", "9" * 400, "1" + ",000" * 50, "1e", "e1", "0x10", "−5", "$5", "5 %"),
]


def schema_of(form: Format) -> Schema:
    """The schema of cells ``x``, each beside its place ``k``."""
    return Schema({"x": real(), "k": integer()}, Person("add_remove"), form)


def read_by(table: Table, size: int) -> list[float | None]:
    """What the engine makes of the cells, on the grid 2**-20; each is a group, so that it is known by its place."""
    (result,) = table.run([OrderedValues("x", Fraction(1, 1 << 20), None, Keys("k", tuple(range(size)), 1))], bytes(32))
    found = [order.values for order in result.orders if isinstance(order, RunLength)]
    return [None if len(values) == 0 else float(values[0]) / (1 << 20) for values in found]


def meant(texts: Sequence[str], form: Format) -> list[float | None]:
    """What the format says of the texts, on the same grid."""
    limit = float(1 << 41)  # of an integer of 2**-20 within 2**61
    found: list[float | None] = []
    for text in texts:
        value = form.number(text)
        absent = value is None or value in form.missing_numbers
        found.append(None if absent else math.floor(min(max(value or 0.0, -limit), limit) * 2**20) / 2**20)
    return found


SENT = tuple(text for text in WRITTEN if is_text(text))  # what every engine can be sent
