"""``migrate``: a ledger of an earlier version in today's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reticent.cli import options
from reticent.cli.options import confirm, ledger_place
from reticent.cli.parser import Verb
from reticent.errors import LedgerError
from reticent.ledger import Ledger, store

if TYPE_CHECKING:
    from reticent.cli.output import Voice


@click.command("migrate", cls=Verb)
@options.ledger
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@options.yes
@options.as_json
@click.pass_obj
def migrate(voice: Voice, ledger: str, dry_run: bool, yes: bool) -> None:
    """Bring a ledger of an earlier version to today's form, with a copy beside it. The next charge would do so too.

    Study files and certificates stay as they are: every version reads those of the versions before.
    """
    found = Ledger.open(ledger_place(ledger))
    problems = found.verify()
    if problems:
        raise LedgerError(f"{found.name} is damaged: {problems[0]}. Nothing was changed.")
    before, today = found.form, store.FORMAT
    due = before < today
    if due and not dry_run:
        confirm(f"Migrate {found.name} from form {before} to form {today}?", yes=yes)
        found.migrate()
    copied = f"a copy {found.name}.form-{before}.copy, then today's tables, then an entry that names both forms"
    if not due:
        said = f"{found.name} has form {before}, which is today's: there is nothing to migrate."
    elif dry_run:
        said = f"{found.name} has form {before}, today's is {today}. It would get {copied}. Nothing was changed."
    else:
        said = f"{found.name} has form {found.form} now. It got {copied}."
    voice.result({"verb": "migrate", "form": found.form, "today": today, "due": due, "dry_run": dry_run}, said)
