"""``registry``: the ledgers of a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.cli import exit_codes, layout, options
from reticent.cli.options import write_new
from reticent.cli.parser import PATH, Verb, argument
from reticent.privacy.loss import words
from reticent.study import inventory

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.cli.table import Passage
    from reticent.study.inventory import Holding


@click.command("registry", cls=Verb)
@argument(
    "folder",
    type=PATH,
    required=False,
    default=Path(),
    metavar="FOLDER",
    help="Where to look, with all folders in it; by default here.",
)
@click.option("--csv", type=PATH, metavar="FILE", help="Write every request, one line each, as CSV.")
@click.option(
    "--public", type=PATH, metavar="FILE", help="Write entries of a public registry: no path, no fingerprint."
)
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("reading the ledgers")
def registry(voice: Voice, folder: Path, csv: Path | None, public: Path | None) -> None:
    """Every ledger of a folder: what was approved, spent and left, and who spent it. No row is read."""
    found = inventory.holdings(folder)
    if csv is not None:
        write_new(csv, inventory.sheet(found))
    if public is not None:
        write_new(public, json.dumps(inventory.public_entries(found), ensure_ascii=False, indent=2) + "\n")
    voice.result(
        {"verb": "registry", "ledgers": [inventory.document(one) for one in found]},
        *_parts(found, folder),
        *(f"wrote {path}" for path in (csv, public) if path is not None),
    )
    raise click.exceptions.Exit(exit_codes.CHECK if any(one.ledger is None for one in found) else exit_codes.DONE)


def _parts(found: Sequence[Holding], folder: Path) -> list[Passage]:
    if not found:
        return [f"There is no ledger below {'this folder' if folder == Path() else folder}."]
    rows, broken = [], []
    for one in found:
        place = _seen(one.path, folder)
        if one.ledger is None:
            broken.append(("FAILED", f"{place}: {one.problem}"))
            continue
        ledger = one.ledger
        until = "closed" if ledger.closed else "" if ledger.ends is None else ledger.ends.isoformat()
        spenders = ", ".join(f"{who} {words(loss)}" for who, loss in one.spenders) or "–"
        budget, left = words(ledger.budget), words(ledger.left())
        rows.append((ledger.title, place, budget, left, str(len(ledger.releases())), spenders, until))
    heads = ("study", "ledger", "approved", "left", "requests", "spent by", "until")
    table = [layout.columns(heads, rows, right=(4,), wrap=(0, 1, 5))] if rows else []
    return [*table, *([layout.fields(broken)] if broken else [])]


def _seen(path: Path | str, folder: Path) -> str:
    """The path as seen from the folder that was named, where it lies in it; a URL as it is."""
    if isinstance(path, str):
        return path
    return str(path.relative_to(folder.resolve())) if path.is_relative_to(folder.resolve()) else str(path)
