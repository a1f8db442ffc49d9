"""Results of a survey: shares or a mean with intervals, the number of answers, and warnings.

Values are unclipped: an estimate below 0 is an estimate, and means of estimates stay unbiased. What is shown is clipped
to the possible range and says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN
from typing import TYPE_CHECKING, Final

from reticent.data.format import plain
from reticent.errors import PublicParameterError, QuestionError
from reticent.outcome import Estimate, number
from reticent.outcome import shown as text_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LINES: Final = 60  # of a figure
EVERYBODY: Final = "everybody"
UNCOUNTED: Final = "not among the answers this design can give"


@dataclass(frozen=True, slots=True)
class Share:
    """The estimate of one share, or of a mean.

    Attributes
    ----------
    label : str
        The answer; "mean" for a number.
    value, low, high : float
        Estimate and ends of its own interval, unclipped; a share as a fraction of 1.
    together : (float, float)
        Ends of an interval that holds with those of all other answers at the same time.
    consistent : float
        The nearest value among all that are possible: shares of 0 or more that add up to 1; a mean in its range.
    noise, sampling : float
        Half-widths due to the coins, and to asking a sample. Of a number: as if every truth were the mean.
    design_effect : float or None
        Variance over that of asking directly; None for a number, and where the estimate is no share inside (0, 1).
    """

    label: str
    value: float
    low: float
    high: float
    together: tuple[float, float]
    consistent: float
    noise: float
    sampling: float
    design_effect: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Estimates for one design; iterate over the answers, or ask ``value`` and its sisters where there is one number.

    Attributes
    ----------
    question : str
    shares : tuple of Share
        One for yes-no designs (the share of yes) and numbers, else one for each answer.
    answers, missing, off_list : int
        Answers that were counted, that were empty, that the design cannot give.
    caveats : tuple of str
    level : float
    limits : (float, float)
        What is possible: (0, 1) for shares, the range of a number.
    groups : tuple of (name, tuple of (key, Result))
        For ``by``.
    """

    question: str
    shares: tuple[Share, ...]
    answers: int
    missing: int
    off_list: int
    caveats: tuple[str, ...]
    level: float
    limits: tuple[float, float] = (0.0, 1.0)
    groups: tuple[tuple[str, tuple[tuple[str, Result], ...]], ...] = ()

    def __iter__(self) -> Iterator[Share]:
        return iter(self.shares)

    def __getitem__(self, label: str) -> Share:
        for share in self.shares:
            if share.label == label:
                return share
        raise QuestionError(f"there is no answer {label!r} here")

    @property
    def only(self) -> Share:
        """The estimate, where there is one."""
        if len(self.shares) != 1:
            raise QuestionError(f"there are {len(self.shares)} answers: iterate, or name one: result[label]")
        return self.shares[0]

    @property
    def value(self) -> float:
        return self.only.value

    @property
    def low(self) -> float:
        return self.only.low

    @property
    def high(self) -> float:
        return self.only.high

    @property
    def noise(self) -> float:
        """Half-width due to the coins alone."""
        return self.only.noise

    @property
    def sampling(self) -> float:
        """Half-width due to asking a sample."""
        return self.only.sampling

    @property
    def design_effect(self) -> float | None:
        return self.only.design_effect

    def by(self, name: str) -> dict[str, Result]:
        """The result of each subgroup, by a column named in ``estimate``; what is randomized may be cut at will."""
        for column, parts in self.groups:
            if column == name:
                return dict(parts)
        raise QuestionError(f"no groups by {name!r}: name them when estimating, groups=…")

    def to_json(self) -> dict[str, object]:
        """Everything as plain data: unclipped values, intervals, counts, caveats, subgroups."""
        return {
            "question": self.question,
            "level": self.level,
            "answers": self.answers,
            "missing": self.missing,
            "off_list": self.off_list,
            "limits": list(self.limits),
            "shares": [
                {
                    "label": share.label,
                    "value": share.value,
                    "low": share.low,
                    "high": share.high,
                    "together": list(share.together),
                    "consistent": share.consistent,
                    "noise": share.noise,
                    "sampling": share.sampling,
                    "design_effect": share.design_effect,
                }
                for share in self.shares
            ],
            "caveats": list(self.caveats),
            "groups": {name: {key: part.to_json() for key, part in parts} for name, parts in self.groups},
        }

    def dumps(self) -> str:
        """``to_json`` as text."""
        return json.dumps(self.to_json(), ensure_ascii=False, indent=2, allow_nan=False)

    def plot(self) -> Figure:
        """Estimates with their intervals, one line per answer, clipped to what is possible."""
        return figure([self])

    def __str__(self) -> str:
        lines = [_line(self, share) for share in self.shares]
        return "\n".join([*lines, *self.caveats])

    def __repr__(self) -> str:
        return str(self)


def shown(result: Result, share: Share) -> float:
    """The value that is displayed: of one share its own, of several the consistent one."""
    return share.value if len(result.shares) == 1 else share.consistent


def ends(result: Result, share: Share) -> tuple[float, float]:
    """The interval that is displayed: of several shares the one that holds for all."""
    return (share.low, share.high) if len(result.shares) == 1 else share.together


def clipped(number: float, limits: tuple[float, float]) -> float:
    return min(max(number, limits[0]), limits[1])


def _line(result: Result, share: Share) -> str:
    low, high = (clipped(end, result.limits) for end in ends(result, share))
    value = clipped(shown(result, share), result.limits)
    level = f"{100 * result.level:g} %"
    if share.label == "mean":
        text = text_of(Estimate(value, low, high, 0.0, 0.0))
        return f"{text.value} ({level} {text.low} to {text.high})"
    effect = "" if share.design_effect is None else f", design effect {share.design_effect:.1f}"
    name = "" if len(result.shares) == 1 else f"{share.label}: "
    return f"{name}{percent(value)} % ({level} {percent(low, ROUND_FLOOR)} to {percent(high, ROUND_CEILING)}){effect}"


def percent(share: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """A share in percent to one decimal place."""
    return number(100 * share, 1, rounding)


def checked_level(level: float) -> float:
    """A level between 1/2 and 1."""
    if not 0.5 <= level < 1:
        raise PublicParameterError(f"level lies in [0.5, 1), got {level}")
    return level


def interval_of(share: Share, value: float, low: float, high: float) -> tuple[str, str]:
    """A value and its interval as text, shares in percent.

    Parameters
    ----------
    share : Share
    value, low, high : float
        As they are displayed.

    Returns
    -------
    pair of str
    """
    if share.label == "mean":
        text = text_of(Estimate(value, low, high, 0.0, 0.0))
        return text.value, f"{text.low} to {text.high}"
    return f"{percent(value)} %", f"{percent(low, ROUND_FLOOR)} % to {percent(high, ROUND_CEILING)} %"


def every(result: Result) -> Iterator[tuple[str, Result]]:
    """The whole result and that of each subgroup, with their names."""
    yield "", result
    for name, parts in result.groups:
        for key, part in parts:
            yield f"{name} {key or '(not given)'}", part


def figure(results: Sequence[Result]) -> Figure:
    """Estimates with their intervals, whole and by group; it belongs to no window and no pyplot state."""
    from matplotlib.figure import Figure

    panels = [
        (result, [(name, part, share) for name, part in every(result) for share in part][:MOST_LINES])
        for result in results
    ]
    heights = [0.9 + 0.28 * len(rows) for _, rows in panels]
    drawn = Figure(figsize=(7.2, sum(heights) + 0.25), layout="constrained")
    grid = drawn.subplots(len(panels), 1, squeeze=False, height_ratios=heights)
    for (result, rows), (axes,) in zip(panels, grid, strict=True):
        limits = result.limits
        scale = 100 if limits == (0.0, 1.0) else 1
        for place, (_, part, share) in enumerate(rows):
            low, high = (scale * clipped(end, limits) for end in ends(part, share))
            axes.plot([low, high], [place, place], color="#3f4750", linewidth=2.2, solid_capstyle="butt")
            axes.plot([scale * clipped(shown(part, share), limits)], [place], "o", color="#0b4f85", markersize=5)
            told = interval_of(share, clipped(shown(part, share), limits), low / scale, high / scale)
            margin = axes.get_yaxis_transform()
            axes.text(1.01, place, f"{told[0]} ({told[1]})", transform=margin, fontsize=7.5, va="center")
        grouped = any(name for name, _, _ in rows)
        whole = EVERYBODY if grouped else ""
        names = [" · ".join(filter(None, (plain(name) or whole, plain(share.label)))) for name, _, share in rows]
        axes.set_yticks(range(len(rows)), names, fontsize=8, parse_math=False)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(scale * limits[0], scale * limits[1])
        axes.tick_params(axis="x", labelsize=8)
        axes.set_xlabel("% of people" if scale == 100 else "mean", fontsize=8)
        axes.set_title(plain(result.question), loc="left", fontsize=9.5, parse_math=False, wrap=True)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.tick_params(axis="y", length=0)
    levels = {f"{100 * result.level:g} %" for result in results}
    legend = f"dot: estimate · line: {' or '.join(sorted(levels))} interval, of chance answers and sampling together"
    drawn.supxlabel(legend, x=0.02, ha="left", fontsize=7.5, color="#6b7280")
    return drawn
