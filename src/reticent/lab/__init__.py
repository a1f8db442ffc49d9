"""The classroom: each notion of differential privacy as one value to hold, print and plot.

    lab.neighbours(lab.geometric(1, "1/2"), 17, 18).plot()     two laws side by side, their ratio never above e^eps
    lab.compose(lab.geometric(1, "1/2"), times=10).plot()      what many releases cost, by each theorem
    lab.trade_off(PureDP(...), GaussianDP(...)).plot()         errors of any test for who is in the file
    lab.odds(PureDP(...)).plot()                               how far a belief can move
    lab.group(lab.geometric(1, "1/2"), size=3)                 a group of three
    print(lab.two_coins())                                     randomized response, the proof in two lines
    lab.influence("median", [1, 2, 4, 8]).plot()               what one more value does to an estimate
    lab.finite("M", epsilon=1).plot()                          how often and how well an algorithm of 003 replies
    lab.density_zoo().plot()                                   every whole-data-set release on one public column

Every value has its numbers (``rows()``), its figure (``plot()``) and ``save(path)`` for .svg, .png or .pdf. Nothing
here is charged. Nothing here reads a table but the influence of a made-up sample, and the zoo, whose table is public:
these are laws, not draws. ``import reticent`` does not import it. The gallery of broken mechanisms stands in the source
tree, ``tests/assurance``.
"""

from __future__ import annotations

from reticent.certificate.render.odds import OddsBands
from reticent.former_names import missing
from reticent.lab.coins import Coins, coins, two_coins
from reticent.lab.composition import Composition, compose
from reticent.lab.finite_curve import FactorBound, FiniteCurve, factor_bound, finite, least_n
from reticent.lab.influence import Influence, gross_error_sensitivity, influence, influence_function
from reticent.lab.laws import Neighbours, geometric, neighbours
from reticent.lab.parts import Part, group, odds
from reticent.lab.trade import TradeOff, trade_off
from reticent.lab.zoo import Zoo, density_zoo

__all__ = [
    "Coins",
    "Composition",
    "FactorBound",
    "FiniteCurve",
    "Influence",
    "Neighbours",
    "OddsBands",
    "Part",
    "TradeOff",
    "Zoo",
    "coins",
    "compose",
    "density_zoo",
    "factor_bound",
    "finite",
    "geometric",
    "gross_error_sensitivity",
    "group",
    "influence",
    "influence_function",
    "least_n",
    "neighbours",
    "odds",
    "trade_off",
    "two_coins",
]


def __getattr__(name: str) -> type:
    """Refuse a former name with its spelling of today."""
    raise missing("lab", name)
