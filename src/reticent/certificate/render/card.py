"""The card of a model: its use, its columns, its clipping, its intervals, and the uses it is not made for.

All of it is read off the certificate, so that a card says nothing that its digest does not cover.
"""

from __future__ import annotations

import math
from typing import Any, Final

from reticent.certificate.record import CertificateRecord

FITS: Final = ("fit", "grid search")
NOT_FOR: Final = (
    "Not for a finding about one person: a prediction is about people with such values, and that person may not be "
    "among the rows. Not for cause and effect. Beyond the bounds above it has seen nobody."
)


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
    model: dict[str, Any] = certificate.document.get("model") or {}
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
        ("Coefficients", _intervals(model["released"])),
        ("Not for", NOT_FOR),
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


def _intervals(released: dict[str, Any]) -> str:
    """Number of coefficients with an interval, in words; empty for a model that has no estimates."""
    found = released.get("estimates")
    if not isinstance(found, list) or not found:
        return ""
    told = [one for one in found if isinstance(one, dict) and isinstance(one.get("low"), float)]
    some = sum(math.isfinite(one["low"]) for one in told)
    note = f": {released['note']}" if isinstance(released.get("note"), str) and released["note"] else ""
    return f"{some} of {len(found)} have an interval, the intercept counted{note}."


__all__ = ["card"]
