"""From a test as asked and its setting to a step. No row is read.

Each kind is a module with ``step(asked, setting, epsilon) -> HypothesisStep``.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

from reticent.data.order_statistics import Order
from reticent.data.schema import Category
from reticent.errors import QuestionError
from reticent.statistics.column_step import PlannedStep
from reticent.statistics.context import Setting
from reticent.statistics.hypotheses import correlation, dense, groups, independence, means, normal, proportions, ranks
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.hypotheses.step import HypothesisStep

if TYPE_CHECKING:
    from reticent.statistics.context import Step

Kind: TypeAlias = Literal["means", "proportions", "independence", "ranks", "correlation", "normal", "density"]
USED: Final[dict[str, tuple[Kind, ...]]] = {  # options that not every kind has a use for
    "among": ("means", "proportions", "independence", "ranks"),
    "value": ("proportions",),
    "edges": ("ranks", "normal"),
    "law": ("normal",),
    "density": ("density",),
}

_WORDS: Final = {"law": "centre and deviation"}


def test(asked: HypothesisTest, setting: Setting, epsilon: Fraction) -> Step:
    """The step that answers a test for exactly ``epsilon``.

    Parameters
    ----------
    asked : HypothesisTest
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    Step

    Raises
    ------
    QuestionError
        Before rows are read: where the columns do not suit the kind, and what has to be declared.
    """
    if setting.keys is not None:
        raise QuestionError(f"{asked.name} takes no by: its groups stand in the formula. Nothing was charged.")
    kind = kind_of(asked, setting)
    for option, kinds in USED.items():
        if kind not in kinds and getattr(asked, option) not in (None, ()):
            raise QuestionError(
                f"{asked.name} is a test of {kind}, which has no use for {_WORDS.get(option, option)}; "
                f"{' and '.join(f'kind={name}' for name in kinds)} has. Nothing was charged."
            )
    made = _made(kind, asked, setting, epsilon)
    if isinstance(made, HypothesisStep):
        made = replace(made, estimand=f"{made.hypothesis.effect} in {asked.formula}, in the population{made.estimand}")
    if asked.kind != "auto":
        return made
    return replace(made, caveats=(f"kind auto: {kind}, by what the columns are declared as", *made.caveats))


def kind_of(asked: HypothesisTest, setting: Setting) -> Kind:
    """The kind asked for, or the one that the declared columns leave.

    Raises
    ------
    QuestionError
        Where "auto" finds groups on the left and numbers on the right.
    """
    if asked.kind != "auto":
        return asked.kind
    left = isinstance(setting.schema.column(asked.column), Category)
    if asked.on is None:
        return "normal"
    right = isinstance(setting.schema.column(asked.on), Category) or bool(asked.among)
    if left and right:
        return "independence" if asked.value is None else "proportions"
    if left:
        raise QuestionError(
            f"{asked.column} is a category and {asked.on} a number: ask test({asked.on} ~ {asked.column}). "
            "Nothing was charged."
        )
    if not right:
        return "correlation"
    return "means" if len(groups.keys_of(asked, setting).among) == 2 else "ranks"


def _made(
    kind: Kind, asked: HypothesisTest, setting: Setting, epsilon: Fraction
) -> HypothesisStep | PlannedStep[Order]:
    match kind:
        case "means":
            return means.step(asked, setting, epsilon)
        case "proportions":
            return proportions.step(asked, setting, epsilon)
        case "independence":
            return independence.step(asked, setting, epsilon)
        case "ranks":
            return ranks.step(asked, setting, epsilon)
        case "correlation":
            return correlation.step(asked, setting, epsilon)
        case "normal":
            return normal.step(asked, setting, epsilon)
        case "density":
            return dense.step(asked, setting, epsilon)
        case _:
            assert_never(kind)
