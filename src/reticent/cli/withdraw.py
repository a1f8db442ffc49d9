"""``withdraw``: a release that no longer stands."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.atomic_file import replace
from reticent.cli import exit_codes, options
from reticent.cli.options import confirm, ledger_place
from reticent.cli.parser import Verb, argument
from reticent.errors import LedgerError
from reticent.ledger import Ledger
from reticent.privacy.loss import to_json, words

if TYPE_CHECKING:
    from reticent.certificate.certificate import Certificate
    from reticent.cli.output import Voice
    from reticent.ledger import Line


@dataclass(frozen=True, slots=True)
class Withdrawable:
    """A release of a ledger: its line, and its certificate where a file of it was named."""

    line: Line
    certificate: Certificate | None
    page: Path | None


@click.command("withdraw", cls=Verb)
@options.ledger
@argument(
    "release",
    metavar="RELEASE",
    help="Its id, such as r-0007, or its certificate: the page is marked too.",
    shell_complete=options.completes("receipts"),
)
@click.option("--reason", required=True, metavar="TEXT", help="Why; it becomes an entry, and stands on the page.")
@click.option("--who", default="curator", metavar="TEXT", help="Who withdraws it.")
@options.yes
@options.as_json
@click.pass_obj
def withdraw(voice: Voice, ledger: str, release: str, reason: str, who: str, yes: bool) -> None:
    """Withdraw a release. The ledger keeps it, verify fails it from now on, and what was spent stays spent."""
    found = Ledger.open(ledger_place(ledger))
    of = _withdrawable(found, release)
    name = of.line.id
    again = of.line.withdrawn is not None and of.certificate is not None
    if not again:
        confirm(f"Withdraw {name} ({of.line.what}) for good?", yes=yes)
        found.withdraw(name, reason=reason, who=who)
        of = _withdrawable(found, release)
    wrote = _marked(of)
    charge = of.line.charge
    spent = "" if charge is None else f"{words(charge)} stays spent. "
    why = (of.line.why if again else reason).rstrip(".")
    first = f"{name} {'was withdrawn before' if again else 'is withdrawn'}: {why}."
    voice.result(
        {
            "verb": "withdraw",
            "release": name,
            "reason": of.line.why,
            "withdrawn": of.line.withdrawn,
            "charged": None if charge is None else to_json(charge),
            "files": [] if wrote is None else [str(wrote)],
            "head": found.head,
        },
        f"{first} {spent}",
        *([] if wrote is None else [f"wrote {wrote}, which says so"]),
        "Tell whoever has its files: only verify with this ledger knows.",
    )
    if of.page is not None and wrote is None:
        voice.say(f"{of.page} could not be written, and still stands as it was.")
        raise click.exceptions.Exit(exit_codes.FAULT)


def _withdrawable(ledger: Ledger, named: str) -> Withdrawable:
    """The release of an id or of a certificate, which must be the one that the ledger recorded."""
    lines = {line.id: line for line in ledger.releases()}
    if named in lines:
        return Withdrawable(lines[named], None, None)
    if not named.endswith(".json"):
        raise LedgerError(f"There is no {named} in {ledger.name}. See: reticent ledger show {shlex.quote(ledger.name)}")

    from reticent.certificate.certificate import read_certificate

    certificate = read_certificate(Path(named))
    line = lines.get(str(certificate.heading["release"]))
    if line is None or line.digest != certificate.digest:
        raise LedgerError(f"{named} is no certificate of {ledger.name}. Nothing was changed.")
    page = Path(named).with_suffix(".html")
    return Withdrawable(line, certificate, page if page.exists() else None)


def _marked(of: Withdrawable) -> Path | None:
    """The page beside a certificate, which now says that the release was withdrawn; None where it was not written."""
    if of.certificate is None or of.page is None or of.line.withdrawn is None:
        return None
    from reticent.certificate.render.page import page

    try:
        replace(of.page, page(of.certificate, withdrawn=f"{of.line.withdrawn[:10]}: {of.line.why}").encode())
    except OSError:
        return None
    return of.page
