"""Losses: how much one unit can change the law of what comes out.

    PureDP(eps)            P(S | D) <= e^eps P(S | D')                 001; 004 Definition 1.1
    ApproxDP(eps, delta)   P(S | D) <= e^eps P(S | D') + delta         001; 003 Definition 2
    ZCDP(rho)              D_alpha(D || D') <= rho alpha, alpha > 1    Bun and Steinke 2016, Definition 1.1

A closed union without a base class: ``match`` over ``Loss`` and let mypy find a forgotten case.
All numbers are Fractions. Comparisons go through ``convert``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, assert_never

from reticent.errors import PublicParameterError
from reticent.exact.rounding import round_up
from reticent.privacy.numbers import exact, read, show


@dataclass(frozen=True, slots=True)
class PureDP:
    """(epsilon, 0)-differential privacy; ``epsilon`` >= 0."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.epsilon, "epsilon")


@dataclass(frozen=True, slots=True)
class ApproxDP:
    """(epsilon, delta)-differential privacy; ``epsilon`` >= 0, 0 <= ``delta`` < 1."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.epsilon, "epsilon")
        _not_negative(self.delta, "delta")
        if self.delta >= 1:
            raise PublicParameterError(f"delta must be < 1, got {show(self.delta)}")


@dataclass(frozen=True, slots=True)
class ZCDP:
    """rho-zero-concentrated differential privacy; ``rho`` >= 0."""

    rho: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.rho, "rho")


Loss: TypeAlias = PureDP | ApproxDP | ZCDP


def _not_negative(number: Fraction, name: str) -> None:
    if exact(number, name) < 0:
        raise PublicParameterError(f"{name} must be >= 0, got {show(number)}")


def words(loss: Loss) -> str:
    """``ε 1``, ``(1, 1e-9)`` or ``ρ 0.5``: the loss as people read it, long fractions rounded up to 6 digits."""
    match loss:
        case PureDP(epsilon):
            return f"ε {_short(epsilon)}"
        case ApproxDP(epsilon, delta):
            return f"({_short(epsilon)}, {_short(delta)})"
        case ZCDP(rho):
            return f"ρ {_short(rho)}"
        case _:
            assert_never(loss)


def _short(number: Fraction) -> str:
    exactly = show(number)
    return exactly if len(exactly) <= 14 else show(round_up(number, 6))


def to_json(loss: Loss) -> dict[str, str]:
    """Losses travel as decimal or fraction text, since JSON floats would turn 0.1 into something else."""
    match loss:
        case PureDP(epsilon):
            return {"epsilon": show(epsilon), "delta": "0"}
        case ApproxDP(epsilon, delta):
            return {"epsilon": show(epsilon), "delta": show(delta)}
        case ZCDP(rho):
            return {"rho": show(rho)}
        case _:
            assert_never(loss)


def from_json(fields: dict[str, str]) -> Loss:
    """The loss ``to_json`` wrote."""
    if "rho" in fields:
        return ZCDP(read(fields["rho"], "rho"))
    delta = read(fields.get("delta", "0"), "delta")
    epsilon = read(fields["epsilon"], "epsilon")
    return PureDP(epsilon) if delta == 0 else ApproxDP(epsilon, delta)
