"""Publication of a survey: the estimate as a record that can be filed and checked, a figure, and a page.

The record holds the design with its fingerprint, and the proof of the promise to each respondent. It also holds the
digest of the file of answers, and every number. The answers are randomized already, so that none of it costs anything.
"""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reticent.exact.rounding import round_up
from reticent.pages.markup import render, trusted
from reticent.privacy import serialization as trees
from reticent.privacy.explain import outline, sentence
from reticent.privacy.loss import PureDP, words
from reticent.privacy.numbers import show
from reticent.survey.description import say
from reticent.survey.design_record import DesignRecord
from reticent.survey.result import EVERYBODY, Result, clipped, ends, every, figure, interval_of, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reticent.privacy.guarantee import Guarantee

FORMAT: Final = "reticent survey estimate"
VERSION: Final = 1
TOGETHER: Final = "All answers of one respondent together:"
SEVERAL: Final = "The shares are the nearest ones that add up to 100 %; the intervals hold for all answers together."
NAMES: Final = {
    "two_coins": "two coins",
    "forced": "forced response",
    "warner": "Warner's two statements",
    "unrelated": "unrelated question",
    "one_sided": "one-sided response",
    "kary": "k-ary response",
    "unary": "unary encoding",
    "optimised_unary": "optimised unary encoding",
    "subset": "subset selection",
    "hadamard": "Hadamard response",
    "hashing": "local hashing",
    "duchi": "two numbers",
    "piecewise": "a place on a scale",
}


@dataclass(frozen=True, slots=True)
class EstimateLine:
    """One estimate as it is shown: clipped to what is possible, and the caveats say so where that changed it."""

    name: str
    estimate: str
    interval: str
    answers: str
    openly: str


def lines(result: Result, group: str = "") -> Iterator[EstimateLine]:
    """The estimates of a result as text, one for each answer."""
    for share in result:
        low, high = (clipped(end, result.limits) for end in ends(result, share))
        value = clipped(shown(result, share), result.limits)
        name = " · ".join(text for text in (group, share.label) if text)
        openly = "" if not share.design_effect else f"{result.answers / share.design_effect:,.0f}"
        yield EstimateLine(name, *interval_of(share, value, low, high), f"{result.answers:,}", openly)


def notes(result: Result) -> tuple[str, ...]:
    """The caveats of a result and of its groups, and what its intervals of several shares hold."""
    told = [f"{name + ': ' if name else ''}{text}" for name, part in every(result) for text in part.caveats]
    return (*told, *([SEVERAL] if len(result.shares) > 1 else []))


def epsilon_words(guarantee: Guarantee) -> str:
    """``ε 1.0987``, rounded up; a loss that is no epsilon in its own words."""
    loss = guarantee.loss
    return f"ε {show(round_up(loss.epsilon, 5))}" if isinstance(loss, PureDP) else words(loss)


def promise(guarantee: Guarantee) -> str:
    """The guarantee in one line, with its epsilon rounded up: 2 where the coins make 1.999999999997."""
    exact = sentence(guarantee.loss, guarantee.adjacency)
    return exact.replace(words(guarantee.loss), epsilon_words(guarantee), 1)


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """Source of the answers: the file, its columns, and the columns by which its table was checked."""

    file: Path
    column: str
    table: str | None = None
    respondent: str | None = None
    code: str | None = None
    interval: str = "wilson"


def record(
    design: DesignRecord, result: Result, read: AnswerSource, *, together: Guarantee | None = None
) -> dict[str, object]:
    """The estimate with all that is needed to check it, as plain data.

    Parameters
    ----------
    design : DesignRecord
    result : Result
        Of ``design.estimate_table``.
    read : Read
        The name and the digest of the file enter the record, no answer does.
    together : Guarantee, optional
        Of a questionnaire: what all answers of one respondent tell.

    Returns
    -------
    dict of str to object
        JSON values.
    """
    whole = {} if together is None else {"together": trees.to_json(together)}
    return {
        "format": FORMAT,
        "version": VERSION,
        "design": {
            "question": design.question,
            "method": design.method,
            "among": list(design.among),
            "settings": design.settings,
            "fingerprint": design.fingerprint,
            "code": design.code,
            "says": say(design),
        },
        "guarantee": trees.to_json(design.guarantee),
        "protects": sentence(design.guarantee.loss, design.guarantee.adjacency),
        **whole,
        "answers": {
            "file": read.file.name,
            "sha256": _digest(read.file),
            "column": read.column,
            "table": read.table,
            "respondent": read.respondent,
            "code": read.code,
            "interval": read.interval,
        },
        "result": result.to_json(),
        "software": {"reticent": version("reticent")},
    }


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def svg(drawn: Figure) -> str:
    """A figure as SVG that is the same every time: no date, no metadata, text as text."""
    from matplotlib import rc_context

    out = io.StringIO()
    with rc_context({"svg.hashsalt": "reticent survey", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a script that the measuring font lacks; the reader's browser has it
        drawn.savefig(out, format="svg", facecolor="white", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
    return text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, system-ui, sans-serif")


def page(
    results: Sequence[tuple[DesignRecord, Result]],
    records: Sequence[dict[str, Any]],
    *,
    together: Guarantee | None = None,
) -> str:
    """The estimates as one self-contained HTML file without scripts.

    Parameters
    ----------
    results : sequence of (DesignRecord, Result)
    records : sequence of dict
        What the JSON file holds of each.
    together : Guarantee, optional
        Of all answers of one respondent.

    Returns
    -------
    str
        HTML.
    """
    files = {(one["answers"]["file"], one["answers"]["sha256"]) for one in records}
    whole = "" if together is None else f"{TOGETHER} {promise(together)}"
    return render(
        "survey_report",
        {
            "title": results[0][0].question if len(results) == 1 else "What the survey found",
            "parts": [_part(design, result) for design, result in results],
            "together": whole,
            "figure": trusted(svg(figure([result for _, result in results]))),
            "sources": sorted(files),
            "version": records[0]["software"]["reticent"],
        },
    )


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """One question of a report: its caveats, its estimates as text, and the promise to each respondent."""

    question: str
    caveats: tuple[str, ...]
    heads: tuple[str, str, str, str]
    lines: tuple[EstimateLine, ...]
    method: str
    says: str
    promise: str
    fingerprint: str
    proof_lines: tuple[str, ...]


def _part(design: DesignRecord, result: Result) -> QuestionReport:
    return QuestionReport(
        design.question,
        notes(result),
        ("estimate", f"{100 * result.level:g} % interval", "answers", "as asking openly"),
        tuple(line for name, one in every(result) for line in lines(one, name or (EVERYBODY if result.groups else ""))),
        NAMES[design.method],
        say(design),
        promise(design.guarantee),
        design.fingerprint,
        tuple(outline(design.guarantee).split("\n")),
    )
