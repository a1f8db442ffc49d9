"""The smallest epsilon at a stated delta among all theorems that apply, with every view and the reason.

    adding up                 losses of the parts, each in (epsilon, delta); what is in rho, mu or Renyi is joined first
    advanced, optimal         pure and approximate parts, at the stated delta
    zCDP, Renyi               rhos or divergences of the parts, then (epsilon, delta)
    privacy-loss distributions   the dominating pair of each part, then (epsilon, delta)

All are true, so the least may be used, and ``TightestGuarantee.views`` shows the others. The losses of the parts were
fixed before the first answer; a part may depend on the answers before it. For losses chosen along the way see
``filters``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.errors import PublicParameterError
from reticent.privacy import compose, convert, optimal_composition
from reticent.privacy.convert import as_approx
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import PLD, ZCDP, ApproxDP, ApproxZCDP, GaussianDP, PureDP, Renyi
from reticent.privacy.numbers import about, exact, show


@dataclass(frozen=True, slots=True)
class TightestGuarantee:
    """The guarantee with the smallest epsilon, every view that was compared, and why this one."""

    guarantee: Guarantee
    views: tuple[Guarantee, ...]
    reason: str


def least(parts: Sequence[Guarantee], delta: Fraction, *, label: str = "") -> TightestGuarantee:
    """All ``parts`` in sequence as (epsilon, delta)-DP, by the theorem that gives the smallest epsilon.

    Parameters
    ----------
    parts : sequence of Guarantee
        About the same neighbours; losses of any kind, fixed before the first answer.
    delta : Fraction
        Of the whole, in (0, 1).
    label : str
        Name of the node in the proof.

    Returns
    -------
    Guarantee

    Raises
    ------
    PublicParameterError
        Where no theorem reaches ``delta``, such as parts whose own deltas are larger, or for different neighbours.
    """
    if not 0 < exact(delta, "delta") < 1:
        raise PublicParameterError(f"delta must lie between 0 and 1, got {show(delta)}")
    compose.in_sequence(parts[:1])
    ways: tuple[Callable[[], Guarantee], ...] = (
        lambda: _added(parts, delta, label),
        lambda: optimal_composition.advanced(parts, delta, label=label),
        lambda: _optimal(parts, delta, label),
        lambda: as_approx(compose.in_sequence([compose.in_zcdp(part) for part in parts], label=label), delta),
        lambda: as_approx(_renyi(parts, label), delta),
        lambda: as_approx(compose.in_sequence([compose.in_pld(part) for part in parts], label=label), delta),
    )
    views: list[Guarantee] = []
    problems: list[PublicParameterError] = []
    for way in ways:
        try:
            views.append(way())
        except PublicParameterError as problem:  # that theorem does not apply to these parts, or not at this delta
            problems.append(problem)
    if not views:
        raise problems[0]
    best = min(views, key=_pair)
    return TightestGuarantee(best, tuple(views), _reason(best, views, delta))


def _added(parts: Sequence[Guarantee], delta: Fraction, label: str) -> Guarantee:
    """Pure and approximate parts added up; the others joined first, to take what delta is left."""
    others = [part for part in parts if not isinstance(part.loss, PureDP | ApproxDP)]
    plain = [part for part in parts if isinstance(part.loss, PureDP | ApproxDP)]
    left = delta - sum((part.loss.delta for part in plain if isinstance(part.loss, ApproxDP)), Fraction(0))
    if left < 0 or (others and left == 0):
        raise PublicParameterError(f"delta must be above what the parts fail with already, {about(delta - left)}")
    joined = [as_approx(compose.in_sequence(others), left)] if others else []
    return compose.in_sequence([*plain, *joined], label=label)


def _optimal(parts: Sequence[Guarantee], delta: Fraction, label: str) -> Guarantee:
    """The optimal theorem, where its losses can be listed; elsewhere its lattice is coarser than that of the pairs."""
    if not optimal_composition.listed(parts):
        raise PublicParameterError("too many values of the total loss to list them")
    return optimal_composition.optimal(parts, delta, label=label)


def _renyi(parts: Sequence[Guarantee], label: str) -> Guarantee:
    """The Renyi view, where a part has one only: for all others a privacy-loss distribution says more."""
    if not any(isinstance(part.loss, Renyi) for part in parts):
        raise PublicParameterError("no part is stated in Rényi divergences")
    return compose.in_sequence([compose.in_renyi(part) for part in parts], label=label)


def _pair(view: Guarantee) -> tuple[Fraction, Fraction]:
    assert isinstance(view.loss, PureDP | ApproxDP)
    return view.loss.epsilon, view.loss.delta if isinstance(view.loss, ApproxDP) else Fraction(0)


NAMES: Final = {
    compose.SEQUENCE.name: "adding the losses up",
    optimal_composition.ADVANCED.name: "advanced composition",
    optimal_composition.ADVANCED_UNEQUAL.name: "advanced composition",
    optimal_composition.OPTIMAL.name: "optimal composition",
    convert.ZCDP_TO_APPROX.name: "zCDP",
}


def _reason(best: Guarantee, views: Sequence[Guarantee], delta: Fraction) -> str:
    """Reason for the chosen theorem: ``At δ 1e-6 optimal composition gives the least ε, 4.3; ...``."""
    rest = [f"{_name(view)} gives {float(_pair(view)[0]):.4g}" for view in views if view is not best]
    others = f"; {', '.join(rest)}" if rest else "; no other theorem applies"
    return f"At δ {about(delta)} {_name(best)} gives the least ε, {float(_pair(best)[0]):.4g}{others}."


def _name(view: Guarantee) -> str:
    if view.by.name == convert.TO_APPROX.name:
        match view.parts[0].loss:
            case PLD():
                return "the privacy-loss distribution"
            case Renyi():
                return "Rényi divergences"
            case GaussianDP():
                return "Gaussian DP"
            case ZCDP() | ApproxZCDP():
                return "zCDP"
    return NAMES.get(view.by.name, "the only part as it is")
