"""Households as engine expressions: each person belongs to one, and so many persons of each are kept.

    typed rows --belonging--> with "house", the least that a person's rows name
    rows that pass the filter --few_persons--> those of at most so many persons of each house

The first window is over a person, the second over a house, so nobody of another house is looked at.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import ibis

from reticent.data.engines.engine import join_keys
from reticent.data.engines.row_choice import KEY_STAND_IN
from reticent.data.schema import Schema

Table: TypeAlias = Any  # Ibis is not typed; these never leave the compiler but as SQL text

HOUSE: Final = "house"


def belonging(schema: Schema, rows: Table) -> Table:
    """Typed rows of a main table that names households, with that of their person.

    A further table says it when it is thinned out: ``joins.kept``.
    """
    assert schema.household_here is not None
    named = rows[join_keys(schema)[schema.household_here]]
    return rows.mutate(**{HOUSE: named.nullif("").min().over(group_by="who")})


def few_persons(schema: Schema, rows: Table) -> Table:
    """Rows of at most so many persons of each household, those with the least keyed digest; of no household none."""
    person = schema.person
    rows = rows.filter(rows[HOUSE].notnull())
    rows = rows.mutate(nth=ibis.dense_rank().over(group_by=HOUSE, order_by=rows.who))
    rows = rows.mutate(size=rows.nth.max().over(group_by=HOUSE))
    text = ibis.literal(f"household:{KEY_STAND_IN}:") + rows.who.cast("string")
    # dense ranks begin at 0: a house of so many persons as are kept is neither hashed nor cut
    draw = ibis.ifelse(rows["size"] < person.moved, "", text.hexdigest("sha256"))
    rows = rows.mutate(draw=draw)
    rows = rows.mutate(nth=ibis.dense_rank().over(group_by=HOUSE, order_by=[rows.draw, rows.who]))
    return rows.filter(rows.nth < person.moved)
