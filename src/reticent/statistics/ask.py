"""The grammar of the study file and the command line: text to a statistic, and the column of its groups.

    count    persons    mean(mdvis)    quantile(x, 0.9)    quantiles(x, 0.1 0.5 0.9)    histogram(mdvis, edges=0:50:5)
    proportion(hlthg, value=1)    mean(x, per=person, epsilon=0.1)    iqr(disea, low=0, high=60)    mean(mdvis) by site

Text is public: a refusal may quote it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final, cast

from reticent.data.query import Per
from reticent.errors import QuestionError
from reticent.privacy.numbers import Number, read
from reticent.statistics.asked import (
    MOST_BINS,
    CapShare,
    Statistic,
    count,
    histogram,
    iqr,
    mean,
    median,
    persons,
    proportion,
    quantile,
    quantiles,
    sd,
    sum,  # noqa: A004 - the public word
    variance,
)

_RANGE: Final = ("low", "high", "epsilon")
_FULL: Final = ("per", *_RANGE, "interval")
VERBS: Final[Mapping[str, tuple[str, ...]]] = {
    "count": ("epsilon",),
    "persons": ("epsilon",),
    "capped": ("epsilon",),
    "sum": _RANGE,
    "mean": _FULL,
    "proportion": ("value", "epsilon"),
    "variance": _FULL,
    "sd": _FULL,
    "histogram": ("edges", "epsilon"),
    "median": _FULL,
    "quantile": ("level", *_FULL),
    "quantiles": ("levels", *_FULL),
    "iqr": _FULL,
}
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
        named = {**_positional(verb, plain[1:]), **named}
    elif plain:
        raise QuestionError(f"{verb} takes no column. Write {verb}.")
    for option in named:
        if option not in VERBS[verb]:
            raise QuestionError(_unknown(f"option of {verb}", option, list(VERBS[verb])))
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
        elif last in ("levels", "edges") and part:
            named[last] += " " + part  # a list written with commas
        elif part:
            if named:
                raise QuestionError(f"'{part}' must stand before the options with '='")
            plain.append(part)
        elif inner.strip():
            raise QuestionError("there is an empty place between commas")
    return plain, named


def _positional(verb: str, rest: list[str]) -> dict[str, str]:
    """Levels may follow the column without a name."""
    if not rest:
        return {}
    if verb == "quantile" and len(rest) == 1:
        return {"level": rest[0]}
    if verb == "quantiles":
        return {"levels": " ".join(rest)}
    raise QuestionError(f"{verb} takes one column; '{rest[0]}' is one too many. Options are written name=value.")


def _build(verb: str, column: str, named: Mapping[str, str]) -> Statistic:
    epsilon, low, high = named.get("epsilon"), named.get("low"), named.get("high")
    per = _per(named.get("per", "row"))
    interval = _yes(named.get("interval", "yes"))
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
            return quantile(column, level, per=per, low=low, high=high, epsilon=epsilon, interval=interval)
        case "quantiles":
            levels = _needed(named, "levels", "quantiles(x, 0.1 0.5 0.9)").split()
            return quantiles(column, levels, per=per, low=low, high=high, epsilon=epsilon, interval=interval)
        case "mean":
            return mean(column, per=per, low=low, high=high, epsilon=epsilon, interval=interval)
        case "variance":
            return variance(column, per=per, low=low, high=high, epsilon=epsilon, interval=interval)
        case "sd":
            return sd(column, per=per, low=low, high=high, epsilon=epsilon, interval=interval)
        case "median":
            return median(column, per=per, low=low, high=high, epsilon=epsilon, interval=interval)
        case _:
            return iqr(column, per=per, low=low, high=high, epsilon=epsilon, interval=interval)


def _needed(named: Mapping[str, str], option: str, example: str) -> str:
    if not named.get(option):
        raise QuestionError(f"which level? Write {example}.")
    return named[option]


def _per(text: str) -> Per:
    if text not in ("row", "person"):
        raise QuestionError(_unknown("value of per", text, ["row", "person"]))
    return cast(Per, text)  # one of the two words, as just checked


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
