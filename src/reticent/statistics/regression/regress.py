"""``regress(y ~ a + b)``: coefficients of a linear model."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import attrs

from reticent.data.expression_tree import divided
from reticent.data.schema import Key
from reticent.errors import PublicParameterError, QuestionError
from reticent.statistics.options import PLAIN, PTR, WIDTHLESS, check_word, read_blocks, read_keys, read_widthless
from reticent.statistics.public_facts import kept
from reticent.statistics.statistic import Dice, Statistic

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step

OfRegression: TypeAlias = Literal[
    "auto", "least_squares", "robust", "R_S", "R_H", "theil_sen", "block_medians", "tukey", "adassp", "over_beta"
]


@attrs.frozen
class Formula:
    """A column left of ``~``, the columns right of it, and an intercept unless ``0`` stands there."""

    y: str
    on: tuple[str, ...]
    intercept: bool = True

    def __attrs_post_init__(self) -> None:
        if not self.on or len({self.y, *self.on}) != 1 + len(self.on):
            raise PublicParameterError("a regression has one column left of ~, and others on its right, each once")

    def __str__(self) -> str:
        terms = [name if len(divided(name, "+")) == 1 else f"({name})" for name in self.on]
        return f"{self.y} ~ {' + '.join([*([] if self.intercept else ['0']), *terms])}"


def read_formula(formula: str | Formula) -> Formula:
    """The formula of its text."""
    if isinstance(formula, Formula):
        return formula
    sides = divided(formula, "~") if isinstance(formula, str) else []
    if len(sides) != 2 or not all(sides):
        raise QuestionError(f"'{formula}' cannot be read. Write for example: regress(\"y ~ a + b\").")
    terms = divided(sides[1], "+")
    constants = [term for term in terms if term in ("0", "1")]
    if len(constants) > 1 or not all(terms):
        raise QuestionError(f"'{formula}' cannot be read: name each column once, and at most one of 0 and 1.")
    return Formula(sides[0], tuple(term for term in terms if term not in ("0", "1")), "0" not in constants)


def robust_regression(columns: int, *, intercept: bool, delta: bool) -> Literal["R_H", "theil_sen", "tukey"]:
    """The method that "robust" means for so many columns: few rows cannot move it, and it needs no bounds.

    Parameters
    ----------
    columns : int
        Number of regressors.
    intercept : bool
        True if a constant is fitted too.
    delta : bool
        True if the release has a delta.

    Returns
    -------
    "R_H", "theil_sen" or "tukey"
        Name of the method.
    """
    if delta:
        return "R_H"
    return "theil_sen" if columns == 1 and intercept else "tukey"


@attrs.frozen
class Regression(Statistic):
    """Coefficients of ``"y ~ a + b"`` with 95 % intervals; it may give no reply.

    Parameters
    ----------
    formula : str
        Columns of numbers, and on the right categories; ``"y ~ 0 + a"`` leaves the intercept out.
    method : "auto", "least_squares", "robust", or one of the robust methods
        "auto" is least squares where every number has public bounds, and else a robust line that needs none; the
        answer names which it estimates. "robust" is one that few rows cannot move and that needs no bounds: "R_H"
        where a delta is named, else "theil_sen" for one column and "tukey" for more. The others are "R_S",
        "block_medians", "adassp" and "over_beta". "R_S" and "R_H" are 003's.
    blocks : int, optional
        Public number of blocks of rows for "R_S", "R_H" and "block_medians".
    reference : key or keys, optional
        Of categories on the right: from which the coefficients of their other keys are told. By default the first.
    ptr : PTR
        Mode of "R_S" and "R_H"; the unit on which columns are read that have neither bounds nor a resolution.
    """

    verb: ClassVar[str] = "regress"
    axis: ClassVar[str] = "effect"
    declines: ClassVar[str] = "where noise or rare rows could decide every slope"
    synonyms: ClassVar[tuple[str, ...]] = ("regression", "ols", "lm", "linreg", "r_s", "r_h", "theil_sen")
    positions: ClassVar[tuple[str, ...]] = ("formula",)
    has_delta: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("regress(y ~ x)", "regress(y ~ 0 + x)", "regress(y ~ x, method=R_H)")

    formula: Formula = attrs.field(converter=read_formula)
    method: OfRegression = attrs.field(default="auto", kw_only=True)
    blocks: int | None = attrs.field(default=None, converter=read_blocks, kw_only=True)
    reference: tuple[Key, ...] = attrs.field(default=(), converter=read_keys, kw_only=True)
    ptr: PTR = attrs.field(default=PLAIN, converter=read_widthless, kw_only=True, metadata=WIDTHLESS)

    def __attrs_post_init__(self) -> None:
        check_word("method", self.method, OfRegression)
        if self.blocks is not None and self.blocks < 1:
            raise PublicParameterError(f"blocks must be >= 1, got {self.blocks}")

    @property
    def y(self) -> str:
        """The column that is explained."""
        return self.formula.y

    @property
    def on(self) -> tuple[str, ...]:
        """The columns that explain it."""
        return self.formula.on

    @property
    def intercept(self) -> bool:
        """True if the model has a constant."""
        return self.formula.intercept

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.y, *self.on)

    def renamed(self, of: Callable[[str], str]) -> Regression:
        return attrs.evolve(self, formula=Formula(of(self.y), tuple(map(of, self.on)), self.intercept))

    @property
    def arguments(self) -> tuple[str, ...]:
        return (str(self.formula),)

    @property
    def takes_weight(self) -> bool:
        return self.method in ("auto", "least_squares")

    @property
    def spends_delta(self) -> bool:
        return self.method in ("R_S", "R_H")

    @property
    def takes_delta(self) -> bool:
        return self.spends_delta or self.method in ("auto", "least_squares", "robust", "adassp")

    @property
    def note(self) -> str:
        """Words on products whose columns have no coefficient by themselves; elsewhere that is another formula."""
        products = [(name, name.split(" * ")) for name in self.on if " * " in name and "(" not in name]
        left = {name: [part for part in parts if part not in self.on] for name, parts in products}
        alone = [name for name, parts in left.items() if parts]
        if not alone:
            return ""
        terms = dict.fromkeys((*(part for name in self.on for part in left.get(name, ())), *self.on))
        mains = " and ".join(dict.fromkeys(part for name in alone for part in left[name]))
        whole = Formula(self.y, tuple(terms), self.intercept)
        return f"{self.formula} fits {' and '.join(alone)} without {mains}: with them it is regress({whole})"

    def estimand(self, setting: Setting) -> str:
        return f"coefficients of {self.formula} in the population{kept('row', setting.schema.person)}"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.regression import regression_step

        return regression_step.regress(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> Regression:
        return cls(dice.pick(("x ~ k", "k ~ x", "x ~ g", "x ~ 0 + k")))
