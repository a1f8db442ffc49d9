"""Cells of long answers by columns: a file of either form is one certificate, and a broken one is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.certificate import cell_columns
from reticent.certificate.cell_columns import FEWEST, expanded, written
from reticent.certificate.certificate import Certificate, read_certificate
from reticent.errors import CheckError

KEYS = [f"k{number:04d}" for number in range(600)]


@pytest.fixture(scope="module")
def made() -> Certificate:
    """Counts and means of 600 keys, some of them no reply, two columns of keys, and dates."""
    generator = np.random.default_rng(1)
    rows = {
        "g": generator.choice(KEYS[:300], 6_000),
        "s": generator.choice(["f", "m"], 6_000),
        "x": generator.integers(0, 100, 6_000),
        "d": np.datetime64("2024-01-01") + generator.integers(0, 300, 6_000),
    }
    columns: dict[str, Any] = {
        "g": rt.category(KEYS),
        "s": rt.category(["f", "m"]),
        "x": rt.integer(0, 100),
        "d": rt.date("2024-01-01", "2024-12-31"),
    }
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget=10)
    asked = ["count by g", "mean(x) by g", "count by g, s", "mean(d)", "count by s", "median(d) by g"]
    with pytest.warns(UserWarning, match="No reply is likely"):
        return study.release(asked, epsilon=10).certificate


@pytest.mark.wide
def test_a_file_by_columns_is_the_certificate_it_was_written_of(made: Certificate) -> None:
    text = made.to_json()
    again = read_certificate(text)
    assert again == made
    assert again.digest == made.digest
    assert again.answers == made.answers
    kinds = [type(answer["cells"]) for answer in json.loads(text)["answers"]]
    assert kinds == [dict, dict, dict, list, list, dict]
    outcomes = {cell["outcome"] for cell in made.document["answers"][1]["cells"]}
    assert outcomes == {"reply", "no_reply"}


@pytest.mark.wide
def test_a_file_by_cells_is_read_as_before(made: Certificate) -> None:
    assert read_certificate(json.dumps(made.document)) == made


def test_totals_have_fewer_labels_than_groups() -> None:
    """A total by one column lacks the key of the other, and that of all has none."""
    rows = {"g": [f"{number:03d}" for number in range(100)] * 2, "s": ["f", "m"] * 100}
    columns: dict[str, Any] = {"g": rt.category(rows["g"][:100]), "s": rt.category(["f", "m"])}
    study = rt.study(rows, adjacency="add_remove", columns=columns, budget=2)
    made = study.release(["count by g, s with totals"], epsilon=1).certificate
    text = made.to_json()
    (answer,) = json.loads(text)["answers"]
    assert answer["cells"]["labels"] == ["g", "s"]
    assert answer["cells"]["rows"] == 303
    assert read_certificate(text) == made


@pytest.mark.wide
def test_a_count_by_a_listed_key_takes_at_most_64_bytes() -> None:
    """The digest, the proof and the list of declared keys are counted too."""
    study = rt.study(
        {"g": [f"{number:05d}" for number in range(5_000)] * 2},
        adjacency="add_remove",
        columns={"g": rt.category([f"{number:05d}" for number in range(5_000)])},
        budget=2,
    )
    text = study.release(["count by g"], epsilon=1).certificate.to_json()
    assert len(text) <= 64 * 5_000


def test_numbers_keep_their_types() -> None:
    """A column of 1, 1.0 and true is no column of one value: canonical JSON tells them apart."""
    cells = [
        {"label": [["g", place]], "outcome": "reply", "value": [1, 1.0, True][place % 3]} for place in range(FEWEST)
    ]
    document = {"answers": [{"cells": cells}]}
    found = expanded(json.loads(written(document)))
    assert json.dumps(found) == json.dumps(document)


@pytest.mark.parametrize("odd", ["\N{NULL}0", "\N{NULL}"])
def test_a_text_that_looks_like_a_mark_is_written_by_cells(odd: str) -> None:
    cells = [{"label": [["g", f"{odd}{place}"]], "outcome": "no_reply"} for place in range(FEWEST)]
    document = {"name": odd, "answers": [{"cells": cells}]}
    assert expanded(json.loads(written(document))) == document


@pytest.mark.parametrize(
    "cells",
    [
        [{"label": [["g", 1]], "outcome": None}] * FEWEST,
        [{"label": [["g", 1], ["g", 2]], "outcome": "no_reply"}] * FEWEST,
        [{"label": [["g", 1], ["h", 2]][:: 1 - 2 * (place % 2)], "outcome": "no_reply"} for place in range(FEWEST)],
        [{"label": [["g", 1]], "outcome": "reply", "a.b": 1}] * FEWEST,
        [{"label": [["g", 1]], "outcome": "reply", "a": {}}] * FEWEST,
    ],
    ids=["null", "one name twice", "labels in another order", "a dot", "an empty part"],
)
def test_cells_that_are_no_table_stay_cells(cells: list[dict[str, Any]]) -> None:
    document = {"answers": [{"cells": cells}]}
    assert json.loads(written(document)) == document


def _shorter(table: dict[str, Any]) -> None:
    next(iter(table["columns"].values())).pop()


def _many(table: dict[str, Any]) -> None:
    table |= {"rows": 10**12, "columns": {}}


def _long(table: dict[str, Any]) -> None:
    table |= {"rows": 10**5, "columns": {}, "every": {"label 0": "a", "outcome": "x" * 10**4}}


def _deep(table: dict[str, Any]) -> None:
    table |= {"rows": 10**5, "columns": {}, "every": {"label 0": "a", "a" + ".a" * 200: 1}}


def _twice(table: dict[str, Any]) -> None:
    """Which of the two a reader takes would be its own affair."""
    table["every"][next(iter(table["columns"]))] = 1


def _unlabelled(table: dict[str, Any]) -> None:
    del table["columns"]["label 0"]


def _nested(table: dict[str, Any]) -> None:
    table["every"]["value.low"] = 1
    table["every"]["value"] = 1


@pytest.mark.wide
@pytest.mark.loop(2)
@pytest.mark.parametrize(
    "change",
    [
        _shorter,
        _many,
        _long,
        _deep,
        _twice,
        _unlabelled,
        _nested,
        lambda table: table.update(rows=-1),
        lambda table: table.update(rows=True, columns={"label 0": ["a"]}),
        lambda table: table.update(note="no part of the digest"),
        lambda table: table["every"].update(note=None),
        lambda table: table["columns"].update(note=[None] * table["rows"]),
        lambda table: table.update(labels="g"),
        lambda table: table.update(every=[]),
        lambda table: table.update(columns=None),
        lambda table: table.pop("rows"),
    ],
)
def test_columns_that_make_no_table_are_malformed(
    made: Certificate, change: Callable[[dict[str, Any]], object]
) -> None:
    document = json.loads(made.to_json())
    changed = copy.deepcopy(document)
    change(changed["answers"][0]["cells"])
    with pytest.raises(CheckError, match="malformed"):
        read_certificate(json.dumps(changed))


@pytest.mark.wide
def test_all_tables_of_a_file_share_the_limit(monkeypatch: pytest.MonkeyPatch, made: Certificate) -> None:
    monkeypatch.setattr(cell_columns, "LARGEST", 1_000_000)
    for answer in json.loads(made.to_json())["answers"]:
        assert isinstance(expanded({"answers": [answer]})["answers"][0]["cells"], list)
    with pytest.raises(CheckError, match="malformed"):
        read_certificate(made.to_json())
