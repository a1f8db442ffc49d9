"""``explain``: the meaning of a release, or of a word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.cli import glossary, layout, options
from reticent.cli.parser import NUMBER, Verb, argument

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.cli.table import Passage


@click.command("explain", cls=Verb)
@argument("what", required=False, metavar="CERTIFICATE|WORD", help="A file, or a word.")
@click.option("--prior", type=NUMBER, default=0.1, metavar="P", help="What someone believed before, 0 to 1.")
@click.option("--proof", is_flag=True, help="Every part with its theorem and source.")
@click.option("--checklist", is_flag=True, help="An officer's questions, answered.")
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("reading the certificate")
def explain(voice: Voice, what: str | None, prior: float, proof: bool, checklist: bool) -> None:
    """A release in plain language, or a word: epsilon, no-reply, ledger … Without either: the list of words."""
    if what is None:
        voice.result(
            {"verb": "explain", "about": "words", "words": list(glossary.listed())},
            f"Words: {', '.join(glossary.listed())}.",
            "Or the certificate of a release: reticent explain table4.json --prior 0.1",
        )
        return
    word = glossary.word_of(what)
    if word is not None and not _exists(what):
        told = glossary.explained(word)
        voice.result(
            {"verb": "explain", "about": "word", "word": word, "lines": list(told)},
            *(part for place, text in enumerate(told) for part in ([""] * (place > 0) + [_paragraph(text)])),
        )
        return
    if not _exists(what) and not what.endswith(".json"):
        raise glossary.unknown(what)
    _certificate(voice, what, prior, proof=proof, checklist=checklist)


def _exists(what: str) -> bool:
    try:
        return Path(what).exists()
    except (OSError, ValueError):  # longer than a name of a file can be
        return False


def _paragraph(text: str) -> Passage:
    """A paragraph of several lines is a list: what each line is about, and its text."""
    if "\n" not in text:
        return text
    return layout.fields(((line.split()[0], " ".join(line.split()[1:])) for line in text.split("\n")), style="bold")


def _certificate(voice: Voice, path: str, prior: float, *, proof: bool, checklist: bool) -> None:
    from reticent.certificate.certificate import read_certificate
    from reticent.privacy.convert import epsilon_delta
    from reticent.privacy.explain import odds

    found = read_certificate(Path(path))
    moved = odds(epsilon_delta(found.guarantee.loss)[0], prior)
    parts = [found.explain(prior=prior)]
    parts += [found.proof()] * proof + [found.checklist()] * checklist
    voice.result(
        {
            "verb": "explain",
            "about": "certificate",
            "release": found.heading["release"],
            "kind": found.kind,
            "lines": parts[0].split("\n"),
            "odds": {"prior": moved.prior, "factor": moved.factor, "low": moved.low, "high": moved.high},
            "proof": found.proof().split("\n") if proof else None,
            "checklist": found.checklist().split("\n") if checklist else None,
        },
        layout.fields(("-", line) for line in found.explain(prior=prior).split("\n")),
        *(f"\n{text}" for text in parts[1:]),
    )
