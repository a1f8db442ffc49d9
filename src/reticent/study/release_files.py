"""Files and data frame of a release: everything here is post-processing of its certificate and its answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.certificate.record import cell_to_json
from reticent.errors import PublicParameterError
from reticent.outcome import Reply
from reticent.statistics.answer import Answer, Cell

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.certificate.certificate import Certificate

FILES: Final = (".csv", ".json", ".html", ".svg")
WORKBOOK: Final = ".xlsx"
CELLS: Final = ".cells.csv"
NUMBERS: Final = ("value", "low", "high", "noise", "sampling", "level")  # of a cell, in the order of a certificate
PICTURES: Final = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".eps")  # which Matplotlib writes
ALWAYS: Final = (*FILES, ".pdf", WORKBOOK)  # whatever was released
KNOWN: Final = (CELLS, *ALWAYS)  # the longest first


def parted(path: Path, among: Sequence[str] = KNOWN) -> tuple[Path, str]:
    """The stem of a path and the ending of a release's file that it has; no ending where it has none of them."""
    for ending in among:
        if path.name.lower().endswith(ending) and len(path.name) > len(ending):
            return path.with_name(path.name[: -len(ending)]), ending
    return path, ""


def named(path: Path, files: str | Sequence[str] | None) -> tuple[Path, tuple[str, ...]]:
    """The stem and the endings of the files wanted; a path with an ending names that one file.

    Raises
    ------
    PublicParameterError
        A path with one ending, and a list of others.
    """
    stem, ending = parted(path, (*KNOWN, *PICTURES))
    if files is None:
        return stem, (ending,) if ending else FILES
    listed = (files,) if isinstance(files, str) else tuple(files)
    endings = tuple(one if one.startswith(".") else f".{one}" for one in listed)
    if ending and ending not in endings:
        raise PublicParameterError(f"{path.name} names one file: leave files out, or {ending} out of the name")
    return stem, endings


def save(
    certificate: Certificate,
    stem: Path,
    suffixes: Sequence[str],
    put: Callable[[Path, bytes], None] | None = None,
) -> tuple[Path, ...]:
    """Write the files of a release beside each other, in place of those there unless ``put`` refuses to.

    Parameters
    ----------
    certificate : Certificate
        Certificate of the release, which has its answers.
    stem : Path
        Path of the files without their endings.
    suffixes : sequence of str
        Endings, such as ".csv".
    put : function, optional
        Writes bytes to a path; it may refuse to.

    Returns
    -------
    tuple of Path
        The files written.

    Raises
    ------
    PublicParameterError
        An ending that no file of a release has.
    SpecError
        A file that holds rows under a ledger; nothing is written then.
    """
    from reticent import atomic_file
    from reticent.certificate.render.cells import cells
    from reticent.certificate.render.figure import pdf, svg
    from reticent.certificate.render.page import page
    from reticent.certificate.render.tables import sheet
    from reticent.certificate.render.workbook import workbook
    from reticent.ledger.fingerprint import refuse_replacing

    figure = cache(partial(svg, certificate))  # takes as long as all else
    contents: dict[str, Callable[[], bytes]] = {
        ".csv": lambda: sheet(certificate).encode(),
        ".json": lambda: certificate.to_json().encode(),
        ".html": lambda: page(certificate, drawn=figure).encode(),
        ".svg": lambda: figure().encode(),
        ".pdf": lambda: pdf(certificate),
        WORKBOOK: lambda: workbook(certificate),
        CELLS: lambda: cells(certificate).encode(),
    }
    unknown = [suffix for suffix in suffixes if suffix not in contents]
    if unknown:
        drawn = [one for one in unknown if one.lower() in PICTURES]
        picture = f'. For a picture: release.plot().savefig("{stem.name}{drawn[0]}")' if drawn else ""
        raise PublicParameterError(f"a release is saved as {', '.join(KNOWN)}; got {', '.join(unknown)}{picture}")
    made = {stem.with_name(stem.name + suffix): contents[suffix]() for suffix in suffixes}
    for path in made:
        refuse_replacing(path)
    stem.parent.mkdir(parents=True, exist_ok=True)
    for path, content in made.items():
        (put or atomic_file.replace)(path, content)
    return tuple(made)


def table(answers: Sequence[Answer]) -> pa.Table:
    """One row for each cell of the answers, with the columns of the CSV of a release where both have them."""
    import pyarrow as pa

    rows = [_row(answer, cell) for answer in answers for cell in answer]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _one_type([row.get(name) for row in rows]) for name in names}
    empty = {name for name in NUMBERS if all(value is None for value in columns.get(name, ()))}
    return pa.table(
        {name: pa.array(column, pa.float64() if name in empty else None) for name, column in columns.items()}
    )


def _row(answer: Answer, cell: Cell) -> dict[str, object]:
    from reticent.certificate.render.tables import beside

    shown = cell_to_json(cell)
    ends = cell.outcome.value.dates if isinstance(cell.outcome, Reply) and cell.outcome.value.step else ()
    dates = dict(zip(("date", "date_low", "date_high"), ends if answer.has_interval(cell) else ends[:1], strict=False))
    shown = {name: value for name, value in shown.items() if name not in ("label", "error", "dates", "step", "unit")}
    if not answer.has_interval(cell):
        shown |= dict.fromkeys(NUMBERS[1:])
    share = None if answer.incomplete is None else answer.incomplete.outcome
    incomplete = share.value.value if isinstance(share, Reply) else None
    outcome = {"outcome": shown.pop("outcome"), **dict.fromkeys(NUMBERS)}
    told = {**outcome, **shown, **dates, "incomplete": incomplete}
    heads = beside([name for name, _ in cell.label], ("name", *told))
    return {"name": answer.name, **{heads[name]: label for name, label in cell.label}, **told}


def _one_type(column: list[object]) -> list[object]:
    """Labels of one column name can be numbers in one answer and text in another: then all become text."""
    if len({type(value) for value in column if value is not None}) <= 1:
        return column
    return [None if value is None else str(value) for value in column]
