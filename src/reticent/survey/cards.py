"""A printed card that mixes chance into an answer without a device: a disc to spin, and what to say where it stops.

The disc has one part for "say what is true" and one for each answer to be said whatever is true. That is the law of the
design: let every answer j be reported with chance q_j under all other truths, and with q_j + t under its own. The truth
is then told with chance t, and j is said with chance q_j. Angles are the exact chances times 360 degrees. What a person
spins is as fair as the spin; only the page and ``design.randomize`` are exact.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import cos, radians, sin
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.atomic_file import replace
from reticent.data.format import plain
from reticent.errors import QuestionError, SpecError
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.privacy.numbers import about
from reticent.survey.description import say
from reticent.survey.design_record import DesignRecord
from reticent.survey.form import odds_words
from reticent.survey.report import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


A4: Final = (8.27, 11.69)  # inches
MOST: Final = 12  # parts of a disc that can still be told apart
RADIUS: Final = 1.85  # inches
FOOT: Final = 0.5  # where the last line begins
SIZES: Final = (9.5, 9.0, 8.5, 8.0)  # of the text, in points: the largest that fits
NARROW: Final = Fraction(1, 9)  # a part below this has its words outside
INK, LINE, QUIET, HATCH = "#1f2328", "#3f4750", "#57606a", "#9aa3ad"
TRUE_FILL, FILLS = "#ffffff", ("#cfe3f5", "#f6ddb8", "#d5ead2", "#e6d8ef", "#f3d3d3", "#dcdcdc")
HATCHES: Final = ("", "////", "....", "\\\\\\\\", "xxxx", "----")  # for a printer without colour

RESPONDENT: Final = (
    "Lay the card flat. Hold a pencil upright on the dot in the middle, through one end of a paper clip.",
    "Turn so that nobody but you sees the disc. Flick the clip hard, once. It must go round at least three times; if "
    "it does not, flick again before you look at the words.",
    "If it stops on the white part, say what is true. If it stops on a coloured part, say the words there, whatever is "
    "true. On a line: flick again.",
    "Say only that one answer. Do not say, and do not show, where the clip stopped.",
)
INTERVIEWER: Final = (
    "Read the question aloud, give the card and stand where you cannot see the disc.",
    "Ask whether the person wants to take part before the spin, not after. There is one spin: who spins until the "
    "answer pleases is protected less.",
    "Write down the answer and nothing else: no name, no remark on how long it took. Never ask what is true.",
)


@dataclass(frozen=True, slots=True)
class DiscPart:
    """A part of the disc: the words on it, its chance, and whether it tells the truth."""

    words: str
    chance: Fraction
    true: bool


def cards(design: DesignRecord, path: str | Path) -> Path:
    """Write a card with a spinner, and what the respondent and the interviewer do, on one page of A4.

    Parameters
    ----------
    design : DesignRecord
        A question with two answers, or a k-ary one with at most 11.
    path : str or Path
        ``*.svg`` or ``*.pdf``; a file that is there is replaced.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    QuestionError
        For a design whose answers cannot be put on one disc.
    SpecError
        For another kind of file, or one that cannot be written.

    Guarantee
    ---------
    That of the design if the spin is fair and only the answer is seen. The card says both.
    """
    target = Path(path)
    if target.suffix.lower() not in (".svg", ".pdf"):
        raise SpecError(f"A card is written as .svg or .pdf, got '{target.name[:60]}'.")
    drawn = card(design)
    made = svg(drawn).encode() if target.suffix.lower() == ".svg" else _pdf(drawn)
    try:
        replace(target, made)
    except OSError:
        raise SpecError(f"{target} cannot be written: check that its folder exists and is yours.") from None
    return target


def parts_of(design: DesignRecord) -> tuple[DiscPart, ...]:
    """The parts of the disc, clockwise from the top; their chances add up to 1.

    Raises
    ------
    QuestionError
        For a design whose messages are not the answers themselves, or with too many of them.
    """
    made = design.mechanism
    match made:
        case RandomizedResponse():
            true, forced = made.truth, [(1 - made.truth) * chance for chance in (made.yes, 1 - made.yes)]
        case OneSided():
            true, forced = made.truth, [1 - made.truth, Fraction(0)]
        case KAry() if made.size < MOST:
            true, forced = made.hit - made.miss, [made.miss] * made.size
        case _:
            raise QuestionError(
                f"A card is for a yes-no question, or for at most {MOST - 1} answers by k-ary response "
                '(method="kary"): this design says something that no one disc can tell a person to say.'
            )
    named = (
        DiscPart(f"Say “{plain(answer)}”", chance, False)
        for answer, chance in zip(design.among, forced, strict=True)
        if chance > 0
    )
    return (DiscPart("Say what is true", true, True), *named)


def card(design: DesignRecord) -> Figure:
    """The card as a matplotlib figure; it belongs to no window and no pyplot state.

    Raises
    ------
    QuestionError
        Where the words do not fit on a page.
    """
    parts = parts_of(design)
    for size in SIZES:
        drawn, end = _composed(design, parts, size)
        if end >= FOOT:
            return drawn
    raise QuestionError("The words of this design do not fit on a card. Use a shorter question or shorter answers.")


def _composed(design: DesignRecord, parts: tuple[DiscPart, ...], size: float) -> tuple[Figure, float]:
    """The card with its text in one size, and how far down the page it goes."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=A4)
    axes = drawn.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, A4[0])
    axes.set_ylim(0, A4[1])
    axes.axis("off")
    wide = int(875 / size)  # letters in a line over the whole page
    top = _text(axes, design.question, 0.8, A4[1] - 0.75, size=17, width=44, weight="bold")
    middle = (A4[0] / 2, top - 0.45 - RADIUS)
    _disc(axes, parts, middle, RADIUS)
    under = middle[1] - RADIUS - 0.5
    left = _steps(axes, "If you answer", RESPONDENT, 0.8, under, size)
    right = _steps(axes, "If you ask", INTERVIEWER, 4.4, under, size)
    end = _text(axes, "What it protects", 0.8, min(left, right) - 0.15, size=size + 1.5, width=wide, weight="bold")
    chances = "; ".join(f"{part.words}: {_times(part.chance)}" for part in parts)
    for words in (say(design), odds_words([design], "say"), f"The disc: {chances}."):
        end = _text(axes, words, 0.8, end - 0.04, size=size, width=wide)
    _text(axes, f"Design: sha256 {design.fingerprint}", 0.8, FOOT, size=7.5, width=140, color=QUIET)
    return drawn, end


def _disc(axes: Axes, parts: tuple[DiscPart, ...], middle: tuple[float, float], radius: float) -> None:
    from matplotlib.patches import Circle, Wedge

    start = Fraction(90)
    coloured = 0
    for part in parts:
        end = start - 360 * part.chance
        fill, hatch = (TRUE_FILL, "") if part.true else (FILLS[coloured % len(FILLS)], HATCHES[coloured % len(HATCHES)])
        coloured += not part.true
        wedge = Wedge(middle, radius, float(end), float(start), facecolor=fill, edgecolor=LINE, linewidth=1.2)
        axes.add_patch(wedge)
        if hatch:
            lined = Wedge(
                middle, radius, float(end), float(start), fill=False, edgecolor=HATCH, linewidth=0, hatch=hatch
            )
            axes.add_patch(lined)
        _label(axes, part, middle, radius, float(start + end) / 2)
        start = end
    axes.add_patch(Circle(middle, 0.045, color=INK))


def _label(axes: Axes, part: DiscPart, middle: tuple[float, float], radius: float, angle: float) -> None:
    x, y = cos(radians(angle)), sin(radians(angle))
    words = textwrap.fill(part.words, 18, replace_whitespace=False)
    if part.chance >= NARROW:
        at = (middle[0] + 0.6 * radius * x, middle[1] + 0.6 * radius * y)
        box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "none"}
        axes.text(*at, words, ha="center", va="center", fontsize=11, color=INK, bbox=box, parse_math=False)
        return
    xs, ys = ([m + reach * radius * d for reach in (0.97, 1.12)] for m, d in zip(middle, (x, y), strict=True))
    axes.plot(xs, ys, color=LINE, linewidth=0.8)
    at = (middle[0] + 1.14 * radius * x, middle[1] + 1.14 * radius * y)
    axes.text(*at, words, ha="left" if x >= 0 else "right", va="center", fontsize=10, color=INK, parse_math=False)


def _steps(axes: Axes, head: str, steps: tuple[str, ...], x: float, y: float, size: float) -> float:
    y = _text(axes, head, x, y, size=size + 1.5, width=40, weight="bold")
    for place, step in enumerate(steps, start=1):
        axes.text(x, y, f"{place}.", va="top", fontsize=size, color=INK)
        y = _text(axes, step, x + 0.22, y, size=size, width=int(410 / size)) - 0.04
    return y


def _text(
    axes: Axes, text: str, x: float, y: float, *, size: float, width: int, weight: str = "normal", color: str = INK
) -> float:
    """Lines of text from (x, y) downwards; returns where they end."""
    lines = list(_lines(plain(text), width))
    height = 1.32 * size / 72
    for place, line in enumerate(lines):
        axes.text(
            x, y - place * height, line, va="top", fontsize=size, fontweight=weight, color=color, parse_math=False
        )
    return y - len(lines) * height - 0.06


def _lines(text: str, width: int) -> Iterator[str]:
    for paragraph in text.split("\n"):
        yield from textwrap.wrap(paragraph, width)


def _times(chance: Fraction) -> str:
    exactly = f"{chance.numerator} in {chance.denominator}"
    return exactly if chance.denominator <= 100 else f"{about(100 * chance, 4)} in 100"


def _pdf(drawn: Figure) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn.savefig(out, format="pdf", facecolor="white", metadata={"CreationDate": None, "Creator": None})
    return out.getvalue()
