"""A plan in Python doubts a decimal point between semicolons, as ``check`` does of a study file."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import reticent as rt


def _opened(folder: Path, sign: str, **told: str) -> list[str]:
    (folder / "t.csv").write_text(f"x{sign}y\n1,5{sign}2\n", "utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rt.study(
            str(folder / "t.csv"),
            rows_each=1,
            adjacency="add_remove",
            budget=1,
            columns={"x": rt.real(0, 9), "y": rt.integer(0, 9)},
            delimiter=sign,
            ledger=None,
            **told,  # type: ignore[arg-type]  # decimal alone
        ).plan(["mean(x)"], epsilon=1)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("sign", "told", "doubted"),
    [(";", {}, True), (";", {"decimal": "."}, False), (";", {"decimal": ","}, False), (",", {}, False)],
)
def test_a_decimal_point_between_semicolons_is_doubted_once(
    sign: str, told: dict[str, str], doubted: bool, tmp_path: Path
) -> None:
    said = [one for one in _opened(tmp_path, sign, **told) if "numbers are often 1234,5" in one]
    assert len(said) == doubted
    assert all('decimal=","' in one for one in said)
