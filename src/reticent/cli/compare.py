"""``compare``: differences, ratios and totals of the answers in a certificate. Free: no study, no ledger, no row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.cli import exit_codes, layout, options
from reticent.cli.parser import NUMBER, PATH, Verb, argument

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.statistics.answer import Answer
    from reticent.study.release import Release


@click.command("compare", cls=Verb)
@argument("certificate", type=PATH, metavar="CERTIFICATE", help="The .json file of a release.")
@argument(
    "comparisons",
    metavar="COMPARISON",
    nargs=-1,
    required=False,
    help='Such as "difference(mean(x), mean(y))", "ratio(sum(x), count)", "total(a, b)".',
)
@click.option("--of", metavar="ANSWER", help='Compare its groups or bins, by key: "difference(north, south)".')
@click.option("--together", is_flag=True, help="Wider intervals, which all hold together.")
@click.option("--discoveries", is_flag=True, help="Name the tests, or with --null the cells, that differ.")
@click.option("--null", type=NUMBER, metavar="NUMBER", help="With --discoveries: what cells are held against.")
@click.option(
    "--rate", type=NUMBER, default=0.05, metavar="SHARE", help="With --discoveries: false ones among those named."
)
@options.as_json
@click.pass_obj
def compare(
    voice: Voice,
    certificate: Path,
    comparisons: tuple[str, ...],
    of: str | None,
    together: bool,
    discoveries: bool,
    null: float | None,
    rate: float,
) -> None:
    """Compare answers of a saved release, with intervals that know what they have in common. Free.

    With --together or --discoveries answers may be named as well, by default all. Exit code 3: one is no reply.
    """
    from reticent.certificate.answer_json import answer_to_json
    from reticent.errors import QuestionError
    from reticent.outcome import NoReply
    from reticent.privacy.explain import as_data, sentence
    from reticent.statistics.answer import estimates
    from reticent.study.memory import read_release

    if null is not None and not discoveries:
        raise click.BadParameter("--null goes with --discoveries.")
    release = read_release(certificate)
    if not (comparisons or together or discoveries):
        raise QuestionError(f'Say what to compare, such as "difference(a, b)" of: {", ".join(release)}.')
    found = [release.compare(text, of=of) for text in comparisons] or _all(release, of)
    if together:
        found = list(release.simultaneous(found))
    named = release.discoveries(found, rate=rate, null=null) if discoveries else None
    caveats = list(dict.fromkeys(text for answer in found for text in answer.caveats))
    replied = not any(isinstance(cell.outcome, NoReply) for answer in found for cell in answer)
    listed = [] if named is None else layout.under("differ", named or ("none",))
    voice.result(
        {
            "verb": "compare",
            "release": release.receipt,
            "answers": [answer_to_json(answer) for answer in found],
            **({} if named is None else {"discoveries": list(named)}),
            "caveats": caveats,
            "guarantee": as_data(release.guarantee.loss, release.guarantee.adjacency),
        },
        layout.answers(found),
        layout.fields(
            [
                *listed,
                *layout.under("estimates", estimates(tuple(found))),
                *layout.under("note", caveats),
                (
                    "guarantee",
                    f"that of {release.receipt}: {sentence(release.guarantee.loss, release.guarantee.adjacency)}",
                ),
            ]
        ),
    )
    raise click.exceptions.Exit(exit_codes.DONE if replied else exit_codes.NO_REPLY)


def _all(release: Release, of: str | None) -> list[Answer]:
    return list(release.answers) if of is None else [release[of]]
