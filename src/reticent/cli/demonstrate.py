"""``demo``: the whole of it once, on a table that everyone may look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.cli import layout, options
from reticent.cli.ledgers import ledger_parts
from reticent.cli.parser import PATH, Verb
from reticent.cli.release import watched
from reticent.demo import prepare, publish
from reticent.privacy.convert import epsilon_delta
from reticent.privacy.loss import words
from reticent.privacy.numbers import show

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.cli.table import Passage
    from reticent.demo import Demonstration

OWN: tuple[tuple[str, str], ...] = (
    ("reticent init FILE.csv", "writes FILE.toml, for you to fill in; no row is read"),
    ("reticent plan FILE.toml", "what it would cost and give; free"),
    ("reticent release FILE.toml", "publishes: answers, page, certificate"),
)


@click.command("demo", cls=Verb)
@click.option("--out", "-o", type=PATH, metavar="DIR", help="A new folder; by default reticent-demo.")
@options.quiet
@options.as_json
@click.pass_obj
def demo(voice: Voice, out: Path | None) -> None:
    """Publish a public table as if it were private: answers, certificate, page, ledger. Takes a few seconds."""
    voice.spends = True
    folder = prepare(out)
    voice.stage(f"write {folder}")
    voice.charged = "unknown"
    found = publish(folder, lambda study: watched(study, voice))
    voice.end_line()
    voice.charged = words(found.release.certificate.charged)
    voice.result(_document(found), *_answers(found), *_meaning(found), *_records(found), *_own())


def _document(found: Demonstration) -> dict[str, object]:
    document = found.release.certificate.document
    return {
        "verb": "demo",
        "folder": str(found.folder),
        "release": found.release.receipt,
        "charged": document["charged"],
        "left": document["budget"]["left"],
        "answers": [
            {**answer, "cells": [{**cell, "truth": true} for cell, true in zip(answer["cells"], truth, strict=True)]}
            for answer, truth in ((answer, found.truth[answer["name"]]) for answer in document["answers"])
        ],
        "verified": found.verification.ok,
        "files": [str(path) for path in found.files],
    }


def _answers(found: Demonstration) -> list[Passage]:
    certificate = found.release.certificate
    spent, budget = (show(epsilon_delta(loss)[0]) for loss in (certificate.charged, found.study.spec.budget.loss))
    return [
        f"{found.study.title}: 20,190 rows about 5,912 people, in {found.folder}/. The table is public, so this once "
        "you see the truth beside the answer; a release about private rows never shows it.",
        f"\nOne release with ε {spent}, of the ε {budget} that may ever be spent. It protects each person with all "
        "their rows, at most 5.\n",
        layout.answers(found.release.answers, found.truth),
        "",
        layout.fields([("no reply", layout.ASK_WHY), *layout.under("note", certificate.caveats)]),
    ]


def _meaning(found: Demonstration) -> list[Passage]:
    lines = found.release.certificate.explain(prior=0.1).split("\n")
    return ["\nWhat the release means for each person in the table", layout.fields(("-", line) for line in lines)]


def _records(found: Demonstration) -> list[Passage]:
    names = ", ".join(path.name for path in found.files)
    return [
        "\nThe ledger, charged before a row was read",
        *ledger_parts(found.study.ledger),
        f"\nThe certificate, signed with a throw-away key made for this run ({found.private.name}), and checked again",
        layout.fields((check.state, check.words) for check in found.verification.checks),
        f"\nwrote {names} in {found.folder}/. Open {found.folder}/table4.html",
    ]


def _own() -> list[Passage]:
    return ["\nOn your own file", *(f"  {command:<28} {does}" for command, does in OWN)]
