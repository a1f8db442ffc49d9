"""Means on the scale of logarithms, as they are asked for: ``log_mean(x)`` and ``geometric_mean(x)``.

A mean of skewed values cannot be had from a released interval of them; the mean of their logarithms can. Eighty binades
of public candidates are a range of 55 on that scale, so no value has to be cut where the data reach.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from reticent.data.query import Per
from reticent.errors import PublicParameterError
from reticent.privacy.numbers import Number, positive, read, show
from reticent.statistics.limits import check_limits

OfLogs: TypeAlias = Literal["log_mean", "geometric_mean"]


@dataclass(frozen=True, slots=True)
class LogMean:
    """The mean of the natural logarithms of the values above 0, or its exponential, their geometric mean."""

    column: str
    _: KW_ONLY
    verb: OfLogs = "log_mean"
    per: Per = "row"
    low: Fraction | None = None
    high: Fraction | None = None
    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        check_limits(self.epsilon, self.low, self.high)
        if self.verb not in get_args(OfLogs):
            raise PublicParameterError(f"there is no {self.verb!r} here: {', '.join(get_args(OfLogs))}")
        if self.per not in get_args(Per):
            raise PublicParameterError(f'per is "row" or "person", got {self.per!r}')
        if self.low is not None:
            positive(self.low, "low")

    @property
    def name(self) -> str:
        bounds = () if self.low is None or self.high is None else (f"low={show(self.low)}", f"high={show(self.high)}")
        person = ("per=person",) if self.per == "person" else ()
        return f"{self.verb}({', '.join((self.column, *bounds, *person))})"

    @property
    def counts_rows(self) -> bool:
        return self.per == "row"


def log_mean(
    column: str,
    *,
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
) -> LogMean:
    """The mean of the natural logarithms of the values above 0, with its 95 % interval.

    Parameters
    ----------
    column : str
    per : "row" or "person"
        "person" averages the rows of each person first, and takes the logarithm of that.
    low, high : number, optional
        Above 0 and known without the file: values above 0 that lie beyond count as the nearer one. Closer ones make
        less noise. By default those of the study where they are above 0, else the public reach, 2^-20 to 2^60.
    epsilon : number, optional
        A share of its own.

    Returns
    -------
    LogMean
        A question. Values of 0 and below have no logarithm: they are left out, and their noisy share is said. It gives
        no reply where the noisy number of the others is too small for a mean.
    """
    return LogMean(column, per=per, low=_read(low, "low"), high=_read(high, "high"), epsilon=_read(epsilon, "epsilon"))


def geometric_mean(
    column: str,
    *,
    per: Per = "row",
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
) -> LogMean:
    """The geometric mean of the values above 0, with its 95 % interval: the exponential of ``log_mean``.

    It is the median of a law that is symmetric on the scale of logarithms, and it is not the mean.
    """
    return LogMean(
        column,
        verb="geometric_mean",
        per=per,
        low=_read(low, "low"),
        high=_read(high, "high"),
        epsilon=_read(epsilon, "epsilon"),
    )


def _read(number: Number | None, name: str) -> Fraction | None:
    return None if number is None else read(number, name)
