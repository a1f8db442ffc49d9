"""``test(y ~ g)``: a test of a hypothesis.

    kind            of                              hypothesis
    "means"         a number by two groups          equal means
    "proportions"   a value by two groups           equal shares of it
    "independence"  two columns with keys           independent
    "ranks"         a number by two groups or more  equal laws (Mann and Whitney; Kruskal and Wallis)
    "correlation"   two numbers                     not correlated
    "normal"        a number                        normal, by a named law or any (Kolmogorov, Smirnov)
    "density"       a number                        a density at the median of at most ``against``

"auto" takes the kind that the declared types of the columns leave, and the answer says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

import attrs

from reticent.data.expression_tree import divided
from reticent.data.schema import Key
from reticent.errors import PublicParameterError, QuestionError, made_as
from reticent.privacy.numbers import Number, positive, read, show
from reticent.statistics.moments.proportion import OF_VALUE, chosen_of, in_letters, listed_in
from reticent.statistics.options import (
    Words,
    check_bounds,
    check_word,
    edges_text,
    read_centre,
    read_deviation,
    read_edges,
    read_high,
    read_keys,
    read_low,
)
from reticent.statistics.statistic import Dice, Statistic, seldom_bounds

if TYPE_CHECKING:
    from reticent.data.schema import Schema
    from reticent.statistics.context import Setting, Step

OfTest: TypeAlias = Literal["auto", "means", "proportions", "independence", "ranks", "correlation", "normal", "density"]
ALONE: Final = ("normal", "density")


@attrs.frozen
class Comparison:
    """A column, and the column right of ``~`` that it is compared by, if there is one."""

    column: str
    on: str | None = None

    def __str__(self) -> str:
        return self.column if self.on is None else f"{self.column} ~ {self.on}"


@made_as("rt.Normal(100, 15)")
@attrs.frozen
class Normal:
    """A normal law, known without the file.

    Parameters
    ----------
    centre, deviation : number
        In the unit of the column; the deviation above 0.
    """

    centre: Fraction = attrs.field(converter=read_centre)
    deviation: Fraction = attrs.field(converter=read_deviation)

    def __attrs_post_init__(self) -> None:
        positive(self.deviation, "deviation")


def read_comparison(formula: str | Comparison) -> Comparison:
    """The comparison of its text."""
    if isinstance(formula, Comparison):
        return formula
    parts = divided(str(formula), "~")
    if not isinstance(formula, str) or len(parts) > 2 or not all(parts):
        raise QuestionError(f"'{formula}' cannot be read. Write for example: test(\"income ~ sex\").")
    return Comparison(parts[0], parts[1] if len(parts) == 2 else None)


def read_against(against: Normal | Number | None) -> Normal | Fraction | None:
    """A normal law, or an exact density.

    Raises
    ------
    PublicParameterError
        Anything else; the message shows both forms.
    """
    if against is None or isinstance(against, Normal):
        return against
    if isinstance(against, int | str | float | Fraction | Decimal):
        return read(against, "against")
    raise PublicParameterError(
        'against is rt.Normal(centre, deviation) for kind="normal", or the number that kind="density" compares with, '
        f"got {against!r}"
    )


def build(texts: Mapping[str, str]) -> Normal | Fraction | None:
    """Read the law or the density of a null hypothesis: ``centre=0, deviation=1`` or ``density=0.01``."""
    if "density" in texts:
        if len(texts) > 1:
            raise PublicParameterError("density is for kind=density, centre and deviation for kind=normal")
        return read(texts["density"], "density")
    if set(texts) != {"centre", "deviation"}:
        raise PublicParameterError("centre and deviation come together: give both, or neither")
    return Normal(**texts)


def words(against: Normal | Fraction) -> Words:
    """The text of what is compared with."""
    if isinstance(against, Normal):
        return (("centre", show(against.centre)), ("deviation", show(against.deviation)))
    return (("density", show(against)),)


@attrs.frozen
class HypothesisTest(Statistic):
    """A test of a hypothesis, with an effect, a p-value that knows the noise, and its power in a plan.

    Parameters
    ----------
    formula : str
        ``"y ~ g"`` compares y between the groups of g, or two columns; ``"y"`` alone is compared with a normal law.
    kind : "auto", "means", "proportions", "independence", "ranks", "correlation", "normal" or "density"
        "auto" is what the declared types of the columns leave.
    among : sequence of key, optional
        Public groups of g, where not all declared ones are meant.
    value : key, optional
        For "proportions": the value whose share is compared.
    edges : sequence of number, optional
        For "ranks" and "normal": public bins on which y is counted; without them a public rule.
    against : ``rt.Normal(centre, deviation)`` or number, optional
        For "normal" the law that is meant, by default any normal law. For "density" the number that the density at the
        median of y is compared with, a share for each unit of y, above 0.
    low, high : number, optional
        Bounds of y for this question; by default those of the study.
    """

    verb: ClassVar[str] = "test"
    declines: ClassVar[str] = "where a test of the density has too few values; other tests always reply"
    synonyms: ClassVar[tuple[str, ...]] = (
        *("t_test", "ttest", "chisq", "chi_square", "mann_whitney", "kruskal", "wilcoxon", "ks", "anova"),
        *("correlation", "cor", "corr", "pearson"),
    )
    positions: ClassVar[tuple[str, ...]] = ("formula",)
    settles: ClassVar[tuple[str, ...]] = ("value",)
    examples: ClassVar[tuple[str, ...]] = (
        "test(x ~ g)",
        "test(g ~ h, kind=independence)",
        "test(x, kind=normal)",
        "test(x, kind=density, density=0.1)",
    )
    __test__: ClassVar[bool] = False  # pytest would collect it wherever it is imported as test

    formula: Comparison = attrs.field(converter=read_comparison)
    kind: OfTest = attrs.field(default="auto", kw_only=True)
    among: tuple[Key, ...] = attrs.field(default=(), converter=read_keys, kw_only=True)
    value: Key | None = attrs.field(default=None, kw_only=True, metadata=OF_VALUE)
    edges: tuple[Fraction, ...] = attrs.field(
        default=(), converter=read_edges, kw_only=True, metadata={"show": edges_text}
    )
    against: Normal | Fraction | None = attrs.field(
        default=None,
        converter=read_against,
        kw_only=True,
        metadata={"unfold": ("density", "centre", "deviation"), "build": build, "words": words},
    )
    low: Fraction | None = attrs.field(default=None, converter=read_low, kw_only=True)
    high: Fraction | None = attrs.field(default=None, converter=read_high, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_word("kind", self.kind, OfTest)
        if self.on == self.column:
            raise PublicParameterError("a test compares two columns, or one with a normal law")
        if self.on is None and self.kind not in ("auto", *ALONE):
            raise PublicParameterError(f'{self.kind} needs two columns: test("x ~ g", kind="{self.kind}")')
        if self.on is not None and self.kind in ALONE:
            raise PublicParameterError(f'{self.kind} is about one column: test("x", kind="{self.kind}")')
        check_bounds(self.low, self.high)
        if self.density is not None:
            positive(self.density, "density")
        elif self.kind == "density":
            raise PublicParameterError(
                'kind="density" compares with a public number: name density=, in Python against='
            )
        if len(set(self.among)) != len(self.among) or len(self.among) == 1:
            raise PublicParameterError("among lists two groups or more, each once")
        if any(right <= left for left, right in zip(self.edges, self.edges[1:], strict=False)) or len(self.edges) == 1:
            raise PublicParameterError("edges are two numbers or more, rising")

    @property
    def column(self) -> str:
        """The column left of ``~``: what is compared."""
        return self.formula.column

    @property
    def on(self) -> str | None:
        """The column right of ``~``: the groups, or the other column."""
        return self.formula.on

    @property
    def law(self) -> Normal | None:
        """The normal law that is meant; None for any."""
        return self.against if isinstance(self.against, Normal) else None

    @property
    def density(self) -> Fraction | None:
        """The number that a density is compared with."""
        return self.against if isinstance(self.against, Fraction) else None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,) if self.on is None else (self.column, self.on)

    def renamed(self, of: Callable[[str], str]) -> HypothesisTest:
        return attrs.evolve(self, formula=Comparison(of(self.column), None if self.on is None else of(self.on)))

    def settled(self, schema: Schema) -> HypothesisTest:
        among = listed_in(schema.columns[self.column]) if self.column in schema.columns else ()
        if self.kind != "proportions" or self.value is not None or not among:
            return self
        return attrs.evolve(self, value=in_letters(chosen_of(among, None, self)))

    @property
    def arguments(self) -> tuple[str, ...]:
        return (str(self.formula),)

    @property
    def may_decline(self) -> bool:
        return self.kind == "density"

    def estimand(self, setting: Setting) -> str:
        if self.kind == "density":
            return f"rows of this table to change until another verdict on the density of {self.column} is right"
        return f"effect in {self.formula} in the population"

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.hypotheses import kinds

        return kinds.test(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> HypothesisTest:
        """A hypothesis of each kind; one that does not fit the schema is refused when it is prepared."""
        kind = dice.pick(("means", "proportions", "independence", "ranks", "correlation", "normal", "density"))
        number, (group, other, *_) = dice.pick(("x", "k")), dice.shuffled(("g", "h", "b"))
        edges = dice.pick(((), (), ("-1", "0", "1", "3"), ("-2", "1000000")))
        low, high = seldom_bounds(dice)
        match kind:
            case "means":
                return cls(f"{number} ~ {group}", kind="means", low=low, high=high)
            case "proportions":
                values: dict[str, Key] = {"g": "a", "h": 1, "b": True}
                value = values[other] if dice.chance(70) else None
                return cls(f"{other} ~ {group}", kind="proportions", value=value)
            case "independence":
                return cls(f"{other} ~ {group}", kind="independence")
            case "ranks":
                return cls(f"{number} ~ {group}", kind="ranks", edges=edges, low=low, high=high)
            case "correlation":
                return cls("x ~ k", kind="correlation", low=low, high=high)
            case "density":
                return cls(number, kind="density", against=dice.pick(("1/100", "1/2", "3")))
            case _:
                law = dice.pick((None, Normal(0, 2)))
                return cls(number, kind="normal", edges=edges, against=law, low=low, high=high)
