"""Rebuild the table of ``reticent demo`` from the copy of the RAND data that statsmodels installs.

    python benchmarks/make_demo_data.py        # needs statsmodels, polars; writes src/reticent/demo/randhie.parquet

The shape of the table is checked before it is written. Nothing is rounded, filled in or left out but columns.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import polars as pl

COLUMNS = {
    "zper": pl.Int64,
    "site": pl.Int64,
    "year": pl.Int64,
    "female": pl.Int64,
    "child": pl.Int64,
    "xage": pl.Float64,
    "educdec": pl.Float64,
    "income": pl.Float64,
    "mdvis": pl.Int64,
    "meddol": pl.Float64,
    "disea": pl.Float64,
    "ghindx": pl.Float64,
    "hlthg": pl.Int64,
    "hlthf": pl.Int64,
    "hlthp": pl.Int64,
}
ROWS, PERSONS, MOST_ROWS = 20_190, 5_912, 5
TARGET = Path(__file__).parents[1] / "src" / "reticent" / "demo" / "randhie.parquet"


def source() -> Path:
    """The CSV file inside an installed statsmodels."""
    found = importlib.util.find_spec("statsmodels")
    if found is None or found.origin is None:
        raise SystemExit("statsmodels is not installed: pip install statsmodels")
    return Path(found.origin).parent / "datasets" / "randhie" / "src" / "randhie.csv"


def read(path: Path) -> pl.DataFrame:
    """The columns of the demonstration, with missing cells as nulls, persons and years in order."""
    table = pl.read_csv(path, columns=list(COLUMNS), schema_overrides=COLUMNS, null_values=["", "."])
    return table.select(list(COLUMNS)).sort("zper", "year")


def check(table: pl.DataFrame) -> None:
    """Stop unless the table is the one the demonstration describes."""
    per_person = table.group_by("zper").len()["len"]
    found = (table.height, per_person.len(), per_person.min(), per_person.max())
    if found != (ROWS, PERSONS, 1, MOST_ROWS):
        raise SystemExit(f"unexpected shape: {found}")
    if table.select(pl.col("site").n_unique().over("zper").max()).item() != 1:
        raise SystemExit("a person has two sites")
    if table["ghindx"].null_count() == 0 or table["zper"].null_count() != 0:
        raise SystemExit("missing values are not where they were")


def main() -> None:
    table = read(source())
    check(table)
    table.write_parquet(TARGET, compression="zstd", compression_level=19, statistics=False)
    print(f"wrote {TARGET.name}: {table.height:,} rows, {len(table.columns)} columns, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
