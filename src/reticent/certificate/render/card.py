"""The card of a model: its use, its columns, its clipping, its intervals, and the uses it is not made for.

All of it is read off the certificate, so that a card says nothing that its digest does not cover.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

from reticent.certificate.record import CertificateRecord
from reticent.certificate.render.tables import number
from reticent.privacy.cost import UNNAMED
from reticent.privacy.loss import words

FITS: Final = ("fit", "grid search")
NOT_FOR: Final = (
    "Not for a finding about one person: a prediction is about people with such values, and that person may not be "
    "among the rows. Not for cause and effect. Beyond the bounds above it has seen nobody."
)

SHRUNK: Final = "Coefficients are shrunk towards 0 by a penalty and by clipping: they are no effects."
OF_KIND: Final = {
    "LogisticRegression": SHRUNK,
    "LinearSVC": f"{SHRUNK} It has no chances, only classes.",
    "EmpiricalRiskClassifier": SHRUNK,
    "EmpiricalRiskRegressor": SHRUNK,
    "HuberRegressor": f"{SHRUNK} Far values count less: it is no line of means.",
    "QuantileRegressor": f"{SHRUNK} It tells a quantile, and no mean.",
    "LinearRegression": "A slope with an interval is that of least squares among these columns, and of no other set.",
    "GaussianNB": "Columns count as independent within a class: where they are not, chances are too near to 0 and 1.",
    "DecisionTreeClassifier": "Splits lie at public thresholds and are chosen with noise: they do not rank columns.",
    "RandomForestClassifier": "Splits lie at public thresholds, many at random: they do not rank columns.",
    "BernsteinClassifier": "Values of its function are smooth and noisy: only their sign was made to be told.",
    "FunctionClassifier": "Values of its function are smooth and noisy: only their sign was made to be told.",
    "KMeans": "A centre is a place among values and no person. How many clusters there are was said beforehand.",
    "PCA": "Axes along which rows vary alike are mixed up by noise.",
}
NO_INTERVALS: Final = "no intervals"
HEAVY: Final = 1.5  # times what was asked: a penalty that a reader would not expect


def card(certificate: CertificateRecord) -> tuple[tuple[str, str], ...]:
    """Names and texts of the card of a fitted model.

    Parameters
    ----------
    certificate : CertificateRecord

    Returns
    -------
    tuple of pairs of str
        Empty where the certificate is of no fit.
    """
    model: dict[str, Any] = certificate.heading.get("model") or {}
    if certificate.kind != "model" or model["what"] not in FITS:
        return ()
    told = [
        ("Model", _named(model)),
        ("Predicts", _predicted(model)),
        (
            "From",
            "; ".join(_column(name, bounds) for name, bounds in zip(model["columns"], model["bounds"], strict=True)),
        ),
        ("Clipped", _clipped(model)),
        ("Penalty", _penalty(model)),
        ("Price", _price(certificate)),
        ("Coefficients", _intervals(model["released"])),
        ("Not for", " ".join(filter(None, (NOT_FOR, OF_KIND.get(model["name"], ""))))),
    ]
    return tuple((name, text) for name, text in told if text)


def _named(model: dict[str, Any]) -> str:
    return f"{model['name']}, chosen by a private grid search" if model["what"] == "grid search" else str(model["name"])


def _predicted(model: dict[str, Any]) -> str:
    """The target and its classes; empty for a model without a target."""
    classes = model["released"].get("classes")
    if not model["target"] and not classes:
        bounds = model["parameters"].get("y_bounds")
        return f"a number within {bounds[0]} and {bounds[1]}" if isinstance(bounds, list) and len(bounds) == 2 else ""
    of = f", one of {', '.join(map(str, classes))}" if isinstance(classes, list) else ""
    return f"{model['target'] or 'a class'}{of}"


def _column(name: str, bounds: list[str]) -> str:
    return f"{name} from {bounds[0]} to {bounds[1]}"


def _clipped(model: dict[str, Any]) -> str:
    """Clipping and weights of rows before they counted, in words."""
    given = model["parameters"]
    told = ["Values beyond these bounds were moved to them, in every row that was fitted."]
    if given.get("clip") is not None:
        told.append(f"Rows longer than {given['clip']} half-widths were shortened.")
    if given.get("most_weight") is not None:
        told.append(f"Weights of rows were cut to {given['most_weight']}.")
    if given.get("class_weight") is not None:
        told.append("Classes have weights.")
    return " ".join(told)


def _penalty(model: dict[str, Any]) -> str:
    """The ridge that was used, beside the one that C asked for where it is heavier; empty without."""
    ridge = model["released"].get("ridge")
    if not isinstance(ridge, float | int) or isinstance(ridge, bool):
        return ""
    told = f"a ridge of {number(float(ridge))}"
    asked = _asked(model["parameters"])
    if asked is None:
        return f"{told}."
    if ridge <= HEAVY * asked:
        return f"{told}, as C asks."
    return (
        f"{told}, where C asks for {number(asked)}: the least that ε pays for. Coefficients are shrunk more than C "
        "says, and rare classes are found less often. A larger ε, more rows or fewer columns would help."
    )


def _price(certificate: CertificateRecord) -> str:
    """The loss of the fit, and that nobody named it where a caveat says so."""
    told = [text for text in certificate.heading["caveats"] if text.startswith(UNNAMED)]
    return "; ".join([words(certificate.guarantee.loss), *told]) + "."


def _asked(given: dict[str, Any]) -> float | None:
    """The ridge that C asks for, beside the greatest weight; None where it is not known."""
    classes = given.get("class_weight")
    weights = [_positive(one) for one in classes.values()] if isinstance(classes, dict) else [1.0]
    weight = _positive(given.get("C"))
    if weight is None or None in weights or given.get("most_weight") is not None:
        return None
    return 1.0 / (weight * max(1.0, *(one for one in weights if one is not None)))


def _positive(text: object) -> float | None:
    try:
        value = float(Fraction(str(text)))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return value if 0 < value < math.inf else None


def _intervals(released: dict[str, Any]) -> str:
    """Number of coefficients with an interval, in words; empty for a model that has no estimates."""
    found = released.get("estimates")
    if not isinstance(found, list) or not found:
        return ""
    told = [one for one in found if isinstance(one, dict) and isinstance(one.get("low"), float)]
    some = sum(math.isfinite(one["low"]) for one in told)
    text = released["note"] if isinstance(released.get("note"), str) else ""
    before, why, after = text.partition(NO_INTERVALS)
    note = f": {why}{after}" if why and "ridge" in before else f": {text}" if text else ""
    if some == 0:
        return f"None has an interval{note.replace(f': {NO_INTERVALS}: ', ': ')}."
    return f"{some} of {len(found)} have an interval, the intercept counted{note}."


__all__ = ["card"]
