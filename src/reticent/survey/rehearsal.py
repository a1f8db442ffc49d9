"""A survey on made-up people: what the estimate would look like, before anybody is asked.

Truths and coins come from a replayed stream, so the same question gives the same rehearsal, and it is about nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from reticent.entropy import Entropy, Replayed, uniforms
from reticent.errors import PublicParameterError
from reticent.mechanisms.local_mean import LocalMean
from reticent.privacy.numbers import Number, read, show
from reticent.survey import device, estimate
from reticent.survey.design_record import DesignRecord
from reticent.survey.result import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray


WORK: Final = 20_000_000  # numbers drawn in one rehearsal, about: some seconds
RUNS: Final = 400
MOST: Final = 10_000_000  # people


@dataclass(frozen=True, slots=True, repr=False)
class SurveyRehearsal:
    """Many surveys of made-up people.

    Attributes
    ----------
    people, runs : int
    truths : tuple of (label, float)
        The shares that were made up; ("mean", value) for a number.
    first : Result
        The estimate of the first run.
    half_width, noise, sampling : float
        Averages over runs and answers, as fractions of 1 or in units of the number.
    covered, intervals : int
        How many intervals held the truth, of how many.
    outside : int
        How many estimates lay outside of what is possible, and would be shown clipped.
    """

    people: int
    runs: int
    truths: tuple[tuple[str, float], ...]
    first: Result
    half_width: float
    noise: float
    sampling: float
    covered: int
    intervals: int
    outside: int

    def __repr__(self) -> str:
        """Width with so many people, beside that of the same question asked openly, and how often it held the truth."""
        number = self.truths[0][0] == "mean"
        unit, scale = ("", 1.0) if number else (" points", 100.0)
        return (
            f"{self.people:,} made-up people: ± {scale * self.half_width:.2g}{unit}, asked openly ± "
            f"{scale * self.sampling:.2g}{unit}; {self.covered:,} of {self.intervals:,} intervals held the truth, in "
            f"{self.runs:,} surveys"
        )

    def to_json(self) -> dict[str, object]:
        """Everything as plain data."""
        return {
            "made_up": True,
            "people": self.people,
            "runs": self.runs,
            "truths": dict(self.truths),
            "first": self.first.to_json(),
            "half_width": self.half_width,
            "noise": self.noise,
            "sampling": self.sampling,
            "covered": self.covered,
            "intervals": self.intervals,
            "outside": self.outside,
        }


def simulate(
    design: DesignRecord,
    people: int,
    shares: Sequence[Number] = (),
    *,
    runs: int | None = None,
    level: float = 0.95,
) -> SurveyRehearsal:
    """Ask made-up people, again and again.

    Parameters
    ----------
    design : DesignRecord
        Design of the survey.
    people : int
        1 to 10 million.
    shares : sequence of numbers in [0, 1]
        For a yes-no question the share of yes (default 0.3); for a choice one share for each answer, in order, which
        add up to 1 (default: equal). For a number none: numbers are spread evenly over the range.
    runs : int, optional
        By default 400, or fewer where that would take long.
    level : float
        Confidence level of the intervals, in (0, 1).

    Returns
    -------
    SurveyRehearsal
        Estimates of each run beside the truth.

    Raises
    ------
    PublicParameterError
        For shares that are no law, or numbers out of range.
    """
    if type(people) is not int or not 1 <= people <= MOST:
        raise PublicParameterError(f"people must be 1 to {MOST:,}, got {people}")
    width = max(1, len(design.among))
    times = runs if runs is not None else max(20, min(RUNS, WORK // (people * width)))
    if times < 1:
        raise PublicParameterError(f"runs must be at least 1, got {times}")
    law = _law(design, shares)
    known = _known(design, law)
    found = [_one(design, people, law, run, level) for run in range(times)]
    every = [(share, known[share.label]) for result in found for share in result]
    low, high = found[0].limits
    return SurveyRehearsal(
        people,
        times,
        tuple(known.items()),
        found[0],
        float(np.mean([(share.high - share.low) / 2 for share, _ in every])),
        float(np.mean([share.noise for share, _ in every])),
        float(np.mean([share.sampling for share, _ in every])),
        sum(share.low <= truth <= share.high for share, truth in every),
        len(every),
        sum(not low <= share.value <= high for share, _ in every),
    )


def _law(design: DesignRecord, shares: Sequence[Number]) -> tuple[Fraction, ...]:
    size = len(design.among)
    given = tuple(read(share, "share") for share in shares)
    if not size:
        if given:
            raise PublicParameterError("a number has no shares: made-up numbers are spread evenly over the range")
        return ()
    if len(given) == 1 and size == 2:
        given = (given[0], 1 - given[0])
    if not given:
        given = (Fraction(3, 10), Fraction(7, 10)) if size == 2 else (Fraction(1, size),) * size
    if len(given) != size or min(given) < 0 or sum(given) != 1:
        stated = ", ".join(show(share) for share in given[:10])
        raise PublicParameterError(f"shares are {size} numbers of 0 or more that add up to 1, got {stated}")
    return given


def _known(design: DesignRecord, law: tuple[Fraction, ...]) -> dict[str, float]:
    if isinstance(design.mechanism, LocalMean):
        low, high = estimate_range(design)
        return {"mean": (low + high) / 2}
    return {label: float(share) for label, share in zip(design.among, law, strict=True)}


def estimate_range(design: DesignRecord) -> tuple[float, float]:
    """The range of a number, as floats."""
    if design.low is None or design.high is None:
        raise PublicParameterError("this design is not about a number")
    return float(design.low), float(design.high)


def _one(design: DesignRecord, people: int, law: tuple[Fraction, ...], run: int, level: float) -> Result:
    entropy = Replayed(f"reticent survey simulate {design.fingerprint} {people} {law} {run}")
    heard = device.many(design, _truths(design, people, law, entropy), entropy)
    return estimate.of_answers(design, heard, groups={}, interval="wilson", level=level)


def _truths(design: DesignRecord, people: int, law: tuple[Fraction, ...], entropy: Entropy) -> NDArray[np.generic]:
    """Made-up truths: floats will do, since nobody's privacy hangs on them."""
    even = uniforms(people, entropy)
    if not law:
        low, high = estimate_range(design)
        return low + (high - low) * even
    there = np.flatnonzero([share > 0 for share in law])
    ends = np.cumsum([float(law[place]) for place in there])
    return there[np.minimum(np.searchsorted(ends, even, side="right"), len(there) - 1)].astype(np.int64)
