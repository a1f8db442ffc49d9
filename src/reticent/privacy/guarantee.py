"""A guarantee: a loss, the neighbours it speaks of, and the theorem and parts that prove it.

A guarantee is a tree. Its leaves are axioms, stated beside a mechanism with a proof in the same file. A combinator of
``compose`` or ``convert`` makes every other node from the nodes below it. A loss is computed, never typed in.
``explain.outline`` prints the tree as the outline of a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reticent.errors import PublicParameterError
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import Loss, words
from reticent.privacy.pairs import Pair


@dataclass(frozen=True, slots=True)
class Theorem:
    """Theorem that justifies a node: a name the code uses, the statement, and the place of its proof."""

    name: str
    statement: str
    source: str


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee:
    """A proved statement about what one release reveals about one unit.

    Attributes
    ----------
    loss : Loss
    adjacency : Adjacency
    by : Theorem
        The theorem that gives ``loss`` from ``parts``, or the axiom of a mechanism.
    parts : tuple of Guarantee
        What the theorem was applied to; empty for an axiom.
    parameters : tuple of (name, exact text)
        The public numbers the theorem used, enough to derive ``loss`` again.
    label : str
        What this part answers, for people; no part of the proof.
    pair : Pair or None
        Of an axiom, or a sampled part: the dominating pair the same proof gives, which may say more than ``loss``. It
        follows from theorem and parameters, so it is not stored. ``Range`` on an axiom states bounded range itself.
    """

    loss: Loss
    adjacency: Adjacency
    by: Theorem
    parts: tuple[Guarantee, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    label: str = ""
    pair: Pair | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        parts = f", {len(self.parts)} parts" if self.parts else ""
        return f"<{words(self.loss)}, {self.adjacency.words()}, by {self.by.name}{parts}>"

    def parameter(self, name: str) -> str:
        for key, text in self.parameters:
            if key == name:
                return text
        raise PublicParameterError(f"{self.by.name} has no parameter {name}")


def axiom(loss: Loss, adjacency: Adjacency, by: Theorem, *, pair: Pair | None = None, **parameters: str) -> Guarantee:
    """A leaf of the tree. Only a module of ``mechanisms`` may call this, with the proof in the same file.

    Parameters
    ----------
    loss : Loss
        The proved loss.
    adjacency : Adjacency
        The neighbours of the proof.
    by : Theorem
        The theorem that states it.
    pair : Pair, optional
        A dominating pair, if the proof names one.
    **parameters : str
        Numbers from which the theorem states the loss again.

    Returns
    -------
    Guarantee
    """
    return Guarantee(loss, adjacency, by, (), tuple(sorted(parameters.items())), pair=pair)
