"""``survey design``: the coins of a question, and how many people they take."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from reticent.cli import layout, options
from reticent.cli.parser import NUMBER, PATH, Verb, argument
from reticent.privacy.loss import to_json
from reticent.privacy.serialization import to_json as tree

if TYPE_CHECKING:
    from reticent.cli.output import Voice
    from reticent.survey import Design, Questionnaire

ENDING: Final = ".survey.toml"
MARGIN: Final = 0.02


@click.command("design", cls=Verb)
@argument("name", metavar="NAME", help="Writes NAME.survey.toml.")
@click.option("--question", metavar="TEXT", help="As respondents will read it.")
@click.option(
    "--method", metavar="METHOD", help="two_coins, forced, warner, unrelated, one_sided, kary …; else the best."
)
@click.option("--among", metavar="A,B,C", help="Answers to choose among, with --epsilon; without: yes or no.")
@click.option("--low", metavar="NUMBER", help="For a question about a number: its bounds.")
@click.option("--high", metavar="NUMBER")
@click.option("--epsilon", metavar="NUMBER", help="What one answer may tell, at most 10.")
@click.option("--truth", metavar="CHANCE", help="Of the true answer, such as 3/4: forced, warner …")
@click.option("--yes", metavar="CHANCE", help="Of yes where the answer is forced.")
@click.option("--other-share", metavar="CHANCE", help="Of yes to the unrelated question.")
@click.option(
    "--join", type=PATH, multiple=True, metavar="DESIGN", help="Several questions, --epsilon shared. May be repeated."
)
@click.option(
    "--margin", type=NUMBER, default=MARGIN, metavar="WIDTH", help="How precise: a half-width, as a share of 1."
)
@options.as_json
@click.pass_obj
def design(
    voice: Voice,
    name: str,
    question: str | None,
    method: str | None,
    among: str | None,
    low: str | None,
    high: str | None,
    epsilon: str | None,
    truth: str | None,
    yes: str | None,
    other_share: str | None,
    join: tuple[Path, ...],
    margin: float,
) -> None:
    """Choose the coins of a question, write them to a file, and say what they promise and what they cost.

    A question alone gets two coins; with --epsilon Warner's; with --among or --low and --high the best method.
    """
    target = Path(name if name.endswith(ENDING) else f"{name}{ENDING}")
    made = (
        _joined(join, epsilon)
        if join
        else _made(question, method, among, (low, high), epsilon, (truth, yes, other_share))
    )
    if join and (question, method, among, low, high, truth, yes, other_share) != (None,) * 8:
        raise click.BadParameter("--join takes designs that were made before, and --epsilon.")
    people = [one.people_for(_margin(one, margin)) for one in designs_of(made)]
    made.save(target)
    voice.result(
        {"verb": "survey design", "wrote": str(target), **_document(made), "margin": margin, "people": people},
        f"wrote {target}",
        layout.fields(_described(made, margin, people)),
        f"Then: reticent survey form {shlex.quote(str(target))} --out page.html",
    )


def _joined(files: Sequence[Path], epsilon: str | None) -> Questionnaire:
    from reticent import survey

    if epsilon is None:
        raise click.BadParameter("--join needs --epsilon: what all answers of one person may tell together.")
    return survey.several([one for file in files for one in designs_of(read_design(file))], epsilon)


def _made(
    question: str | None,
    method: str | None,
    among: str | None,
    bounds: tuple[str | None, str | None],
    epsilon: str | None,
    chances: tuple[str | None, str | None, str | None],
) -> Design:
    """The design that the options name; every option must have a use."""
    from reticent import survey

    if question is None:
        raise click.BadParameter("Give --question, or --join.")
    truth, yes, other = chances
    low, high = bounds
    answers = None if among is None else [word.strip() for word in among.split(",")]
    if (low is None) != (high is None) or (answers is not None and low is not None):
        raise click.BadParameter("A number needs --low and --high; a choice needs --among.")
    kind = method or ("choice" if answers else "mean" if low is not None else "warner" if epsilon else "two_coins")
    given = {"truth": truth, "yes": yes, "other_share": other, "epsilon": epsilon, "among": among, "low": low}
    used = {
        "two_coins": (),
        "forced": ("truth", "yes"),
        "warner": ("epsilon",) if epsilon is not None else ("truth",),
        "unrelated": ("truth", "other_share"),
        "one_sided": ("truth",),
        **dict.fromkeys(
            ("choice", "kary", "unary", "optimised_unary", "subset", "hadamard", "hashing"), ("among", "epsilon")
        ),
        **dict.fromkeys(("mean", "duchi", "piecewise"), ("low", "epsilon")),
    }
    if kind not in used:
        raise click.BadParameter(f"--method is one of: {', '.join(used)}.")
    option = {"choice": "--among", "mean": "--low with --high"}.get(kind, kind)
    _exactly(kind if method else option, [name for name, value in given.items() if value is not None], used[kind])
    match kind:
        case "two_coins":
            return survey.two_coins(question)
        case "forced":
            return survey.forced(question, truth=truth or "", yes=yes or "")
        case "warner":
            return survey.warner(question, epsilon=epsilon, truth=truth)
        case "unrelated":
            return survey.unrelated(question, other_share=other or "", truth=truth or "")
        case "one_sided":
            return survey.one_sided(question, truth=truth or "")
        case "choice" | "kary" | "unary" | "optimised_unary" | "subset" | "hadamard" | "hashing":
            chosen = "auto" if kind == "choice" else kind
            return survey.choice(question, answers or (), epsilon=epsilon or "", method=chosen)
        case "duchi" | "piecewise":
            return survey.mean(question, low or "", high or "", epsilon=epsilon or "", method=kind)
        case _:
            return survey.mean(question, low or "", high or "", epsilon=epsilon or "")


def _exactly(kind: str, given: list[str], used: tuple[str, ...]) -> None:
    options = {name: f"--{name.replace('_', '-')}" for name in (*given, *used)} | {"low": "--low and --high"}
    lacking = [options[name] for name in used if name not in given]
    idle = [options[name] for name in given if name not in used]
    if lacking:
        raise click.BadParameter(f"{kind} needs {' and '.join(lacking)}.")
    if idle:
        raise click.BadParameter(f"{kind} has no use for {' and '.join(idle)}.")


def read_design(file: Path) -> Design | Questionnaire:
    from reticent import survey

    return survey.read(file)


def designs_of(made: Design | Questionnaire) -> tuple[Design, ...]:
    from reticent import survey

    return made.designs if isinstance(made, survey.Questionnaire) else (made,)


def _margin(one: Design, margin: float) -> float:
    """A share of 1; of a number, that share of its range."""
    return margin if one.low is None or one.high is None else margin * float(one.high - one.low)


def _document(made: Design | Questionnaire) -> dict[str, object]:
    return {
        "code": made.code,
        "fingerprint": made.fingerprint,
        "questions": [
            {
                "question": one.question,
                "method": one.method,
                "among": list(one.among),
                "settings": one.settings,
                "says": one.say(),
                "loss": to_json(one.guarantee.loss),
                "code": one.code,
            }
            for one in designs_of(made)
        ],
        "guarantee": tree(made.guarantee),
    }


def _described(made: Design | Questionnaire, margin: float, people: list[int]) -> Iterator[tuple[str, str]]:
    from reticent.survey.report import NAMES, epsilon_words, promise

    for one, needed in zip(designs_of(made), people, strict=True):
        yield "question", one.question
        yield "coins", f"{NAMES[one.method]}, {epsilon_words(one.guarantee)}. {one.say()}"
        effect = "" if one.low is not None else _effects(one)
        yield "people", f"{needed:,} answers for ± {_margin_words(one, margin)} at worst{effect}"
    yield "guarantee", promise(made.guarantee)
    yield "design", f"sha256 {made.fingerprint}"


def _margin_words(one: Design, margin: float) -> str:
    return f"{100 * margin:g} points" if one.low is None else f"{_margin(one, margin):g}"


def _effects(one: Design) -> str:
    share = 0.3
    return f"; where {100 * share:g} % are so, one open answer tells as much as {one.design_effect(share):.1f} of these"
