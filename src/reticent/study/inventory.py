"""Inventory of a folder: every ledger, the study it belongs to, and who spent what.

    holdings(folder)         one ``Holding`` for each ledger below the folder, in order of its path or URL
    public_entries(found)    the form of a public registry of deployments: no path, fingerprint or time of a file
    sheet(found)             one line for each request, as CSV

Ledgers and study files are read; sources are not, so no row is.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeGuard

from reticent.certificate.render.tables import safe
from reticent.data.spec import Spec
from reticent.data.study_file import read_spec
from reticent.database_url import is_url
from reticent.errors import Refusal, SpecError
from reticent.ledger import Ledger
from reticent.privacy import filters
from reticent.privacy.loss import Loss, to_json, words

HEADS: Final = ("study", "request", "when", "who", "what", "purpose", "loss", "state")
SUFFIX: Final = ".ledger"


@dataclass(frozen=True, slots=True)
class Holding:
    """A ledger with what was spent from it; ``problem`` says why it could not be read, and then nothing else is known.

    Attributes
    ----------
    path : Path or str
        The ledger's file, or its URL.
    study : Path or None
        The study file that names it, if one is in the folder.
    spenders : tuple of (str, Loss)
        Sum of the charges of each asker, by the plain sum of the ledger's currency.
    """

    path: Path | str
    study: Path | None
    ledger: Ledger | None
    spenders: tuple[tuple[str, Loss], ...] = ()
    problem: str = ""


def holdings(folder: Path) -> tuple[Holding, ...]:
    """Every ``.ledger`` below ``folder``, and every ledger that a study file there names; links are not followed.

    Raises
    ------
    SpecError
        When there is no such folder.
    """
    if not folder.is_dir():
        raise SpecError(f"{folder} is no folder.")
    named: dict[Path | str, Path] = {}
    for file in _below(folder, ".toml"):
        spec = _spec(file)
        if spec is not None and spec.ledger is not None:
            named.setdefault(spec.ledger if is_url(spec.ledger) else Path(spec.ledger).resolve(), file)
    files = {path.resolve() for path in _below(folder, SUFFIX)} | {path for path in named if _is_file(path)}
    places: list[Path | str] = [*sorted(files), *sorted(place for place in named if isinstance(place, str))]
    return tuple(_each_once([_holding(place, named.get(place)) for place in places]))


def _each_once(found: Sequence[Holding]) -> Iterator[Holding]:
    """Holdings, of which a ledger in a database is one, however many roles and addresses name it.

    Two files of one ledger stay two: one of them is a copy that should not be there.
    """
    seen: set[str] = set()
    for one in found:
        if one.ledger is not None and isinstance(one.path, str):
            if one.ledger.identity in seen:
                continue
            seen.add(one.ledger.identity)
        yield one


def _is_file(place: Path | str) -> TypeGuard[Path]:
    return isinstance(place, Path) and place.is_file()


def _below(folder: Path, suffix: str) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(place) / name
            if name.endswith(suffix) and path.is_file() and not path.is_symlink():
                yield path


def _spec(file: Path) -> Spec | None:
    """The study of a file; None for another TOML file, or one that is not finished."""
    try:
        return read_spec(file)
    except SpecError:
        return None


def _holding(path: Path | str, study: Path | None) -> Holding:
    try:
        ledger = Ledger.open(path)
        problems = ledger.verify()
    except Refusal as problem:
        return Holding(path, study, None, problem=str(problem))
    if problems:
        return Holding(path, study, None, problem=problems[0])
    spent: dict[str, Loss] = {}
    for line in ledger.releases():
        if line.charge is not None:
            before = spent.get(line.who, filters.nothing(ledger.budget))
            spent[line.who] = filters.add(before, line.charge, ledger.budget)
    return Holding(path, study, ledger, tuple(spent.items()))


def document(found: Holding) -> dict[str, object]:
    """A holding as plain JSON values, for the curator: it names the files."""
    head: dict[str, object] = {"ledger": str(found.path), "study": None if found.study is None else str(found.study)}
    if found.ledger is None:
        return {**head, "problem": found.problem}
    ledger = found.ledger
    return {
        **head,
        **_entry(ledger),
        "closed": ledger.closed,
        "spenders": {who: to_json(loss) for who, loss in found.spenders},
    }


def public_entries(found: Sequence[Holding]) -> list[dict[str, object]]:
    """Entries of a public registry, one for each ledger that can be read; what is not known is null.

    They hold what a certificate tells anyway: title, neighbours, budget, spending, approval, releases by name.
    """
    return [_entry(one.ledger) for one in found if one.ledger is not None]


def _entry(ledger: Ledger) -> dict[str, object]:
    adjacency, totals = ledger.adjacency, (ledger.budget, ledger.spent(), ledger.left())
    return {
        "name": ledger.title or None,
        "unit": adjacency.who,
        "neighbours": adjacency.words(),
        "model": "local" if adjacency.kind == "local" else "central",
        "budget": dict(zip(("approved", "spent", "left"), map(to_json, totals), strict=True)),
        "justification": ledger.approved,
        "ends": None if ledger.ends is None else ledger.ends.isoformat(),
        "releases": [
            {
                "release": line.id,
                "date": line.when[:10],
                "description": line.what,
                "purpose": line.purpose or None,
                "parameters": None if line.charge is None else to_json(line.charge),
                "state": line.state if line.withdrawn is None else "withdrawn",
                "withdrawn": None if line.withdrawn is None else {"date": line.withdrawn[:10], "reason": line.why},
            }
            for line in ledger.releases()
        ],
    }


def sheet(found: Sequence[Holding]) -> str:
    """Every request of every ledger as CSV; text that a spreadsheet would take for a formula gets an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(HEADS)
    for one in found:
        if one.ledger is None:
            continue
        for line in (*one.ledger.releases(), *one.ledger.refusals()):
            loss = "" if line.charge is None else words(line.charge)
            state = line.state if line.withdrawn is None else f"withdrawn: {line.why}"
            cells = (one.ledger.title, line.id, line.when, line.who, line.what, line.purpose, loss, state)
            writer.writerow([safe(cell) for cell in cells])
    return out.getvalue()
