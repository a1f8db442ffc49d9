"""Subjects of the pictures: a loss, a guarantee or a mechanism, read alike; and the odds and groups of one."""

from __future__ import annotations

from typing import Final, TypeAlias

from reticent.certificate.render.odds import OddsBands
from reticent.lab.coins import Coins
from reticent.mechanisms.exponential import Exponential
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
from reticent.mechanisms.geometric import Geometric
from reticent.mechanisms.laplace import Laplace
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.mechanisms.randomized_response import RandomizedResponse
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import group_loss
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import Loss, known, words

Mechanism: TypeAlias = (
    Geometric | Laplace | Gaussian | ScalarGaussian | Exponential | PermuteAndFlip | RandomizedResponse
)
Part: TypeAlias = Loss | Guarantee | Mechanism | Coins
GIVEN: Final = Theorem("given", "a loss taken for granted in a lesson", "stated")


def guarantee_of(part: Part) -> Guarantee:
    """The guarantee of a mechanism; a bare loss is taken for granted, about adding or removing one person."""
    match part:
        case Guarantee():
            return part
        case (
            Geometric()
            | Laplace()
            | Gaussian()
            | ScalarGaussian()
            | Exponential()
            | PermuteAndFlip()
            | RandomizedResponse()
        ):
            return part.guarantee
        case Coins():
            return part.mechanism.guarantee
        case _:
            return Guarantee(known(part), Adjacency("add_remove"), GIVEN)


def called(part: Part) -> str:
    """``Permute and flip, ε 1``: what a part is, and its loss."""
    whole = guarantee_of(part)
    name = "" if whole.by == GIVEN else whole.label or whole.by.name.replace("_", " ").capitalize()
    return f"{name}, {words(whole.loss)}" if name else words(whole.loss)


def group(part: Part, size: int) -> Loss:
    """The loss against a group of ``size`` >= 1: k epsilon for a pure one, k squared rho, k mu.

    Raises
    ------
    PublicParameterError
        Where nothing is promised any more.
    """
    return group_loss(guarantee_of(part).loss, size)


def odds(part: Part, *, prior: float = 0.1, spent: Loss | None = None, budget: Loss | None = None) -> OddsBands:
    """Range of a belief about one person: a band for ``part``, for the loss spent so far, for the whole budget.

    Parameters
    ----------
    part : Loss, Guarantee or a mechanism
    prior : float
        A belief in (0, 1) to follow in words.
    spent, budget : Loss, optional
        Further bands.

    Returns
    -------
    OddsBands
        One band of probabilities in [0, 1] for each loss given.
    """
    whole = guarantee_of(part)
    bands = [("this release", whole.loss)]
    bands += [("everything so far", spent)] if spent is not None else []
    bands += [("the whole budget", budget)] if budget is not None else []
    believed = "you took part" if whole.adjacency.kind == "add_remove" else "a guess about you is right"
    return OddsBands(tuple(bands), believed, prior)
