"""Every estimator there is, as fits on made-up neighbours, and the audits of sessions and fits for a report.

    built_in()     a ``Fit`` for each estimator and way of fitting it, under both relations
    audits(pairs)  sessions and fits, each on some pairs of neighbours, extremes first

Half of the fits are pure and half have a delta; persons have one row, or up to two. Where they have one, each is fitted
once for a ledger in epsilon and once for one in rho. Tables have few rows; those of the
robust regressions have as many as are declared, so that their blocks are full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from reticent import learning
from reticent.conformance.findings import RunComparison
from reticent.conformance.neighbours import Family, KeyedDice, family
from reticent.conformance.plan_audit import AuditTotals, PlanAudit
from reticent.conformance.reader_replay import engine
from reticent.conformance.replay import QueryRunner
from reticent.conformance.tape import LIKELY, STYLES, Tape
from reticent.data.expression_text import read
from reticent.data.schema import Category, Column, Integer, Person, Real, Schema
from reticent.data.transformations import filtered
from reticent.privacy.adjacency import Kind as Relation
from reticent.statistics.scaling import Floats
from tests.assurance.fits import IN_RHO, Fit, Fits, Held
from tests.assurance.session_replay import Talk, Talks
from tests.assurance.session_replay import built_in as sessions

STREAM: Final = "models"
PEOPLE: Final = 400  # declared for robust regressions, which refuse to guess from few rows
FEW: Final = 2  # others in the tables of the rest: what one row shows is seen best among few
COLUMNS: Final[dict[str, Column]] = {
    "x": Real(Fraction(-1), Fraction(3)),
    "k": Integer(0, 5),
    "y": Real(Fraction(-2), Fraction(2)),
    "c": Integer(0, 2),
    "g": Category(("a", "b")),
}
ALWAYS: Final[dict[str, Column]] = {  # a value stands for one that is missing, so that the number of rows is public
    "x": Real(Fraction(-1), Fraction(3), missing=Fraction(0)),
    "y": Real(Fraction(-2), Fraction(2), missing=Fraction(0)),
}
PURE: Final[Mapping[str, object]] = {"epsilon": 4, "delta": 0}
SPENT: Final[Mapping[str, object]] = {"epsilon": 4, "delta": "0.000001"}
ROBUST: Final = ("theil_sen", "tukey", "block_medians", "R_S", "R_H")
FILTER: Final = "k != 3"  # whoever lacks k is left out, and comes in the place of others
XK: Final = ("x", "k")
STEPS: Final = 3  # of a descent
SCORED: Final = "1"  # epsilon of a score

Kind: TypeAlias = Callable[..., object]  # a class of estimators, whose parameters differ


@dataclass(frozen=True, slots=True)
class Way:
    """One way of fitting an estimator: its class, its own parameters, its columns; ``pure`` where no delta is spent.

    ``held`` and ``scored`` are as of a ``Fit``.
    """

    kind: Kind
    own: Mapping[str, object]
    x: tuple[str, ...] = XK
    y: str | None = None
    how: str = ""
    pure: bool = False
    held: Held = "handles"
    scored: str | None = None

    @property
    def name(self) -> str:
        return f"{self.kind.__name__}{', ' if self.how else ''}{self.how}"

    def made(self, spent: Mapping[str, object]) -> object:
        """The estimator, unfitted."""
        return self.kind(**self.own, **(PURE if self.pure else spent))


def ways() -> Iterator[Way]:
    """Every estimator of ``reticent.learning`` that charges, with each of its methods for few rows."""
    yield Way(learning.LinearRegression, {}, y="y")
    yield Way(learning.HuberRegressor, {"solver": "descent", "steps": STEPS}, y="y")
    yield Way(learning.QuantileRegressor, {"solver": "descent", "steps": STEPS}, ("x", "g"), "y")
    yield Way(
        learning.LogisticRegression, {"solver": "descent", "steps": STEPS, "intervals": "yes"}, y="g", how="intervals"
    )
    yield Way(learning.LogisticRegression, {"intervals": "yes"}, y="g", how="perturbed with intervals", pure=True)
    yield Way(learning.LogisticRegression, {"solver": "descent", "steps": STEPS}, y="c", how="three classes")
    even = {"class_weight": "balanced", "solver": "descent", "steps": STEPS}
    yield Way(learning.LogisticRegression, even, y="c", how="balanced")
    yield Way(learning.LinearSVC, {"class_weight": "balanced"}, y="g", how="balanced and perturbed", pure=True)
    yield Way(learning.LinearSVC, {"solver": "descent", "steps": STEPS}, ("x", "g"), "c")
    for kind, y in ((learning.LogisticRegression, "g"), (learning.LinearSVC, "g"), (learning.HuberRegressor, "y")):
        yield Way(kind, {"solver": "objective"}, y=y, how="objective perturbed", pure=True)
        yield Way(kind, {"solver": "output"}, y=y, how="output perturbed")
    margin, logcosh = {"slope": squared_hinge, "reach": 3}, {"slope": log_cosh, "inverse_link": np.arctan}
    yield Way(learning.EmpiricalRiskClassifier, {**margin, "solver": "descent", "steps": STEPS}, y="c")
    yield Way(learning.EmpiricalRiskClassifier, {**margin, "solver": "objective"}, y="g", how="perturbed", pure=True)
    yield Way(learning.EmpiricalRiskRegressor, {**logcosh, "solver": "descent", "steps": STEPS}, ("x", "g"), "y")
    yield Way(learning.EmpiricalRiskRegressor, {**logcosh, "solver": "output"}, y="y", how="output perturbed")
    yield Way(learning.GaussianNB, {}, y="c")
    yield Way(learning.DecisionTreeClassifier, {"max_depth": 2}, y="c", pure=True)
    yield Way(learning.DecisionTreeClassifier, {"max_depth": 2, "splitter": "random"}, y="g", how="random", pure=True)
    yield Way(learning.RandomForestClassifier, {"max_depth": 2, "n_estimators": 2}, y="g", pure=True)
    yield Way(learning.BernsteinClassifier, {}, y="g")
    yield Way(learning.StandardScaler, {})
    yield Way(learning.PCA, {})
    yield Way(learning.KMeans, {"n_clusters": 2, "max_iter": 2})
    linear = learning.LogisticRegression(solver="descent", steps=2, intervals="no")
    yield Way(learning.GridSearchCV, {"estimator": linear, "param_grid": {"C": [1, 10]}}, y="g", how="linear")
    huber = learning.HuberRegressor(solver="descent", steps=2)
    yield Way(learning.GridSearchCV, {"estimator": huber, "param_grid": {"alpha": [1, 10]}}, y="y", how="regressions")
    tree = learning.DecisionTreeClassifier()
    yield Way(learning.GridSearchCV, {"estimator": tree, "param_grid": {"max_depth": [1, 2]}}, y="c", how="trees")
    for place in (0, 1):  # refits of one epsilon, of which the first or the last is the dearest in rho
        grid = {"max_depth": [2], "splitter": ["best", "random"][:: (1, -1)[place]]}
        unlike = {"estimator": tree, "param_grid": grid}
        yield Way(learning.GridSearchCV, unlike, y="c", how=f"unlike trees {place + 1}", pure=True)
    yield from arrays()
    yield from scores()


def arrays() -> Iterator[Way]:
    """Fits to arrays that a caller holds; the only ones that take a program of the caller's."""
    few = {"solver": "descent", "steps": STEPS}
    yield Way(learning.LinearRegression, {}, y="y", how="arrays", held="arrays")
    yield Way(learning.LogisticRegression, few, y="c", how="arrays", held="arrays")
    yield Way(learning.GaussianNB, {}, ("x", "g"), "c", how="arrays", held="arrays")
    yield Way(learning.RandomForestClassifier, {"max_depth": 2}, y="g", how="arrays", pure=True, held="arrays")
    yield Way(learning.KMeans, {"n_clusters": 2, "max_iter": 2}, how="arrays", held="arrays")
    linear = learning.LogisticRegression(solver="descent", steps=2, intervals="no")
    grid = {"estimator": linear, "param_grid": {"C": [1, 10]}}
    yield Way(learning.GridSearchCV, grid, y="g", how="arrays", held="arrays")
    own = {"train": nearest, "stability": 2, "degree": 2}
    yield Way(learning.FunctionClassifier, own, y="g", how="arrays", pure=True, held="arrays")


def scores() -> Iterator[Way]:
    """Fits with a score after them, by each way of labelling a row or of predicting for it."""
    log_links = {"slope": log_cosh, "inverse_link": np.arctan, "solver": "descent", "steps": STEPS}
    for kind, own, y in (
        (learning.LinearRegression, {}, "y"),
        (learning.EmpiricalRiskRegressor, log_links, "y"),
        (learning.LinearSVC, {"solver": "descent", "steps": STEPS}, "c"),
        (learning.GaussianNB, {}, "c"),
        (learning.DecisionTreeClassifier, {"max_depth": 2}, "g"),
        (learning.BernsteinClassifier, {}, "g"),
    ):
        yield Way(kind, own, y=y, how="scored", pure=True, scored=SCORED)
    yield Way(learning.GaussianNB, {}, y="c", how="arrays scored", pure=True, held="arrays", scored=SCORED)


def squared_hinge(score: Floats, target: Floats) -> Floats:
    """The slope of half the square of what a margin lacks of 1."""
    return np.asarray(-target * np.clip(1.0 - target * score, 0.0, None))


def log_cosh(score: Floats, target: Floats) -> Floats:
    """The slope of the logarithm of the hyperbolic cosine of a residual."""
    return np.asarray(np.tanh(score - target))


def nearest(rows: Floats, signs: Floats) -> Callable[[Floats], Floats]:
    """The sign of the nearest row, or 0 where there is none: any rows that are replaced move it by 2 at most."""
    if not len(rows):
        return lambda points: np.zeros(len(points))
    return lambda points: np.asarray(signs[((points[:, None] - rows) ** 2).sum(axis=2).argmin(axis=1)])


def built_in() -> Iterator[Fit]:
    """Every way under both relations, for persons of one row and of several; robust ones for a declared number."""
    kinds: tuple[Relation, ...] = ("add_remove", "substitute")
    for kind, rows in product(kinds, (1, 2)):
        schema = Schema(COLUMNS, Person(kind, None if rows == 1 else "who", rows))
        each = f"{kind}, at most {rows} {'row' if rows == 1 else 'rows'} each"
        spent = PURE if (kind == "add_remove") == (rows == 1) else SPENT
        for way in ways():
            make = partial(way.made, spent)
            yield Fit(f"{way.name}, {each}", schema, make, way.x, way.y, way.held, way.scored)
            if rows == 1:
                yield Fit(f"{way.name}, {each}, in ρ", schema, make, way.x, way.y, way.held, way.scored, IN_RHO)
    for rows, spent in ((1, PURE), (2, SPENT)):
        schema = filtered(Schema(COLUMNS, Person("substitute", None if rows == 1 else "who", rows)), read(FILTER))
        each = f"filtered, substitute, at most {rows} {'row' if rows == 1 else 'rows'} each"
        for way in (way for way in ways() if way.held == "handles"):
            yield Fit(f"{way.name}, {each}", schema, partial(way.made, spent), way.x, way.y, scored=way.scored)
    for kind in kinds:
        schema = Schema(ALWAYS, Person(kind, None, 1, PEOPLE))
        for method in ROBUST:
            robust = partial(learning.LinearRegression, method=method, epsilon=10, delta="0.0001")
            name = f"LinearRegression, {method}, {kind}, {PEOPLE} rows"
            yield Fit(name, schema, robust, ("x",), "y")
        plain = partial(learning.LinearRegression, epsilon=4)
        name = f"LinearRegression, scored, {kind}, {PEOPLE} rows"  # whose score buys no number of rows
        yield Fit(name, schema, plain, ("x",), "y", scored=SCORED)


def tables(fit: Fit | Talk) -> Family:
    """A family of tables for a fit or a session: four persons who differ, in ways that matter to sums and to counts."""
    dice = KeyedDice(f"{STREAM} {fit.schema.person.adjacency}")
    return family(
        fit.schema, dice, ("high", "low", "mixed", "missing"), FEW if fit.schema.person.people is None else PEOPLE - 1
    )


def audits(pairs: int, tell: Callable[[str], None] = lambda what: None) -> Iterator[tuple[str, PlanAudit]]:
    """Each session and each fit on ``pairs`` pairs of neighbours, with one tape of noise each."""
    known: dict[str, tuple[Family, list[QueryRunner]]] = {}
    with engine() as opened:
        items: tuple[Fit | Talk, ...] = (*sessions(), *built_in())
        for item in items:
            key = repr(item.schema)
            if key not in known:
                tell(f"made-up neighbours: {'sessions' if isinstance(item, Talk) else 'models'}, {item.name}")
                made = tables(item)
                known[key] = made, [opened(made, place) for place in range(len(made.tables))]
            tally = AuditTotals((item.name,))
            for found in compared(item, *known[key], pairs):
                tally.add(found)
            yield item.name, tally.audited()


def compared(item: Fit | Talk, made: Family, held: Sequence[QueryRunner], pairs: int) -> Iterator[RunComparison]:
    """Some pairs of a family: first the same rows in another order, then such as stand apart in the family."""
    one = Talks(item) if isinstance(item, Talk) else Fits(item)
    styles = LIKELY if item.schema.person.people is not None else STYLES  # a test that passes by luck is delta's
    apart = [made.pairs[-1], *made.pairs[:-1][:: max(1, len(made.pairs) // pairs)]][:pairs]
    for nth, pair in enumerate(apart):
        tape = Tape(styles[nth % len(styles)], nth, nth % 3)
        yield one.compare(held[pair.here], held[pair.there], tape, same=pair.same)


__all__ = ["audits", "built_in", "compared", "tables", "ways"]
