"""``verify``: a certificate, checked by whoever receives it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.certificate.certificate import read_certificate
from reticent.certificate.record import UNSIGNED
from reticent.cli import exit_codes, layout, options
from reticent.cli.options import ledger_place, modules_of
from reticent.cli.parser import PATH, PLACE, Verb, argument

if TYPE_CHECKING:
    from reticent.cli.output import Voice


@click.command("verify", cls=Verb)
@argument("certificate", type=PATH, metavar="CERTIFICATE", help="The .json file of a release, a model or a session.")
@click.option("--ledger", type=PLACE, metavar="LEDGER", help="The ledger that was charged.")
@click.option("--key", type=PATH, metavar="FILE", help="The officer's public key.")
@click.option("--allow-unsigned", is_flag=True, help="Do not ask for a signature; a wrong one still fails.")
@options.extensions
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("deriving the losses again")
def verify(
    voice: Voice,
    certificate: Path,
    ledger: str | None,
    key: Path | None,
    allow_unsigned: bool,
    extensions: tuple[str, ...],
) -> None:
    """Check a certificate: signature, ledger entry, chain, and the losses derived again. Exit code 6 if one fails."""
    found = read_certificate(certificate).verify(
        None if ledger is None else ledger_place(ledger),
        key,
        allow_unsigned=allow_unsigned,
        extensions=modules_of(extensions),
    )
    voice.result(
        {
            "verb": "verify",
            "ok": found.ok,
            "checks": [
                {"name": check.name, "ok": check.ok, "looked": check.looked, "words": check.words}
                for check in found.checks
            ],
        },
        layout.fields((check.state, check.words) for check in found.checks),
    )
    if found.ok and sum(not check.looked for check in found.checks) > 1:
        voice.say("Nobody can tell from this whether the numbers were changed: give the ledger, or the officer's key.")
    if [check.words for check in found.checks if not check.ok] == [UNSIGNED]:
        voice.say("Nothing else failed. To check a certificate without a signature: --allow-unsigned.")
    raise click.exceptions.Exit(exit_codes.DONE if found.ok else exit_codes.CHECK)
