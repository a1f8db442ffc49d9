"""Design of a sample: the weight of a row, and public facts about how the rows were drawn.

    weight = "w"
    design = { weights = "fixed", cluster = 20, likeness = "0.05", fraction = "0.1" }

A weight is fixed for a row before anybody answers: it depends on that row's own record and on public numbers. Weights
that were calibrated to margins, raked or post-stratified depend on everybody's rows. One person could move all of them,
which no noise here would hide, so they are refused by the word that the curator says.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.errors import PublicParameterError
from reticent.privacy.numbers import show

FIXED: Final = "fixed"
DEPENDENT: Final = ("calibrated", "raked", "post-stratified", "trimmed", "nonresponse")
LARGEST_CLUSTER: Final = 10**6

DECLARE: Final = (
    'Say how the weights were made: [study] design = "fixed", if each was fixed for its row before anybody answered, '
    "such as one over the chance to be drawn."
)


@dataclass(frozen=True, slots=True)
class SampleDesign:
    """A sample with fixed weights.

    Attributes
    ----------
    weight : str
        The weight of every question that names none: a column, or an expression; empty where there is none.
    cluster : int
        The most rows that were drawn together; 1 where rows were drawn one by one.
    likeness : Fraction
        The greatest correlation of rows of one cluster, a public guess; 1 takes them as equal.
    fraction : Fraction
        The least part of the population that was drawn, 0 to 1: the finite population correction.
    """

    weight: str = ""
    cluster: int = 1
    likeness: Fraction = Fraction(1)
    fraction: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if type(self.cluster) is not int or not 1 <= self.cluster <= LARGEST_CLUSTER:
            raise PublicParameterError(f"cluster is the most rows of one, an integer from 1 to {LARGEST_CLUSTER:,}")
        for name, share in (("likeness", self.likeness), ("fraction", self.fraction)):
            if not isinstance(share, Fraction) or not 0 <= share <= 1:
                raise PublicParameterError(f"{name} lies between 0 and 1, got {share}")
        if self.fraction == 1:
            raise PublicParameterError("a fraction of 1 is no sample: ask without weights")

    @property
    def factor(self) -> Fraction:
        """Factor by which the design moves a sampling variance of rows drawn one by one from many."""
        return (1 + (self.cluster - 1) * self.likeness) * (1 - self.fraction)

    @property
    def words(self) -> str:
        """The suppositions of intervals about the sample."""
        told = ["the sampling part takes rows as drawn with these weights, and nothing off for strata"]
        if self.cluster > 1:
            told.append(f"rows of a cluster of up to {self.cluster} are alike by {show(self.likeness)}")
        if self.fraction:
            told.append(f"{show(100 * self.fraction)} % of the population was drawn")
        return "; ".join(told)


def check_weights(word: str) -> None:
    """Refuse weights that are not said to be fixed.

    Raises
    ------
    PublicParameterError
        With the reason.
    """
    if word == FIXED:
        return
    if word.lower() in DEPENDENT:
        raise PublicParameterError(
            f"{word.lower()} weights depend on everybody's rows: one person could move all of them, and no noise here "
            "hides that. Keep the weights from before the adjustment, or ask by group and weight the released answers "
            "with public shares."
        )
    raise PublicParameterError(f'weights must be "fixed", got "{word}". {DECLARE}')
