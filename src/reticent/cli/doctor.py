"""``doctor``: the condition of a study on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.cli import exit_codes, layout, options
from reticent.cli.parser import Verb

if TYPE_CHECKING:
    from reticent.cli.output import Voice


@click.command("doctor", cls=Verb)
@options.study
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("looking at files and ledger")
def doctor(voice: Voice, study: Path) -> None:
    """Look at files, permissions, links, header, clock and ledger before a release. No row is read.

    Exit code 6 if every release would be refused, or would protect less than it says.
    """
    from reticent.study.condition import examined

    found = examined(study)
    failed = any(finding.state == "failed" for finding in found)
    words = {"ok": "ok", "warning": "warning", "failed": "FAILED"}
    voice.result(
        {
            "verb": "doctor",
            "ok": not failed,
            "findings": [{"about": finding.about, "state": finding.state, "words": finding.words} for finding in found],
        },
        layout.columns(
            ("", "about", ""),
            [(words[finding.state], finding.about, finding.words) for finding in found],
            right=(),
            wrap=(2,),
        ),
    )
    raise click.exceptions.Exit(exit_codes.CHECK if failed else exit_codes.DONE)
