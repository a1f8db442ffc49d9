"""Cells of long answers by columns, as a certificate's file holds them: about 40 bytes for a count by group.

    written(document)   the text of a file; an answer of 100 cells or more by columns
    expanded(document)  the document of a file, all answers by cells

The document has cells, and so have its digest and its signature: a file in either form is the same certificate
(docs/reference/certificate.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from reticent.certificate import schema
from reticent.certificate.schema import canonical
from reticent.errors import CheckError

FEWEST: Final = 100  # cells of an answer that is written by columns
LARGEST: Final = 4 * schema.LARGEST  # characters of all cells: a file of few bytes may state many
CELL: Final = 100  # characters that a cell counts for beside its text, and each of its parts
LINE: Final = 20  # entries of a column on one line
MARK: Final = "\N{NULL}"  # before the number of a column, until its entries stand there
PARTS: Final = {"rows": int, "labels": list, "every": dict, "columns": dict}
BROKEN: Final = "This certificate is malformed: the columns of its cells do not make a table."


def written(document: Mapping[str, Any]) -> str:
    """The text of a file: indented, and the columns of long answers on lines of their own.

    Parameters
    ----------
    document : mapping
        Content of a certificate, in the order of its fields.

    Returns
    -------
    str
        JSON text.
    """
    columns: list[Sequence[object]] = []
    answers = document["answers"]
    if any(len(answer["cells"]) >= FEWEST for answer in answers) and b"\\u0000" not in canonical(document):
        answers = [_by_columns(answer, columns) for answer in answers]
    text = json.dumps({**document, "answers": answers}, indent=2, ensure_ascii=False, allow_nan=False)
    for place, column in enumerate(columns):
        text = text.replace(json.dumps(f"{MARK}{place}"), _listed(column), 1)
    return text + "\n"


def expanded(document: dict[str, Any]) -> dict[str, Any]:
    """The document with all answers by cells; what is no answer by columns stays for the check of the form.

    Parameters
    ----------
    document : dict
        A JSON object.

    Returns
    -------
    dict

    Raises
    ------
    CheckError
        For columns of unlike lengths, names that stand twice, or more cells than can be held.
    """
    answers = document.get("answers")
    if not isinstance(answers, list):
        return document
    found, left = [], LARGEST
    for answer in answers:
        cells = answer.get("cells") if isinstance(answer, dict) else None
        if isinstance(cells, dict):
            left -= _size(cells)
            if left < 0:
                raise CheckError(BROKEN)
            found.append({**answer, "cells": _by_cells(cells)})
        else:
            found.append(answer)
    return {**document, "answers": found}


# --- writing ----------------------------------------------------------------------------------------------------------


def _by_columns(answer: Mapping[str, Any], columns: list[Sequence[object]]) -> Mapping[str, Any]:
    """An answer whose columns are marks, put at the end of ``columns``; as it is where cells say more than a table."""
    cells = answer["cells"]
    if len(cells) < FEWEST:
        return answer
    labels = [dict(cell["label"]) for cell in cells]
    keys = list(dict.fromkeys(name for label in labels for name in label))
    flat = [dict(_leaves({name: value for name, value in cell.items() if name != "label"})) for cell in cells]
    names = list(dict.fromkeys(name for cell in flat for name in cell))
    table: dict[str, Any] = {"rows": len(cells), "labels": keys, "every": {}, "columns": {}}
    found = {f"label {place}": [label.get(name) for label in labels] for place, name in enumerate(keys)}
    found |= {name: [cell.get(name) for cell in flat] for name in names}
    for name, column in found.items():
        alike = len({json.dumps(value) for value in column}) == 1
        table["every" if alike else "columns"][name] = column[0] if alike else column
    if canonical(_by_cells(table)) != canonical(cells):
        return answer
    for name, column in table["columns"].items():
        table["columns"][name] = f"{MARK}{len(columns)}"
        columns.append(column)
    return {**answer, "cells": table}


def _leaves(cell: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    """The entries of a cell by their paths: ``error.scales`` of ``error``."""
    for name, value in cell.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _listed(column: Sequence[object]) -> str:
    """A list of JSON, so many entries on a line."""
    lines = (column[start : start + LINE] for start in range(0, len(column), LINE))
    return "[" + ",\n".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False)[1:-1] for line in lines) + "]"


# --- reading ----------------------------------------------------------------------------------------------------------


def _size(table: Mapping[str, Any]) -> int:
    """At most the characters of a table's cells, and ``CELL`` more for each cell and each part of one.

    Raises
    ------
    CheckError
        For what is no table: a part too much or too few, a name that stands twice, and what says nothing.
    """
    if table.keys() != PARTS.keys() or any(type(table[name]) is not kind for name, kind in PARTS.items()):
        raise CheckError(BROKEN)
    rows: int = table["rows"]
    labels, every, columns = table["labels"], table["every"], table["columns"]
    if rows < 0 or every.keys() & columns.keys() or None in every.values():
        raise CheckError(BROKEN)
    for column in columns.values():
        if type(column) is not list or len(column) != rows or all(cell is None for cell in column):
            raise CheckError(BROKEN)
    each = len(canonical([labels, every, [*columns]]))
    parts: int = 1 + sum(name.count(".") for name in (*every, *columns))
    return rows * (CELL * parts + each) + len(canonical([*columns.values()]))


def _by_cells(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cells of a table.

    Raises
    ------
    CheckError
        For a label without a column, and a value where others have a part.
    """
    labels, every, columns = table["labels"], table["every"], table["columns"]
    found: list[dict[str, Any]] = []
    for place in range(table["rows"]):
        flat = {**every, **{name: column[place] for name, column in columns.items()}}
        try:
            keys = [(name, flat.pop(f"label {number}")) for number, name in enumerate(labels)]
        except KeyError:
            raise CheckError(BROKEN) from None
        cell: dict[str, Any] = {"label": [[name, key] for name, key in keys if key is not None]}
        for name, value in flat.items():
            if value is not None:
                _put(cell, name.split("."), value)
        found.append(cell)
    return found


def _put(cell: dict[str, Any], path: Sequence[str], value: object) -> None:
    """Put a value into a cell at its path."""
    for name in path[:-1]:
        cell = cell.setdefault(name, {})
        if not isinstance(cell, dict):
            raise CheckError(BROKEN)
    if path[-1] in cell:
        raise CheckError(BROKEN)
    cell[path[-1]] = value


__all__ = ["expanded", "written"]
