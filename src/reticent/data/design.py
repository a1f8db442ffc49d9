"""Design of a sample: the weight of a row, and public facts about how the rows were drawn.

    weight = "w"
    design = { weights = "fixed", cluster = 20, likeness = "0.05", fraction = "0.1" }
    design = { weights = "fixed", strata = "region", fraction = { north = "0.1", south = "0.02" } }
    design = { weights = "fixed", margins = { sex = { f = 51000, m = 49000 } } }

A weight is fixed for a row before anybody answers: it depends on that row's own record and on public numbers. Weights
that were calibrated to margins, raked or post-stratified depend on everybody's rows. One person could move all of them,
which no noise here would hide, so they are refused by the word that the curator says. ``margins`` calibrate here, from
released numbers and public sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.errors import PublicParameterError, QuestionError, restored
from reticent.privacy.numbers import show

FIXED: Final = "fixed"
DEPENDENT: Final = ("calibrated", "raked", "post-stratified", "trimmed", "nonresponse")
LARGEST_CLUSTER: Final = 10**6

DECLARE: Final = (
    'Say how the weights were made: [study] design = "fixed", if each was fixed for its row before anybody answered, '
    "such as one over the chance to be drawn."
)


OfKeys = tuple[tuple[str, Fraction], ...]  # a number for each key of a category, by the key's text


@dataclass(frozen=True, slots=True)
class PublicMargins:
    """The size of the population in each group of a category, from a census or a register."""

    column: str
    sizes: OfKeys

    def __post_init__(self) -> None:
        if not self.sizes or any(not isinstance(size, Fraction) or size <= 0 for _, size in self.sizes):
            raise PublicParameterError(f"margins of {self.column} are sizes above 0, one for each key")

    @property
    def total(self) -> Fraction:
        """The size of the population."""
        return sum((size for _, size in self.sizes), Fraction(0))

    @property
    def words(self) -> str:
        """The sizes, as estimands name them."""
        told = ", ".join(f"{key} {show(size)}" for key, size in self.sizes)
        return f"public sizes of {self.column}: {told}"


@restored
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
    strata : str
        The category of whose keys each was sampled by itself, with a size that was fixed; empty where there is none.
    fractions : tuple of key and Fraction
        The least part of each stratum that was drawn. ``fraction`` is then the least of them.
    margins : PublicMargins or None
        What means, totals and shares of all rows are calibrated to.
    """

    weight: str = ""
    cluster: int = 1
    likeness: Fraction = Fraction(1)
    fraction: Fraction = Fraction(0)
    strata: str = ""
    fractions: OfKeys = ()
    margins: PublicMargins | None = None

    def __post_init__(self) -> None:
        if type(self.cluster) is not int or not 1 <= self.cluster <= LARGEST_CLUSTER:
            raise PublicParameterError(f"cluster is the most rows of one, an integer from 1 to {LARGEST_CLUSTER:,}")
        if self.fractions and not self.strata:
            raise PublicParameterError("a fraction for each key is of strata: name their column, strata = …")
        if self.fractions:
            object.__setattr__(self, "fraction", min(share for _, share in self.fractions))
        each = (("fraction", share) for _, share in self.fractions)
        for name, share in (("likeness", self.likeness), ("fraction", self.fraction), *each):
            if not isinstance(share, Fraction) or not 0 <= share <= 1:
                raise PublicParameterError(f"{name} lies between 0 and 1, got {share}")
        if self.fraction == 1 or any(share == 1 for _, share in self.fractions):
            raise PublicParameterError("a fraction of 1 is no sample: ask without weights")

    @property
    def factor(self) -> Fraction:
        """Factor by which the design moves a sampling variance of rows drawn one by one from many."""
        return (1 + (self.cluster - 1) * self.likeness) * (1 - self.fraction)

    def words(self, *, stratified: bool = False) -> str:
        """The suppositions of intervals about the sample; ``stratified`` ones take off what strata differ by."""
        told = ["the sampling part takes rows as drawn with these weights, and nothing off for strata"]
        if stratified:
            told = [
                f"the sampling part takes rows as drawn with these weights within strata of {self.strata} of fixed size"
            ]
            told.append("a stratum of which noise hides the size takes nothing off")
        if self.cluster > 1:
            told.append(f"rows of a cluster of up to {self.cluster} are alike by {show(self.likeness)}")
        if self.fractions and stratified:
            each = ", ".join(f"{key} {show(100 * share)} %" for key, share in self.fractions)
            told.append(f"of the strata were drawn: {each}")
        elif self.fraction:
            told.append(f"{show(100 * self.fraction)} % of the population was drawn")
        return "; ".join(told)


def refuse_weight(design: SampleDesign | None, what: str) -> None:
    """Refuse a study with a weight, for a fit or a session, which would be of the rows as they are.

    Raises
    ------
    QuestionError
        With what to write instead.
    """
    if design is not None and design.weight:
        raise QuestionError(
            f"{what} takes no weight, and this study has one: weight {design.weight}. Of the rows as they are: a study "
            "of this table without weight, under the same ledger. Linear models of such a study take "
            f'sample_weight="{design.weight}". Nothing was charged.'
        )


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
            "hides that. Keep the weights from before the adjustment, and name the public sizes as margins = { sex = "
            "{ f = 51000, m = 49000 } }: answers are then calibrated here."
        )
    raise PublicParameterError(f'weights must be "fixed", got "{word}". {DECLARE}')
