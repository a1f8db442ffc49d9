"""Every statistic: the one list that grammar, docs, audits and tests read.

A new statistic is a module with a class, and a line here: its verb, and the place of the class below this folder. A
statistic is imported when its verb is first used. It is handed out under that verb: ``rt.mean`` is ``Mean``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

from reticent.statistics.statistic import Statistic

PLACES: Final[Mapping[str, str]] = {
    "count": "counts.count.Count",
    "persons": "counts.persons.Persons",
    "keys": "counts.key_list.KeyList",
    "capped": "counts.cap_share.CapShare",
    "incomplete": "counts.incomplete_share.IncompleteShare",
    "sum": "counts.total.Sum",
    "histogram": "counts.histogram.Histogram",
    "mean": "moments.mean.Mean",
    "log_mean": "moments.log_mean.LogMean",
    "geometric_mean": "moments.geometric_mean.GeometricMean",
    "proportion": "moments.proportion.Proportion",
    "variance": "moments.variance.Variance",
    "sd": "moments.sd.Sd",
    "median": "quantiles.median.Median",
    "quantile": "quantiles.quantile.Quantile",
    "quantiles": "quantiles.quantiles.Quantiles",
    "iqr": "quantiles.iqr.Iqr",
    "scale": "robust.scale.Scale",
    "trimmed_mean": "robust.trimmed_mean.TrimmedMean",
    "location": "robust.location.Location",
    "regress": "regression.regress.Regression",
    "test": "hypotheses.hypothesis_test.HypothesisTest",
    "density": "density.DensityOf",
}
INSIDE: Final = ("capped", "incomplete")  # asked beside answers: by their text, and under no name of the package
VALUES: Final[Mapping[str, str]] = {  # options of one statistic, which the package hands out beside it
    "Detail": "density.Detail",
    "Normal": "hypotheses.hypothesis_test.Normal",
}


@cache
def _at(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(import_module(f"reticent.statistics.{module}"), name)


class Kinds(Mapping[str, type[Statistic]]):
    """The registered statistics by their verbs, each imported when it is looked up."""

    def __getitem__(self, verb: str) -> type[Statistic]:
        found: type[Statistic] = _at(PLACES[verb])
        return found

    def __contains__(self, verb: object) -> bool:
        return verb in PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


KINDS: Final[Mapping[str, type[Statistic]]] = Kinds()


def all_statistics() -> tuple[type[Statistic], ...]:
    """Every registered statistic, in the order of the list."""
    return tuple(KINDS.values())


def public(name: str) -> Any:
    """The class that the package hands out under a name, or None: a statistic, or an option of one."""
    place = VALUES.get(name, "" if name in INSIDE else PLACES.get(name, ""))
    return _at(place) if place else None
