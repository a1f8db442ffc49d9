"""From tallies to estimates: unbiased, with intervals whose coverage is measured, and checks of what came in.

A share f is heard with probability s = f c + (1 - f) d, so (heard share - d) / (c - d) is unbiased. Its interval is
that of the binomial share s (Wilson 1927, or Clopper and Pearson 1934: at least the level), mapped by the same line.
Where at most 3 messages say it, or do not, a normal law is poor: that end is Clopper and Pearson's (as Brown, Cai and
DasGupta 2001 do by a Poisson law). Several answers: intervals at 1 - (1 - level) / k hold together (Bonferroni), if
each covers as often as it says so far out, which Clopper and Pearson's do. The estimates are projected on the simplex.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.errors import CheckError, PublicParameterError
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.one_sided import OneSided
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.survey import variance
from reticent.survey.column_tallies import tallies
from reticent.survey.design_record import DesignRecord, chances
from reticent.survey.result import Result, Share, checked_level
from reticent.survey.tally import Answers, ReportTally, tally

Interval: TypeAlias = Literal["wilson", "exact"]
Rule: TypeAlias = Literal["wilson", "exact", "former"]  # former: Wilson's everywhere, as records up to 0.1.0 have it
SUSPECT: Final = 0.01  # of a check that nothing is wrong with
IMPOSSIBLE: Final = 1e-6  # likewise: below it there is no estimate
MOST_GROUPS: Final = 1000
FEW: Final = 3  # messages: with fewer of a kind Wilson's interval misses a rare share up to three times too often


def offered(interval: Interval) -> Interval:
    """The interval that was asked for, of the two that anybody may ask for."""
    if interval not in ("wilson", "exact"):
        raise PublicParameterError('interval is "wilson" or "exact"')
    return interval


def of_answers(
    design: DesignRecord,
    answers: Answers,
    *,
    groups: Mapping[str, Sequence[object]],
    interval: Interval,
    level: float,
) -> Result:
    """See ``Design.estimate``.

    Parameters
    ----------
    design : DesignRecord
    answers : sequence of tokens, array, or mapping of tokens to counts
    groups : mapping of name to one value per answer
    interval : "wilson" or "exact"
    level : float
        Coverage of each interval, in (0, 1).

    Returns
    -------
    Result
        Shares in [0, 1], or a mean in the unit of the question.

    Raises
    ------
    PublicParameterError
        Groups of counted answers, or as many groups as fit no answer.
    """
    parts: dict[str, dict[str, ReportTally]] = {}
    if groups:
        if isinstance(answers, Mapping):
            raise PublicParameterError("counts have no groups: give the answers themselves")
        array = answers if isinstance(answers, np.ndarray) else _objects(answers)
        for name, values in groups.items():
            keys = np.array([str(value) for value in values])
            if len(keys) != len(array):
                raise PublicParameterError(f"groups by {name!r} need one value for each answer")
            parts[name] = {str(key): tally(design, array[keys == key]) for key in _few(name, np.unique(keys))}
    return of_tally(design, tally(design, answers), parts, interval=interval, level=level)


def of_table(
    design: DesignRecord,
    path: Path,
    column: str,
    *,
    table: str | None,
    groups: tuple[str, ...],
    respondent: str | None,
    code: str | None,
    interval: Rule,
    level: float,
) -> Result:
    """See ``Design.estimate_table``.

    Parameters
    ----------
    design : DesignRecord
    path : Path
        A CSV, Parquet or DuckDB file.
    column : str
        Column of the randomized answers.
    table : str or None
        Table of a DuckDB file.
    groups : tuple of str
        Columns of subgroups.
    respondent : str or None
        Column that says who answered.
    code : str or None
        Column that holds ``Design.code``.
    interval : "wilson" or "exact"
    level : float
        Coverage of each interval, in (0, 1).

    Returns
    -------
    Result
        Shares in [0, 1], or a mean in the unit of the question.
    """
    whole, parts = tallies(design, path, column, table=table, groups=groups, respondent=respondent, code=code)
    return of_tally(design, whole, parts, interval=interval, level=level)


def of_tally(
    design: DesignRecord,
    heard: ReportTally,
    groups: Mapping[str, Mapping[str, ReportTally]] | None = None,
    *,
    interval: Rule = "wilson",
    level: float = 0.95,
) -> Result:
    """The result of counted answers, with that of each subgroup.

    Parameters
    ----------
    design : DesignRecord
    heard : ReportTally
        Counts of the tokens.
    groups : mapping of column to mapping of group to ReportTally, optional
    interval : "wilson" or "exact"
    level : float
        Coverage of each interval, in (0, 1).

    Returns
    -------
    Result
        Shares in [0, 1], or a mean in the unit of the question.

    Raises
    ------
    PublicParameterError
        Another interval, or no answer to estimate from.
    CheckError
        Answers that contradict the design: of a survey that follows it, one in a million does.
    """
    checked_level(level)
    if heard.answers == 0:
        raise PublicParameterError(" ".join(("there is no answer to estimate from.", *_counts(heard))).rstrip("."))
    cheating = _cheating(design, heard)
    shares: tuple[Share, ...]
    if isinstance(design.mechanism, LocalMean):
        shares, limits = (_mean(design, design.mechanism, heard, interval, level),), _limits(design)
    else:
        shares, limits = _shares(design, heard, interval, level), (0.0, 1.0)
    found = tuple(
        (
            name,
            tuple(
                (key, of_tally(design, part, interval=interval, level=level))
                for key, part in sorted(parts.items())
                if part.answers
            ),
        )
        for name, parts in (groups or {}).items()
    )
    caveats = (*_clipping(shares, limits), *_counts(heard), *cheating)
    return Result(design.question, shares, heard.answers, heard.missing, heard.off_list, caveats, level, limits, found)


def _objects(answers: Sequence[object]) -> NDArray[np.object_]:
    out = np.empty(len(answers), dtype=object)
    out[:] = list(answers)
    return out


def _few(name: str, keys: NDArray[np.str_]) -> NDArray[np.str_]:
    if len(keys) > MOST_GROUPS:
        raise PublicParameterError(f"{name!r} has more than {MOST_GROUPS} groups")
    return keys


def _shares(design: DesignRecord, heard: ReportTally, interval: Rule, level: float) -> tuple[Share, ...]:
    hit, miss = chances(design)
    binary = isinstance(design.mechanism, RandomizedResponse | OneSided)  # the share of yes says all
    support = heard.support[:1] if binary else heard.support
    labels = design.among[:1] if binary else design.among
    n, gap = heard.answers, float(hit - miss)
    estimates = (support / n - float(miss)) / gap
    consistent = np.clip(estimates, 0, 1) if binary else simplex(estimates)
    low, high = (_mapped(end, hit, miss) for end in bounds(support, n, level, interval))
    joint = 1 - (1 - level) / len(support)
    rule: Rule = interval if binary or interval == "former" else "exact"
    low_all, high_all = (_mapped(end, hit, miss) for end in bounds(support, n, joint, rule))
    z = variance.quantile(level)
    found = []
    for place, label in enumerate(labels):
        value = float(estimates[place])
        inside = min(max(value, 0.0), 1.0)
        direct, whole = inside * (1 - inside), variance.of_share(hit, miss, inside)
        found.append(
            Share(
                label,
                value,
                float(low[place]),
                float(high[place]),
                (float(low_all[place]), float(high_all[place])),
                float(consistent[place]),
                z * math.sqrt(max(whole - direct, 0.0) / n),
                z * math.sqrt(direct / n),
                whole / direct if direct else None,
            )
        )
    return tuple(found)


def _mapped(ends: NDArray[np.float64], hit: Fraction, miss: Fraction) -> NDArray[np.float64]:
    return np.asarray((ends - float(miss)) / float(hit - miss))


def bounds(
    heard: NDArray[np.int64], n: int, level: float, interval: Rule
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of the interval of a binomial share, for each count of ``heard`` out of ``n``.

    Parameters
    ----------
    heard : array of shape (k,), int
        Counts.
    n : int
        Number of answers.
    level : float
        Coverage, in (0, 1).
    interval : "wilson" or "exact"

    Returns
    -------
    pair of arrays of shape (k,)
        Shares in [0, 1].
    """
    from scipy.special import betaincinv

    rest, tail = n - heard, (1 - level) / (2 if interval == "exact" else 1)
    low, high = np.zeros(len(heard)), np.ones(len(heard))
    low[heard > 0] = betaincinv(heard[heard > 0], rest[heard > 0] + 1, tail)
    high[rest > 0] = betaincinv(heard[rest > 0] + 1, rest[rest > 0], 1 - tail)
    if interval == "exact":
        return low, high
    square = variance.quantile(level) ** 2
    centre = (heard + square / 2) / (n + square)
    radius = np.sqrt(square * (heard * rest / n + square / 4)) / (n + square)
    if interval == "former":
        return centre - radius, centre + radius
    # of a rare share the lower end alone misses, so that the tail of that end is all of 1 - level
    return (
        np.minimum(centre - radius, np.where(heard <= FEW, low, 1.0)),
        np.maximum(centre + radius, np.where(rest <= FEW, high, 0.0)),
    )


def simplex(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest point with coordinates of 0 or more that add up to 1 (Held, Wolfe and Crowder 1974)."""
    ranked = np.sort(values)[::-1]
    excess = (np.cumsum(ranked) - 1) / np.arange(1, len(ranked) + 1)
    cut = excess[np.flatnonzero(ranked > excess)[-1]]
    return np.asarray(np.maximum(values - cut, 0.0))


def _limits(design: DesignRecord) -> tuple[float, float]:
    if design.low is None or design.high is None:
        raise PublicParameterError("this design is not about a number")
    return float(design.low), float(design.high)


def _mean(design: DesignRecord, made: LocalMean, heard: ReportTally, interval: Rule, level: float) -> Share:
    """Mean with its interval; of two places the interval of the share of one is mapped.

    With more places it is the normal interval of their mean.
    """
    low, high = _limits(design)
    unit = (high - low) / made.cells
    slope = float(made.value(1) - made.value(0))
    value = float(made.value(0)) + slope * np.arange(made.places)
    n = heard.answers
    mean = float(heard.support @ value) / n
    spread = float(heard.support @ (value - mean) ** 2) / (n - 1) if n > 1 else _most(made)
    z = variance.quantile(level)
    half = z * unit * math.sqrt(spread / n)
    at = variance.of_places(made)[round(min(max(mean, 0.0), float(made.cells)))]
    noise = min(half, z * unit * math.sqrt(float(at) / n))
    estimate = low + unit * mean
    ends = (estimate - half, estimate + half)
    if made.places == 2:
        share_low, share_high = bounds(heard.support[1:], n, level, interval)
        ends = (float(value[0] + slope * share_low[0]), float(value[0] + slope * share_high[0]))
        ends = (low + unit * ends[0], low + unit * ends[1])
    elif interval == "exact":
        raise PublicParameterError(
            "a place on a scale has no exact interval: leave interval out, or ask with method duchi"
        )
    inside = min(max(estimate, low), high)
    return Share("mean", estimate, *ends, ends, inside, noise, math.sqrt(half**2 - noise**2))


def _most(made: LocalMean) -> float:
    """The largest variance of one value heard, in cells squared: one answer has no spread of its own."""
    return (variance.worst_mean(made) + 0.25) * made.cells**2


def _clipping(shares: tuple[Share, ...], limits: tuple[float, float]) -> tuple[str, ...]:
    beyond = [share for share in shares if not limits[0] <= share.value <= limits[1]]
    if not beyond:
        return ()
    scale, unit = (100, " %") if limits == (0.0, 1.0) else (1, "")
    named = ", ".join(
        f"{'' if len(shares) == 1 else share.label + ' '}{scale * share.value:.3g}{unit} "
        f"({scale * share.low:.3g} to {scale * share.high:.3g})"
        for share in beyond[:5]
    )
    more = f" and {len(beyond) - 5} more" if len(beyond) > 5 else ""
    return (f"Clipped for display: the unbiased estimate is {named}{more}.",)


def _counts(heard: ReportTally) -> tuple[str, ...]:
    found = []
    if heard.missing:
        found.append(f"{heard.missing:,} of {_all(heard):,} gave no answer and are not in the estimate.")
    if heard.off_list:
        found.append(
            f"{heard.off_list:,} of {_all(heard):,} answers are none this design can give: counted here, not guessed, "
            f"not in the estimate.{_meant(heard)}"
        )
    return tuple(found)


def _meant(heard: ReportTally) -> str:
    """A question where answers off the list are some of the list, but for capitals."""
    if not heard.meant:
        return ""
    return f" Did you mean {' or '.join(map(repr, heard.meant[:3]))}? Capitals count."


def _all(heard: ReportTally) -> int:
    return heard.answers + heard.missing + heard.off_list


def _cheating(design: DesignRecord, heard: ReportTally) -> tuple[str, ...]:
    """One-sided tests that an answer is heard less than nobody's truth explains, or more than everybody's."""
    if isinstance(design.mechanism, LocalMean):
        return ()
    from scipy.stats import binom

    hit, miss = (float(chance) for chance in chances(design))
    n, labels = heard.answers, design.among if len(heard.support) > 2 else design.among[:1]
    support = heard.support[: len(labels)]
    few, many = binom.cdf(support, n, miss), binom.sf(support - 1, n, hit)
    tests = 2 * len(labels)
    found = []
    for label, count, low, high in zip(labels, support.tolist(), few.tolist(), many.tolist(), strict=True):
        chance = min(low, high) * tests
        if chance < IMPOSSIBLE:
            raise CheckError(
                " ".join(
                    (
                        f"There is no estimate. '{label}' was heard {count:,} times of {n:,}, which contradicts the "
                        f"design: with its coins that is rarer than one in a million, whatever the truth.",
                        *_counts(heard),
                    )
                )
            )
        if chance < SUSPECT:
            side, chance, share = ("fewer", low, miss) if low < high else ("more", high, hit)
            truth = "nobody's" if side == "fewer" else "everybody's"
            found.append(
                f"'{label}' was heard {count:,} times of {n:,}, {side} than the {share * n:,.0f} expected if {truth} "
                f"truth is '{label}' (p {min(1.0, chance * tests):.1g}): some did not follow the coins, or the answers "
                "are not to this design."
            )
    return tuple(found[:5])
