"""A small private table, its study file, and two ways to run the command line on them."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from click.testing import CliRunner

from reticent.cli.app import app

CANARIES: Final = ("HIV-positive", "canary-7731", "918273645")

STUDY: Final = """
[study]
title = "clinic"
source = "clinic.csv"
ledger = "clinic.ledger"

[person]
column = "pid"
rows = { at_most = 3 }
adjacency = "add_remove"

[budget]
epsilon = "3"
delta = "1e-8"
approved = "board"

[columns.age]
kind = "integer"
low = 0
high = 100

[columns.cost]
kind = "real"

[columns.town]
kind = "category"
among = ["a", "b"]
constant = true

[[release]]
name = "table 4"
epsilon = "1"
ask = ["count", "mean(age)", "persons by town"]

[[release]]
name = "tail"
epsilon = "0.1"
ask = ["quantile(cost, 0.99)"]
"""


@dataclass(frozen=True, slots=True)
class Run:
    """How one command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as the one JSON object it must be."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found

    @property
    def said(self) -> str:
        """Both streams with every break of a line taken out."""
        return words(self.out + self.err)


def words(text: str) -> str:
    """A text with one blank wherever it has white space: how tests compare prose, which is broken into lines."""
    return " ".join(text.split())


def run(*typed: str, typed_in: str = "") -> Run:
    """A command in this process, by click's own runner."""
    result = CliRunner().invoke(app, list(typed), input=typed_in, prog_name="reticent")
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return Run(result.exit_code, result.stdout, result.stderr)


def streamed(*typed: str, answer: str | None = None, encoding: str = "utf-8") -> Run:
    """A command in this process, with streams as a process of its own has them.

    Standard input is a terminal where somebody has typed an ``answer``, and nothing where nobody has.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True) for _ in range(2))
    master, slave = os.openpty() if answer is not None else (None, os.open(os.devnull, os.O_RDONLY))
    if master is not None:
        os.write(master, f"{answer}\n".encode())
    code: object = 0
    with open(slave) as read, patch.multiple(sys, stdin=read, stdout=out, stderr=err):
        try:
            app(list(typed), prog_name="reticent")
        except SystemExit as leaving:
            code = leaving.code
    if master is not None:
        os.close(master)
    assert isinstance(code, int)
    shown, said = (stream.buffer.getvalue().decode(encoding) for stream in (out, err))
    return Run(code, shown, said)


def clinic(folder: Path, people: int = 400) -> Path:
    """A study file beside a table of ``people`` persons with bad cells in it; returns the study file."""
    rows = ["pid,age,cost,town,diagnosis"]
    for number in range(people):
        age = "HIV-positive" if number % 97 == 0 else str(20 + number % 60)
        cost = CANARIES[2] if number % 89 == 0 else f"{number % 53}.5"
        rows += [f"{CANARIES[1]}-{number},{age},{cost},{'ab'[number % 2]},HIV-positive"] * (1 + number % 2)
    (folder / "clinic.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    study = folder / "clinic.toml"
    study.write_text(STUDY, encoding="utf-8")
    return study


def leaks(texts: Sequence[str]) -> list[str]:
    """The canaries found in any of the texts."""
    return [canary for canary in CANARIES if any(canary in text for text in texts)]
