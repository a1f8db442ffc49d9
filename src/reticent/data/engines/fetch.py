"""Public tables on a server, fetched as Arrow columns: the one case in which rows leave their engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import ibis

from reticent.data.columns import arrow_type
from reticent.data.engines.casts import DTYPES
from reticent.data.engines.engine import ColumnsInPlace, SourceInPlace
from reticent.data.format import Limits

if TYPE_CHECKING:
    import pyarrow as pa

Expr: TypeAlias = Any  # Ibis is not typed


def fetched(source: SourceInPlace, names: Sequence[str]) -> pa.Table:
    """Columns of a public table, in their storage.

    Parameters
    ----------
    source : SourceInPlace
        A table about nobody.
    names : sequence of str
        Its columns.

    Returns
    -------
    Table
        Of Arrow, one column for each name.
    """
    import pyarrow as pa

    inside = {f"c{place}": name for place, name in enumerate(names)}
    rows = ibis.table({plain: DTYPES[source.storage[name]] for plain, name in inside.items()}, name="source")
    cells = {plain: _whole(rows[plain]) if rows[plain].type().is_boolean() else rows[plain] for plain in inside}
    chosen, write = rows.select(**cells), source.engine.dialect.write
    kept, stored = (write(ibis.table(chosen.schema(), name=name)) for name in ("cells", "content"))
    with source.engine.session(Limits()) as session:
        session.store("content", kept, ColumnsInPlace(source, inside), steps={"cells": write(chosen)}, light=False)
        found = session.arrow(stored)
    columns = [found[plain].combine_chunks().cast(arrow_type(source.storage[name])) for plain, name in inside.items()]
    return pa.table(columns, names=list(names))


def _whole(truth: Expr) -> Expr:
    """A truth value as 1, 0 or null: engines spell them differently."""
    return ibis.ifelse(truth.isnull(), ibis.null("int64"), ibis.ifelse(truth, 1, 0).cast("int64"))


__all__ = ["fetched"]
