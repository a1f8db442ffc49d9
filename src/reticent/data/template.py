"""Template of a study file for ``init``, from names and types alone, with the bounds left empty on purpose.

Bounds, lists of values, the person and the budget are public facts that only the curator can state. They are never
filled in from the file: a minimum, a maximum or a list of values found there is somebody's value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from reticent.data.format import PLAIN, Format
from reticent.data.header import check_header
from reticent.data.source import fields_of


def skeleton(
    source: str | Path, *, delimiter: str = ",", form: Format = PLAIN, header: Literal["names", "unsure"] = "unsure"
) -> str:
    """A study file to fill in, from the header or the Parquet schema alone; bounds are left out on purpose.

    Parameters
    ----------
    source : path
    delimiter, form
        How the file is written; what is not the default is written into the study file.
    header : "names" or "unsure"
        "names": the curator has looked, and the first line holds names although one looks like a value.

    Raises
    ------
    SpecError
        Where the source is missing or no table, or its first line looks like a row.
    """
    path = Path(source)
    fields = fields_of(path, delimiter=delimiter, encoding=form.encoding)
    if header == "unsure":
        check_header([name for name, _ in fields], f"The first line of {path.name}")
    names = dict(fields)
    head = (
        "# One file describes the study and what is to be published. It holds public facts only.\n"
        "# Three things only you can say: who a person is, what range a value can have, and the budget.\n\n"
        "[study]\n"
        f"title  = {_quoted(path.stem)}\n"
        f"source = {_quoted(path.name)}\n"
        f"ledger = {_quoted(path.stem + '.ledger')}\n{_written(delimiter, form)}\n"
        "[person]\n"
        '# column  = "person_id"       # who one person is, when a person can have several rows\n'
        '# rows    = "one_each"        # or { at_most = 20 }: rows kept of one person\n'
        '# adjacency = "add_remove"    # hides whether someone is in the file; "substitute" makes their number public\n'
        "# people  = 20000             # optional: the number of people, if it is public\n\n"
        "[budget]\n"
        '# epsilon  = "1"              # text, so that 0.1 means one tenth\n'
        '# delta    = "1e-8"\n'
        '# approved = "…"              # who approved it\n'
    )
    body = "".join(_skeleton_column(name, kind) for name, kind in names.items())
    return head + COLUMNS + body + '\n[[release]]\nname = "first"\n# epsilon = "0.5"\nask = ["count"]\n'


COLUMNS: Final = (
    "\n# Columns. Delete those that nothing is asked of: a column that does not stand here is never read.\n"
    "# No kind is a date or a time: declare a number (days, years) or a category (months) made of it, or delete it.\n"
)


def _written(delimiter: str, form: Format) -> str:
    """The lines of [study] that say how the file is written, where that is not as by default."""
    told = {"delimiter": delimiter, "encoding": form.encoding, "decimal": form.decimal, "thousands": form.thousands}
    usual = {"delimiter": ",", "encoding": PLAIN.encoding, "decimal": PLAIN.decimal, "thousands": PLAIN.thousands}
    lines = [f"{key} = {_quoted(text)}\n" for key, text in told.items() if text != usual[key]]
    if form.na:
        lines.append(f"na = [{', '.join(map(_quoted, form.na))}]\n")
    return "".join(lines)


def _skeleton_column(name: str, kind: str) -> str:
    title = f"\n[columns.{name if re.fullmatch('[A-Za-z0-9_-]+', name) else _quoted(name)}]\n"
    bounds = '# low  = …                   # known without looking at the file\n# high = …\n# why  = "…"\n'
    if kind.startswith(("int", "uint")):
        return f'{title}kind = "integer"\n{bounds}'
    if kind.startswith(("float", "double", "half", "decimal")):
        return f'{title}kind = "real"\n{bounds}'
    if kind.startswith(("timestamp", "time", "duration")):
        return f"{title}# holds times: write them as text or as a number first, or delete these lines\n"
    if kind:
        return f'{title}kind = "category"\n# among = […]                # the public list of values\n'
    return f'{title}# kind = …                   # "real", "integer", or "category" with among = […]\n{bounds}'


def skeleton_words(names: Mapping[str, str], wrote: str) -> str:
    """The words of ``init`` on what it did, and did not do."""
    columns = f"{len(names):,} column{'' if len(names) == 1 else 's'}"
    if any(names.values()):
        looked = (
            "names and types from the Parquet schema. No row was read, and the\n"
            "minima, maxima and row counts that a Parquet footer holds were not shown: they are private values."
        )
    else:
        looked = "names from the first line of the file. No row was read."
    return (
        f"wrote {wrote}: {columns}, {looked}\n"
        "Three things only you can say: who a person is ([person]), what range a value can have ([columns.*]), "
        "the budget ([budget])."
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
