"""Figure of odds: the belief before on x, the least and greatest belief afterwards on y.

    OddsBands   one band per loss: this release, everything so far, the whole budget
    of          the three bands of a certificate
    spread      places for labels that would otherwise lie on each other
    saved       a figure as .svg, .png or .pdf; an SVG has no date and is the same every time

Pictures are read in black and white: bands differ in shade and in the dashes of their edges, and every line is named
where it ends. The statement and its condition: docs/theory/meaning.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.atomic_file import replace
from reticent.certificate.render.figure import GREY, INK, WIDTH, as_svg, quiet
from reticent.errors import PublicParameterError
from reticent.privacy.explain import Promise, odds, promise
from reticent.privacy.loss import Loss, words
from reticent.privacy.numbers import at_most, chance, percent, percent_least, percent_most

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from reticent.certificate.record import CertificateRecord

SHADES: Final = ("#6fa8d6", "#bfd9ee", "#e3e7eb", "#f0f2f4")  # from the narrowest band to the widest
DASHES: Final = ("-", (0, (6, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (3, 1, 1, 1, 1, 1)))
LEADER: Final = {  # from the left of a label to the line it names
    "arrowstyle": "-",
    "color": GREY,
    "linewidth": 0.7,
    "relpos": (0, 0.5),
    "shrinkA": 1,
    "shrinkB": 1,
}
MOST_BANDS: Final = len(SHADES)
PRIORS: Final = tuple(place / 200 for place in range(1, 200))


@dataclass(frozen=True, slots=True)
class OddsBands:
    """Bands of odds: the range of a belief about one person, for one loss or several.

    Attributes
    ----------
    bands : tuple of (name, Loss)
        At most four.
    believed : str
        What the belief is about: "you took part".
    prior : float
        The belief, in (0, 1), that is followed in words.
    """

    bands: tuple[tuple[str, Loss], ...]
    believed: str
    prior: float = 0.1

    def __post_init__(self) -> None:
        if not 1 <= len(self.bands) <= MOST_BANDS:
            raise PublicParameterError(f"a picture of odds has 1 to {MOST_BANDS} bands, got {len(self.bands)}")
        odds(promise(self.bands[0][1]).epsilon, self.prior)  # refuses a prior outside (0, 1)

    @property
    def promises(self) -> tuple[Promise, ...]:
        """The numbers of each band at ``prior``."""
        return tuple(promise(loss, prior=self.prior) for _, loss in self.bands)

    def rows(self, priors: Sequence[float] = PRIORS) -> tuple[tuple[str, float, float, float], ...]:
        """(band, belief before, least after, most after), band by band."""
        found = []
        for (name, _), kept in zip(self.bands, self.promises, strict=True):
            for prior in priors:
                moved = odds(kept.epsilon, prior)
                found.append((name, prior, moved.low, moved.high))
        return tuple(found)

    def plot(self) -> Figure:
        """The picture as a matplotlib figure; it belongs to no window and no pyplot state."""
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(WIDTH, 4.4))
        axes = drawn.add_axes((0.085, 0.125, 0.555, 0.79))
        kinds = _merged(self.bands, self.promises)
        for place, (_, kept) in reversed(list(enumerate(kinds))):
            _band(axes, kept, place)
        axes.plot([0, 100], [0, 100], color=INK, linewidth=0.8)
        axes.axvline(100 * self.prior, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
        ends = [100 * end for _, kept in kinds for end in (kept.odds.low, kept.odds.high)]
        axes.plot([100 * self.prior] * len(ends), ends, "o", color=INK, markersize=3, clip_on=False)
        _names(axes, kinds, self.prior)
        axes.set(xlim=(0, 100), ylim=(0, 100), xlabel=f"belief that {self.believed}, before (%)", ylabel="after (%)")
        axes.set_title("How far a belief about one person can move", loc="left", fontsize=10)
        axes.tick_params(labelsize=8, length=3, color=GREY)
        quiet(axes)
        return drawn

    def save(self, path: str | Path) -> None:
        """Write the picture to ``path``, in the format of its ending: .svg, .png or .pdf."""
        saved(self.plot(), path, "odds")


def of(certificate: CertificateRecord, prior: float = 0.1) -> OddsBands:
    """Bands of odds for the release, for everything the study has released so far, and for the whole budget."""
    hides_presence = certificate.guarantee.adjacency.kind == "add_remove"
    return OddsBands(
        (
            ("this release", certificate.guarantee.loss),
            ("everything so far", certificate.spent),
            ("the whole budget", certificate.approved),
        ),
        "you took part" if hides_presence else "a guess about you is right",
        prior,
    )


def _merged(bands: Sequence[tuple[str, Loss]], promises: Sequence[Promise]) -> list[tuple[str, Promise]]:
    """Bands from the narrowest to the widest; those that are the same get one name."""
    found: dict[Promise, list[tuple[str, Loss]]] = {}
    for (name, loss), kept in zip(bands, promises, strict=True):
        found.setdefault(kept, []).append((name, loss))
    ordered = sorted(found.items(), key=lambda item: item[0].epsilon)
    return [
        (" and\n".join(name for name, _ in same) + f"\n{_short(words(same[0][1]))}", kept) for kept, same in ordered
    ]


def _short(text: str) -> str:
    return text if len(text) <= 34 else text[:33] + "…"


def _band(axes: Axes, kept: Promise, place: int) -> None:
    """Shade between the least and the most; the edges dashed as the band's place says."""
    ends = [(0.0, 0.0, 0.0), *((p, *_after(kept, p)) for p in PRIORS), (1.0, 1.0, 1.0)]
    xs, lows, highs = ([100 * row[column] for row in ends] for column in range(3))
    axes.fill_between(xs, lows, highs, color=SHADES[place], linewidth=0)
    for edge in (lows, highs):
        axes.plot(xs, edge, color=INK, linewidth=1.1, linestyle=DASHES[place])


def _after(kept: Promise, prior: float) -> tuple[float, float]:
    moved = odds(kept.epsilon, prior)
    return moved.low, moved.high


def _names(axes: Axes, kinds: Sequence[tuple[str, Promise]], prior: float) -> None:
    """Names on the right, each with a line to the lower edge of its band, where the bands are widest."""
    nothing = [(92.0, 92.0, "no change", 0)]
    marks = [*nothing]
    for name, kept in kinds:
        root = min(kept.factor, 1e12) ** 0.5
        failing = f"\nunless a chance of {chance(kept.delta)}" if kept.delta else ""
        moved = f"{percent(prior)} → {percent_least(kept.odds.low)} to {percent_most(kept.odds.high)}"
        text = f"{name}\nodds × {at_most(kept.factor)} at most{failing}\n{moved}"
        marks.append((100 * root / (1 + root), 100 / (1 + root), text, text.count("\n")))
    heights = [4.6 * (lines + 1) + 2.5 for *_, lines in marks]
    for (x, y, text, _), at in zip(marks, spread([mark[1] for mark in marks], heights, 0, 100), strict=True):
        axes.annotate(
            text,
            (x, y),
            (104, at),
            fontsize=8,
            color=INK,
            va="center",
            annotation_clip=False,
            arrowprops=dict(LEADER),
        )


def spread(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """Centres near ``wanted`` for labels of these heights, none on another, inside [low, high] if they fit.

    From the top down each label is put as high as it wants, and no higher than the last one leaves room for. From the
    bottom up those that fell below ``low`` are pushed back.

    Parameters
    ----------
    wanted : sequence of float
        Centres, in the unit of the axis.
    heights : sequence of float
        Heights of the labels, in the same unit.
    low, high : float
        Ends of the axis.

    Returns
    -------
    list of float
    """
    order = sorted(range(len(wanted)), key=lambda place: -wanted[place])
    found = [0.0] * len(wanted)
    ceiling = high
    for place in order:
        found[place] = min(wanted[place], ceiling - heights[place] / 2)
        ceiling = found[place] - heights[place] / 2
    floor = low
    for place in reversed(order):
        found[place] = max(found[place], floor + heights[place] / 2)
        floor = found[place] + heights[place] / 2
    return found


def saved(drawn: Figure, path: str | Path, salt: str) -> None:
    """Write a figure in the format of the ending of ``path``; ``salt`` names things inside an SVG.

    Parameters
    ----------
    drawn : Figure
    path : str or Path
        Ends with .svg, .png or .pdf.
    salt : str
        Makes ids inside an SVG repeatable.

    Raises
    ------
    PublicParameterError
        For an ending that is not .svg, .png or .pdf.
    """
    path = Path(path)
    match path.suffix:
        case ".svg":
            replace(path, as_svg(drawn, salt).encode())
        case ".png" | ".pdf":
            drawn.savefig(path, dpi=150)
        case other:
            raise PublicParameterError(f"a figure is saved as .svg, .png or .pdf, not as '{other}'")
