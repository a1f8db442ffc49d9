"""A test of a hypothesis, as it is asked: ``test("income ~ sex")``, ``test("income", kind="normal")``.

    kind            of                              hypothesis
    "means"         a number by two groups          equal means
    "proportions"   a value by two groups           equal shares of it
    "independence"  two columns with keys           independent
    "ranks"         a number by two groups or more  equal laws (Mann and Whitney; Kruskal and Wallis)
    "correlation"   two numbers                     not correlated
    "normal"        a number                        normal, by a named law or any (Kolmogorov, Smirnov)
    "density"       a number                        a density at the median of at most ``density``

"auto" takes the kind that the declared types of the columns leave, and the answer says which.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, get_args

from reticent.data.schema import Key
from reticent.errors import PublicParameterError
from reticent.privacy.numbers import positive, show
from reticent.statistics.limits import check_limits

OfTest: TypeAlias = Literal["auto", "means", "proportions", "independence", "ranks", "correlation", "normal", "density"]
ALONE: Final = ("normal", "density")


@dataclass(frozen=True, slots=True)
class HypothesisTest:
    """One test.

    Attributes
    ----------
    column : str
        Left of ``~``: what is compared.
    on : str or None
        Right of ``~``: the groups, or the other column; None for "normal" and "density".
    among : tuple of Key
        Public groups of ``on`` where its declaration does not list them, or a choice of them.
    value : Key or None
        For "proportions": the value whose share is compared.
    edges : tuple of Fraction
        For "ranks" and "normal": public bins on which the column is counted; without them a public rule.
    centre, deviation : Fraction or None
        For "normal": the law meant; both, or neither for any normal law.
    density : Fraction or None
        For "density": the number that the density is compared with, a share for each unit of the column, > 0.
    low, high : Fraction or None
        Bounds of ``column`` for this question alone.
    epsilon : Fraction or None
        A share of its own.
    """

    column: str
    on: str | None = None
    _: KW_ONLY
    kind: OfTest = "auto"
    among: tuple[Key, ...] = ()
    value: Key | None = None
    edges: tuple[Fraction, ...] = ()
    centre: Fraction | None = None
    deviation: Fraction | None = None
    low: Fraction | None = None
    high: Fraction | None = None
    epsilon: Fraction | None = None
    density: Fraction | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(OfTest):
            raise PublicParameterError(f"there is no test {self.kind!r} here: {', '.join(get_args(OfTest))}")
        if self.on == self.column:
            raise PublicParameterError("a test compares two columns, or one with a normal law")
        if self.on is None and self.kind not in ("auto", *ALONE):
            raise PublicParameterError(f'{self.kind} needs two columns: test("x ~ g", kind="{self.kind}")')
        if self.on is not None and self.kind in ALONE:
            raise PublicParameterError(f'{self.kind} is about one column: test("x", kind="{self.kind}")')
        check_limits(self.epsilon, self.low, self.high)
        if (self.centre is None) != (self.deviation is None):
            raise PublicParameterError("centre and deviation come together: give both, or neither")
        if self.deviation is not None:
            positive(self.deviation, "deviation")
        if self.density is not None:
            positive(self.density, "density")
        elif self.kind == "density":
            raise PublicParameterError('kind="density" compares with a public number: name density=')
        if len(set(self.among)) != len(self.among) or len(self.among) == 1:
            raise PublicParameterError("among lists two groups or more, each once")
        if any(right <= left for left, right in zip(self.edges, self.edges[1:], strict=False)) or len(self.edges) == 1:
            raise PublicParameterError("edges are two numbers or more, rising")

    @property
    def formula(self) -> str:
        return self.column if self.on is None else f"{self.column} ~ {self.on}"

    @property
    def name(self) -> str:
        """The text that ``grammar.parse`` reads back."""
        options = [] if self.kind == "auto" else [f"kind={self.kind}"]
        options += [f"among={' '.join(str(key) for key in self.among)}"] if self.among else []
        options += [] if self.value is None else [f"value={self.value}"]
        options += [f"edges={' '.join(show(edge) for edge in self.edges)}"] if self.edges else []
        named = (("centre", self.centre), ("deviation", self.deviation), ("low", self.low), ("high", self.high))
        numbers = (("density", self.density), *named)
        options += [f"{name}={show(number)}" for name, number in numbers if number is not None]
        return f"test({', '.join([self.formula, *options])})"

    @property
    def counts_rows(self) -> bool:
        return True


__all__ = ["HypothesisTest", "OfTest"]
