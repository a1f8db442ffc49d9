"""Workbooks written by hand, as no program writes them, and the rows that a source has."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

from reticent.data.source import Source

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def workbook(
    path: Path,
    rows: str,
    *,
    texts: str = "",
    formats: Sequence[str] = (),
    sheets: Sequence[str] = ("Visits",),
    book: str = "",
    parts: dict[str, str] | None = None,
) -> Path:
    """A workbook whose every sheet has ``rows`` as its XML; style n + 1 has the n-th of ``formats``."""
    listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, 1))
    relations = "".join(
        f'<Relationship Id="r{n}" Type="{RELATIONS}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    relations += f'<Relationship Id="s" Type="{RELATIONS}/styles" Target="/xl/styles.xml"/>'
    relations += f'<Relationship Id="t" Type="{RELATIONS}/sharedStrings" Target="sharedStrings.xml"/>' if texts else ""
    codes = "".join(f'<numFmt numFmtId="{200 + n}" formatCode="{code}"/>' for n, code in enumerate(formats))
    styles = "".join(f'<xf numFmtId="{200 + n}"/>' for n in range(len(formats)))
    held = {
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}"><Relationship Id="a" Type="{RELATIONS}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}">{book}<sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{relations}</Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts>{codes}</numFmts><cellStyleXfs><xf numFmtId="14"/>'
        f'</cellStyleXfs><cellXfs><xf numFmtId="0"/>{styles}</cellXfs></styleSheet>',
    }
    if texts:
        held["xl/sharedStrings.xml"] = f'<sst xmlns="{MAIN}">{texts}</sst>'
    for n in range(1, len(sheets) + 1):
        held[f"xl/worksheets/sheet{n}.xml"] = (
            f'<worksheet xmlns="{MAIN}"><cols><col min="1"/></cols><sheetData>{rows}</sheetData></worksheet>'
        )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in {**held, **(parts or {})}.items():
            package.writestr(name, text)
    return path


def rows_in(source: Source, *names: str) -> list[tuple[object, ...]]:
    """The rows of a source, by batches of declared columns."""
    found: list[tuple[object, ...]] = []
    for batch in source.batches(names):
        found += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return found
