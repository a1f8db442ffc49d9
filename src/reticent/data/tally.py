"""Counting a column of randomized answers inside the engine: what comes back is counts, never rows.

The answers were randomized before they were sent, so nothing here is a secret and nothing is charged. The files are
still the curator's: DuckDB opens them read-only, without extensions, and its error texts are not shown.
"""

# ruff: noqa: S608 - names are quoted, numbers are ints: nothing typed by a person is SQL here

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from reticent.errors import SpecError

MOST: Final = 1 << 21  # different answers of one column
PIECE: Final = 16  # places that are counted together: at most 65,536 different pieces
WORDS: Final = "the file cannot be counted: is it a CSV, Parquet or DuckDB file with these columns?"


class Column:
    """One column of answers in an open file; ``counts`` and ``bits`` by group, ``distinct`` and ``repeated`` checks."""

    def __init__(self, connection: Any, relation: str, column: str) -> None:
        self._connection, self._relation, self._column = connection, relation, quoted(column)

    def counts(self, group: str | None = None) -> Iterator[tuple[str, str, int]]:
        """Group, text of the answer ("" for a missing one), and how often; for at most 2^21 different ones."""
        key = f"coalesce(CAST({quoted(group)} AS VARCHAR), '')" if group else "''"
        rows = self._rows(
            f"SELECT {key} AS key, {self._text()} AS token, count(*) FROM {self._relation} GROUP BY ALL "
            f"ORDER BY key, token LIMIT {MOST + 1}"
        )
        if len(rows) > MOST:
            raise SpecError("the column has too many different answers for any design of this kind")
        return ((str(name), str(token), int(times)) for name, token, times in rows)

    def bits(self, size: int, chosen: int | None, group: str | None = None) -> list[tuple[str, int, int, list[int]]]:
        """Group, missing, off the list, and the sums of each place of answers that are ``size`` characters 0 or 1.

        ``chosen``: how many 1 an answer has, None for any number.

        Parameters
        ----------
        size : int
            Length of an answer.
        chosen : int or None
            Number of ones in an answer; None for any.
        group : str, optional
            Column of subgroups.

        Returns
        -------
        list of (group, missing, off the list, sums of shape (size,))
            Counts of rows.
        """
        key = f"coalesce(CAST({quoted(group)} AS VARCHAR), '')" if group else "''"
        right = f"length(token) = {size} AND regexp_full_match(token, '[01]+')"
        if chosen is not None:
            right += f" AND length(replace(token, '0', '')) = {chosen}"
        told = f"(SELECT {key} AS key, {self._text()} AS token FROM {self._relation})"
        found = {
            str(name): (int(missing), int(off), [int(good)] + [0] * size)
            for name, missing, off, good in self._rows(
                f"SELECT key, count(*) FILTER (WHERE token = ''), count(*) FILTER (WHERE NOT good AND token <> ''), "
                f"count(*) FILTER (WHERE good) FROM (SELECT key, token, {right} AS good FROM {told}) GROUP BY key"
            )
        }
        for start in range(0, size, PIECE):
            for name, piece, times in self._rows(
                f"SELECT key, substr(token, {start + 1}, {PIECE}) AS piece, count(*) FROM {told} WHERE {right} "
                "GROUP BY key, piece"
            ):
                sums = found[str(name)][2]
                for place, character in enumerate(piece, start + 1):
                    if character == "1":
                        sums[place] += times
        return [(name, *counts) for name, counts in sorted(found.items())]

    def distinct(self, column: str) -> list[str]:
        """The different values of a column, at most three of them, missing ones as the empty text."""
        return [
            str(value)
            for (value,) in self._rows(
                f"SELECT DISTINCT coalesce(CAST({quoted(column)} AS VARCHAR), '') AS value FROM {self._relation} "
                "ORDER BY value LIMIT 3"
            )
        ]

    def repeated(self, column: str) -> int:
        """Number of distinct values of a column that stand in more than one row, missing values aside."""
        ((found,),) = self._rows(
            f"SELECT count(*) FROM (SELECT 1 FROM {self._relation} WHERE {quoted(column)} IS NOT NULL "
            f"GROUP BY {quoted(column)} HAVING count(*) > 1)"
        )
        return int(found)

    def _text(self) -> str:
        return f"trim(coalesce(CAST({self._column} AS VARCHAR), ''))"

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        import duckdb

        try:
            fetched: list[tuple[Any, ...]] = self._connection.execute(statement).fetchall()
        except duckdb.Error:
            raise SpecError(WORDS) from None
        return fetched


@contextmanager
def opened(path: Path, column: str, *, table: str | None = None) -> Iterator[Column]:
    """A column of ``*.csv``, ``*.parquet`` or, with ``table``, ``*.duckdb``.

    Parameters
    ----------
    path : Path
        A CSV, Parquet or DuckDB file.
    column : str
    table : str, optional
        Table of a DuckDB file.

    Returns
    -------
    iterator of one Column

    Raises
    ------
    SpecError
        Where the file or the columns are not there.
    """
    import duckdb

    ending = path.suffix.lower()
    if not path.is_file() or ending not in (".csv", ".parquet", ".duckdb"):
        raise SpecError(f"{path.name} is no .csv, .parquet or .duckdb file that can be read")
    if (ending == ".duckdb") != (table is not None):
        raise SpecError("name the table of a .duckdb file, and of no other")
    place = _literal(path, pattern=ending != ".duckdb")
    try:
        connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"})
    except duckdb.Error:
        raise SpecError(WORDS) from None
    try:
        relation = _relation(connection, ending, place, table)
        yield Column(connection, relation, column)
    finally:
        connection.close()


def _literal(path: Path, *, pattern: bool) -> str:
    """A path as text in SQL; where the engine reads patterns, one that means this file and no other."""
    text = re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", str(path)) if pattern else str(path)
    return text.replace("'", "''")


def _relation(connection: Any, ending: str, place: str, table: str | None) -> str:
    import duckdb

    try:
        if table is not None:
            connection.execute(f"ATTACH '{place}' AS answers (READ_ONLY)")
            return f"answers.{quoted(table)}"
    except duckdb.Error:
        raise SpecError(WORDS) from None
    if ending == ".csv":
        return f"read_csv('{place}', header = true, all_varchar = true, auto_detect = true)"
    return f"read_parquet('{place}')"


def quoted(name: str) -> str:
    """A name as SQL."""
    return '"' + name.replace('"', '""') + '"'
