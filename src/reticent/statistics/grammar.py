"""The grammar of the study file and the command line: text to a statistic, and the column of its groups.

    count    persons    mean(mdvis)    quantile(x, 0.9)    quantiles(x, 0.1 0.5 0.9)    histogram(mdvis, edges=0:50:5)
    proportion(hlthg, value=1)    mean(x, per=person, epsilon=0.1)    iqr(disea, low=0, high=60)    mean(mdvis) by site
    scale(x, method=S, mode=paper)    trimmed_mean(x, trim=0.1)    location(x)    regress(y ~ a + b, method=R_H)
    test(y ~ g, kind=ranks)

Text is public: a refusal may quote it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final, TypeVar, get_args

from reticent.data.query import Per
from reticent.errors import QuestionError
from reticent.privacy.numbers import Number, read
from reticent.statistics.density import Growth, OfDensity, Private, Settled
from reticent.statistics.hypotheses.hypothesis_test import OfTest
from reticent.statistics.logarithms import geometric_mean, log_mean
from reticent.statistics.questions import (
    count,
    density,
    histogram,
    iqr,
    location,
    mean,
    median,
    persons,
    proportion,
    quantile,
    quantiles,
    regress,
    scale,
    sd,
    sum,  # noqa: A004 - the public word
    test,
    trimmed_mean,
    variance,
)
from reticent.statistics.specs import (
    MOST_BINS,
    QUARTILES,
    CapShare,
    IncompleteShare,
    Mode,
    OfIqr,
    OfMean,
    OfQuantiles,
    OfRegression,
    OfScale,
    OfTrimmed,
    Statistic,
)

T = TypeVar("T")

_RANGE: Final = ("low", "high", "epsilon")
_FULL: Final = ("per", *_RANGE, "interval")
_TESTED: Final = ("mode", "delta", "unit")
_DETAIL: Final = ("cells", "degree", "iterations")
VERBS: Final[Mapping[str, tuple[str, ...]]] = {
    "count": ("epsilon",),
    "persons": ("epsilon",),
    "capped": ("epsilon",),
    "incomplete": ("epsilon",),
    "sum": _RANGE,
    "mean": ("method", "tail", "centre", "radius", "deviation", *_FULL, "delta"),
    "log_mean": ("per", *_RANGE),
    "geometric_mean": ("per", *_RANGE),
    "proportion": ("value", "epsilon"),
    "variance": _FULL,
    "sd": _FULL,
    "histogram": ("edges", "epsilon"),
    "median": ("method", *_FULL, *_TESTED, "width"),
    "quantile": ("level", "method", *_FULL, *_TESTED, "width"),
    "quantiles": ("levels", "method", *_FULL),
    "iqr": ("method", *_FULL, *_TESTED),
    "scale": ("levels", "method", "per", "epsilon", *_TESTED),
    "trimmed_mean": ("trim", "method", "per", "epsilon", *_TESTED),
    "location": ("bend", "per", "epsilon"),
    "regress": ("method", "blocks", "reference", "epsilon", *_TESTED),
    "test": ("kind", "among", "value", "edges", "centre", "deviation", "density", *_RANGE),
    "density": ("method", *_DETAIL, "size", "bandwidth", "settle", "atoms", "checks", *_RANGE, "delta"),
}
LISTS: Final = ("levels", "edges", "atoms", "among", "reference")
BARE: Final = ("count", "persons", "capped")
SYNONYMS: Final[Mapping[str, str]] = {
    "average": "mean",
    "avg": "mean",
    "std": "sd",
    "stddev": "sd",
    "var": "variance",
    "n": "count",
    "total": "sum",
    "people": "persons",
    "percentile": "quantile",
    "hist": "histogram",
    "share": "proportion",
    "trimmed": "trimmed_mean",
    "huber": "location",
    "regression": "regress",
    "ols": "regress",
    "m": "median",
    "s": "scale",
    "tm": "trimmed_mean",
    "r_s": "regress",
    "r_h": "regress",
    "theil_sen": "regress",
    "coinpress": "mean",
    "gmean": "geometric_mean",
    "geomean": "geometric_mean",
    "meanlog": "log_mean",
    "synthesize": "density",
    "kde": "density",
    "t_test": "test",
    "ttest": "test",
    "chisq": "test",
    "chi_square": "test",
    "mann_whitney": "test",
    "kruskal": "test",
    "wilcoxon": "test",
    "correlation": "test",
    "cor": "test",
    "missing": "incomplete",
    "unreadable": "incomplete",
    "ks": "test",
}
_ASKED: Final = re.compile(r"\s*([A-Za-z_]+)\s*(?:\((.*)\))?\s*(?:\bby\s+(\S+(?:\s+\S+)*))?\s*", re.DOTALL)


def parse(text: str) -> tuple[Statistic, str | None]:
    """A statistic and the column after ``by``, if any.

    Raises
    ------
    QuestionError
        For an unknown word or option, with the nearest known one; for a column or level that is not there.
    """
    match = _ASKED.fullmatch(text)
    if match is None:
        if re.fullmatch(r"\s*(\*|select\b.*)\s*", text, re.IGNORECASE | re.DOTALL):
            raise QuestionError("Rows cannot be released. Ask for counts, means, quantiles, or: reticent synth.")
        raise QuestionError(
            f"'{text}' cannot be read. Write for example: count, mean(x), quantile(x, 0.9), mean(x) by g."
        )
    verb, inner, by = match.group(1).lower(), match.group(2), match.group(3)
    if verb not in VERBS:
        raise QuestionError(_unknown("statistic", verb, list(VERBS), SYNONYMS.get(verb)))
    plain, named = _arguments(inner or "")
    if verb not in BARE:
        if not plain:
            raise QuestionError(f"{verb} of which column? Write {verb}(column).")
        if verb not in ("density", "incomplete"):
            named = {**_positional(verb, plain[1:]), **named}
    elif plain:
        raise QuestionError(f"{verb} takes no column. Write {verb}.")
    for option in named:
        if option not in VERBS[verb]:
            meant = "atoms=missing" if (verb, option) == ("density", "missing") else None
            raise QuestionError(_unknown(f"option of {verb}", option, list(VERBS[verb]), meant))
    if verb == "density":
        return _density(plain, named), by
    if verb == "incomplete":
        share = named.get("epsilon")
        return IncompleteShare(tuple(plain), epsilon=None if share is None else read(share, "epsilon")), by
    return _build(verb, plain[0] if plain else "", named), by


def _arguments(inner: str) -> tuple[list[str], dict[str, str]]:
    plain: list[str] = []
    named: dict[str, str] = {}
    last = ""
    for part in (piece.strip() for piece in inner.split(",")):
        option = re.fullmatch(r"([A-Za-z_]+)\s*=\s*(.*)", part, re.DOTALL)
        if option:
            last = option.group(1)
            if last in named:
                raise QuestionError(f"{last} is given twice")
            named[last] = option.group(2).strip()
        elif last in LISTS and part:
            named[last] += " " + part  # a list written with commas
        elif part:
            if named:
                raise QuestionError(f"'{part}' must stand before the options with '='")
            plain.append(part)
        elif inner.strip():
            raise QuestionError("there is an empty place between commas")
    return plain, {name: _unpacked(text) if name in LISTS else text for name, text in named.items()}


def _unpacked(text: str) -> str:
    """A list as the text of options has it: ``[0, 4]`` and ``["f", "m"]``, as in Python, are ``0 4`` and ``f m``."""
    if not (text.startswith("[") and text.endswith("]")):
        return text
    return " ".join(part.strip("'\"") if len(part) > 2 else part for part in text[1:-1].split())


def _positional(verb: str, rest: list[str]) -> dict[str, str]:
    """Levels may follow the column without a name."""
    if not rest:
        return {}
    if verb == "quantile" and len(rest) == 1:
        return {"level": rest[0]}
    if verb in ("quantiles", "scale"):
        return {"levels": " ".join(rest)}
    if verb in ("trimmed_mean", "location") and len(rest) == 1:
        return {"trim" if verb == "trimmed_mean" else "bend": rest[0]}
    raise QuestionError(f"{verb} takes one column; '{rest[0]}' is one too many. Options are written name=value.")


def _build(verb: str, column: str, named: Mapping[str, str]) -> Statistic:
    epsilon, low, high = named.get("epsilon"), named.get("low"), named.get("high")
    per = _one("per", named.get("per", "row"), get_args(Per))
    interval = _yes(named.get("interval", "yes"))
    method, mode = named.get("method", "auto"), _one("mode", named.get("mode", "exact"), get_args(Mode))
    delta, unit, width = named.get("delta"), named.get("unit"), named.get("width")
    match verb:
        case "count":
            return count(epsilon=epsilon)
        case "persons":
            return persons(epsilon=epsilon)
        case "capped":
            return CapShare(epsilon=None if epsilon is None else read(epsilon, "epsilon"))
        case "sum":
            return sum(column, low=low, high=high, epsilon=epsilon)
        case "proportion":
            return proportion(column, value=_value(named.get("value")), epsilon=epsilon)
        case "histogram":
            return histogram(column, edges=_edges(named.get("edges", "")), epsilon=epsilon)
        case "quantile":
            level: Number = _needed(named, "level", "quantile(x, 0.9)")
            return quantile(
                column,
                level,
                method=_one("method", method, get_args(OfQuantiles)),
                per=per,
                low=low,
                high=high,
                epsilon=epsilon,
                interval=interval,
                mode=mode,
                delta=delta,
                unit=unit,
                width=width,
            )
        case "quantiles":
            levels = _needed(named, "levels", "quantiles(x, 0.1 0.5 0.9)").split()
            return quantiles(
                column,
                levels,
                method=_one("method", method, get_args(OfQuantiles)),
                per=per,
                low=low,
                high=high,
                epsilon=epsilon,
                interval=interval,
            )
        case "mean":
            return mean(
                column,
                method=_one("method", method, get_args(OfMean)),
                tail=named.get("tail"),
                centre=named.get("centre"),
                radius=named.get("radius"),
                deviation=named.get("deviation"),
                per=per,
                low=low,
                high=high,
                epsilon=epsilon,
                interval=interval,
                delta=delta,
            )
        case "log_mean" | "geometric_mean":
            mean_of_logs = log_mean if verb == "log_mean" else geometric_mean
            return mean_of_logs(column, per=per, low=low, high=high, epsilon=epsilon)
        case "variance":
            return variance(column, per=per, low=low, high=high, epsilon=epsilon, interval=interval)
        case "sd":
            return sd(column, per=per, low=low, high=high, epsilon=epsilon, interval=interval)
        case "median":
            return median(
                column,
                method=_one("method", method, get_args(OfQuantiles)),
                per=per,
                low=low,
                high=high,
                epsilon=epsilon,
                interval=interval,
                mode=mode,
                delta=delta,
                unit=unit,
                width=width,
            )
        case "scale":
            between = named["levels"].split() if "levels" in named else QUARTILES
            of_scale = _one("method", named.get("method", "S"), get_args(OfScale))
            return scale(column, between, method=of_scale, per=per, epsilon=epsilon, mode=mode, delta=delta, unit=unit)
        case "trimmed_mean":
            trim, of_trimmed = named.get("trim", "0.1"), _one("method", method, get_args(OfTrimmed))
            return trimmed_mean(
                column, trim, method=of_trimmed, per=per, epsilon=epsilon, mode=mode, delta=delta, unit=unit
            )
        case "location":
            return location(column, named.get("bend", "2"), per=per, epsilon=epsilon)
        case "regress":
            of_regression = _one("method", method, get_args(OfRegression))
            blocks = _whole(named.get("blocks"), "blocks")
            return regress(
                column,
                method=of_regression,
                blocks=blocks,
                reference=tuple(named.get("reference", "").split()),
                epsilon=epsilon,
                mode=mode,
                delta=delta,
                unit=unit,
            )
        case "test":
            return test(
                column,
                kind=_one("kind", named.get("kind", "auto"), get_args(OfTest)),
                among=named.get("among", "").split(),
                value=_value(named.get("value")),
                edges=_edges(named.get("edges", "")),
                centre=named.get("centre"),
                deviation=named.get("deviation"),
                density=named.get("density"),
                low=low,
                high=high,
                epsilon=epsilon,
            )
        case _:
            return iqr(
                column,
                method=_one("method", method, get_args(OfIqr)),
                per=per,
                low=low,
                high=high,
                epsilon=epsilon,
                interval=interval,
                mode=mode,
                delta=delta,
                unit=unit,
            )


def _density(columns: list[str], named: Mapping[str, str]) -> Statistic:
    size = named.get("size")
    return density(
        columns,
        method=_one("method", named.get("method", "auto"), get_args(OfDensity)),
        cells=_detail(named.get("cells"), "cells"),
        degree=_detail(named.get("degree"), "degree"),
        bandwidth=named.get("bandwidth"),
        iterations=_whole(named.get("iterations"), "iterations"),
        size=_one("size", size, get_args(Growth), "a number") if size and size[0].isalpha() else _whole(size, "size"),
        settle=_one("settle", named.get("settle", "simplex"), get_args(Settled)),
        atoms=named["atoms"].split() if "atoms" in named else None,
        checks=named.get("checks", "0"),
        low=named.get("low"),
        high=named.get("high"),
        epsilon=named.get("epsilon"),
        delta=named.get("delta"),
    )


def _detail(text: str | None, name: str) -> int | Private | None:
    return _one(name, text, get_args(Private), "a number") if text and text[0].isalpha() else _whole(text, name)


def _needed(named: Mapping[str, str], option: str, example: str) -> str:
    if not named.get(option):
        raise QuestionError(f"which level? Write {example}.")
    return named[option]


def _one(option: str, text: str, known: tuple[T, ...], *more: str) -> T:
    """The known word that the text is; ``more`` is what else it may be."""
    for word in known:
        if word == text:
            return word
    raise QuestionError(_unknown(f"value of {option}", text, [*map(str, known), *more]))


def _whole(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise QuestionError(f"{name} is a whole number of up to nine digits, got '{text}'")
    return int(text)


def _yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise QuestionError(_unknown("value of interval", text, ["yes", "no"]))
    return text == "yes"


def _value(text: str | None) -> str | None:
    """The text of a value; ``prepare`` finds the key of the category it means."""
    return None if text is None else text.strip("\"'")


def _edges(text: str) -> tuple[Fraction, ...]:
    """``0:50:5`` is start, stop (included) and step; otherwise the edges themselves."""
    if ":" not in text:
        return tuple(read(edge, "edges") for edge in text.split())
    parts = text.split(":")
    if len(parts) != 3:
        raise QuestionError("edges=start:stop:step needs three numbers, such as edges=0:50:5")
    start, stop, step = (read(part, "edges") for part in parts)
    if step <= 0 or stop <= start:
        raise QuestionError("edges=start:stop:step needs start below stop and a step above 0")
    if (stop - start) / step > MOST_BINS:
        raise QuestionError(f"edges={text} has more than {MOST_BINS:,} bins")
    if ((stop - start) / step).denominator != 1:
        raise QuestionError(f"edges={text}: the steps from {parts[0]} do not reach {parts[1]}, which is the last edge")
    return tuple(start + i * step for i in range(int((stop - start) / step) + 1))


def _unknown(what: str, word: str, known: list[str], meant: str | None = None) -> str:
    near = [meant] if meant else difflib.get_close_matches(word, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"There is no {what} '{word}'.{hint} Known: {', '.join(known)}."
