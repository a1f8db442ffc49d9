"""``compare``: differences, ratios and totals of the answers in a certificate. Free: no study, no ledger, no row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reticent.certificate.record import answer_to_json
from reticent.cli import exit_codes, layout, options
from reticent.cli.parser import NUMBER, PATH, Verb, argument
from reticent.errors import QuestionError
from reticent.outcome import NoReply
from reticent.privacy.explain import as_data, sentence
from reticent.statistics.answer import estimates
from reticent.statistics.multiple_comparisons import tested, widens
from reticent.study.memory import read_release

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
@click.option(
    "--and", "other", type=PATH, metavar="CERTIFICATE", help="Compare with the same answers of this other release."
)
@click.option("--apart", is_flag=True, help="With --and: you say that nobody is in both tables.")
@click.option("--together", is_flag=True, help="Wider intervals, which all hold together.")
@click.option("--discoveries", is_flag=True, help="Name the tests, or with --null the cells, that differ.")
@click.option("--null", type=NUMBER, metavar="NUMBER", help="With --discoveries: what cells are held against.")
@click.option(
    "--rate", type=NUMBER, default=0.05, metavar="SHARE", help="With --discoveries: false ones among those named."
)
@options.quiet
@options.as_json
@click.pass_obj
@options.waits("comparing")
def compare(
    voice: Voice,
    certificate: Path,
    comparisons: tuple[str, ...],
    of: str | None,
    other: Path | None,
    apart: bool,
    together: bool,
    discoveries: bool,
    null: float | None,
    rate: float,
) -> None:
    """Compare answers of a saved release, with intervals that know what they have in common. Free.

    With --and: each answer less that of the other release, by default all that both have; or "ratio(mean(x), mean(x))".
    With --together or --discoveries answers may be named as well, by default all that fit. Exit code 3: one is no
    reply.
    """
    if null is not None and not discoveries:
        raise click.BadParameter("--null goes with --discoveries.")
    if apart and other is None:
        raise click.BadParameter("--apart goes with --and.")
    if of is not None and other is not None:
        raise click.BadParameter("--of goes with one release.")
    release = read_release(certificate)
    left: list[str] = []
    releases = [release] if other is None else [release, read_release(other)]
    if other is not None:
        found = _against(release, releases[1], comparisons, apart=apart)
    elif not (comparisons or together or discoveries):
        raise QuestionError(f'Say what to compare, such as "difference(a, b)" of: {", ".join(release)}.')
    elif comparisons:
        found = [release.compare(text, of=of) for text in comparisons]
    else:
        found = _all(release, of, together=together, tests=discoveries and null is None)
        left = [name for name in release if together and name not in [answer.name for answer in found]]
    if together:
        found = list(release.simultaneous(found))
    named = release.discoveries(found, rate=rate, null=null) if discoveries else None
    caveats = list(dict.fromkeys(text for answer in found for text in answer.caveats))
    if left:
        caveats.append(f"left out, as an interval is known at 95 % alone: {', '.join(left)}")
    replied = not any(isinstance(cell.outcome, NoReply) for answer in found for cell in answer)
    listed = [] if named is None else layout.under("differ", named or ("none",))
    voice.result(
        {
            "verb": "compare",
            "release": release.receipt,
            **({} if other is None else {"other": _guarantee(releases[1])}),
            "answers": [answer_to_json(answer) for answer in found],
            **({} if named is None else {"discoveries": list(named)}),
            "caveats": caveats,
            "guarantee": as_data(release.guarantee.loss, release.guarantee.adjacency),
        },
        layout.answers(found),
        layout.fields(
            [
                *listed,
                *layout.under("estimates", dict.fromkeys(estimates(tuple(found)))),
                *layout.under("note", caveats),
                *layout.under("guarantee", [_promised(one) for one in releases]),
            ]
        ),
    )
    raise click.exceptions.Exit(exit_codes.DONE if replied else exit_codes.NO_REPLY)


def _promised(release: Release) -> str:
    return f"that of {release.receipt}: {sentence(release.guarantee.loss, release.guarantee.adjacency)}"


def _guarantee(release: Release) -> dict[str, object]:
    guarantee = as_data(release.guarantee.loss, release.guarantee.adjacency)
    return {"release": release.receipt, "guarantee": guarantee}


def _against(release: Release, other: Release, texts: tuple[str, ...], *, apart: bool) -> list[Answer]:
    """The answers that are named, or all that both releases have, as differences."""
    both = [name for name in release if name in other]
    named = texts or tuple(name for name in both if _told(release[name]) and _told(other[name]))
    if not named:
        raise QuestionError("The two releases have no answer in common. Say ratio(a, b) or difference(a, b).")
    return [answer for text in named for answer in release.against(other, text, apart=apart)]


def _told(answer: Answer) -> bool:
    """Tell if every cell has an interval."""
    return all(answer.has_interval(cell) for cell in answer)


def _all(release: Release, of: str | None, *, together: bool, tests: bool) -> list[Answer]:
    """The groups of one answer, else the answers that are meant: tests, those that can hold together, or all."""
    if of is not None:
        return [release[of]]
    fits = tested if tests else widens if together else None
    return list(filter(fits, release.answers)) or list(release.answers)
