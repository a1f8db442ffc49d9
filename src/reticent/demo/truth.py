"""Exact answers about the public table of the demonstration, straight from its file."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reticent.data.expression_tree import key_text
from reticent.statistics.counts.cap_share import CapShare
from reticent.statistics.counts.count import Count
from reticent.statistics.counts.histogram import Histogram
from reticent.statistics.counts.incomplete_share import IncompleteShare
from reticent.statistics.counts.persons import Persons
from reticent.statistics.counts.total import Sum
from reticent.statistics.grammar import parse
from reticent.statistics.moments.mean import Mean
from reticent.statistics.moments.proportion import Proportion
from reticent.statistics.moments.sd import Sd
from reticent.statistics.moments.variance import Variance
from reticent.statistics.quantiles.iqr import Iqr
from reticent.statistics.quantiles.rank_statistic import RankStatistic
from reticent.statistics.statistic import Ask

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.statistics.answer import Answer, Cell

PERSON: Final = "zper"


def truths(answers: tuple[Answer, ...], file: Path) -> Mapping[str, tuple[float | None, ...]]:
    """For each answer by name, the exact number of each of its cells; None where there is none to compute.

    The numbers are those of the file: no value is moved to a bound and no row is left out.
    """
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    return {answer.name: _cells(answer, table) for answer in answers}


def _cells(answer: Answer, table: pa.Table) -> tuple[float | None, ...]:
    import pyarrow.compute as pc

    asked = parse(answer.name)
    by = None if asked.groups is None else str(asked.groups)
    found: list[float | None] = []
    groups: dict[object, list[Cell]] = {}
    for cell in answer.cells:
        groups.setdefault(dict(cell.label).get(by or ""), []).append(cell)
    for key, cells in groups.items():
        rows = table if by is None else table.filter(pc.equal(table[by], key))
        numbers = _numbers(asked, rows)
        found += numbers if len(numbers) == len(cells) else [None] * len(cells)
    return tuple(found)


def _numbers(asked: Ask, rows: pa.Table) -> list[float]:
    import pyarrow.compute as pc

    per = asked.unit
    match asked.statistic:
        case Count():
            return [float(rows.num_rows)]
        case Persons():
            return [float(pc.count_distinct(rows[PERSON]).as_py())]
        case CapShare():
            return [0.0]
        case IncompleteShare(of=columns):
            whole = [pc.is_valid(rows[column]) for column in columns]
            return [1.0 - _number(pc.mean(pc.cast(reduce(pc.and_, whole), "float64")))]
        case Sum(column=column):
            return [_number(pc.sum(rows[column]))]
        case Mean(column=column):
            return [_number(pc.mean(_each(rows, column, per)))]
        case Variance(column=column):
            return [_number(pc.variance(_each(rows, column, per), ddof=1))]
        case Sd(column=column):
            return [_number(pc.stddev(_each(rows, column, per), ddof=1))]
        case Proportion(column=column, value=value) if value is not None:
            known = rows[column].drop_null()
            return [_number(pc.mean(pc.cast(pc.equal(pc.cast(known, "string"), key_text(value)), "float64")))]
        case RankStatistic(column=column, levels=levels):
            shares = [float(level) for level in levels]
            return [float(found) for found in pc.quantile(_each(rows, column, per), shares).to_pylist()]
        case Iqr(column=column):
            low, high = pc.quantile(_each(rows, column, per), [0.25, 0.75]).to_pylist()
            return [high - low]
        case Histogram(column=column, edges=edges):
            return _bins(rows[column].drop_null().to_pylist(), edges)
        case _:  # the table of the demonstration asks for none of the others
            return []


def _each(rows: pa.Table, column: str, per: str) -> Any:
    """The values of a column, or each person's mean of them."""
    return rows[column] if per == "row" else rows.group_by(PERSON).aggregate([(column, "mean")])[f"{column}_mean"]


def _number(scalar: Any) -> float:
    return float(scalar.as_py())


def _bins(values: list[float], edges: tuple[Fraction, ...]) -> list[float]:
    """Counts between the edges; a value outside counts at the nearer end, the last bin holds its right edge."""
    lowest, highest = edges[0], edges[-1]
    held = [min(max(Fraction(value), lowest), highest) for value in values]
    pairs = list(pairwise(edges))
    return [
        float(sum(low <= value < high or (value == highest and place == len(pairs) - 1) for value in held))
        for place, (low, high) in enumerate(pairs)
    ]
