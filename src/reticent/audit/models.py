"""Every estimator there is, as fits on made-up neighbours, and the audits of sessions and fits for a report.

    built_in()     a ``Fit`` for each estimator and way of fitting it, under both relations
    audits(pairs)  sessions and fits, each on some pairs of neighbours, extremes first

Half of the fits are pure and half have a delta; persons have one row, or up to two. Tables have few rows; those of the
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
from reticent.audit.fits import Fit, Fits
from reticent.audit.found import Comparison
from reticent.audit.neighbours import Dice, Family, family
from reticent.audit.plan import Audited, Tally
from reticent.audit.readers import engine
from reticent.audit.replay import Rows
from reticent.audit.talks import Talk, Talks
from reticent.audit.talks import built_in as sessions
from reticent.audit.tape import LIKELY, STYLES, Tape
from reticent.data.schema import Category, Column, Integer, Person, Real, Schema
from reticent.learning.scaling import Floats
from reticent.privacy.adjacency import Kind as Relation

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
XK: Final = ("x", "k")
STEPS: Final = 3  # of a descent

Kind: TypeAlias = Callable[..., object]  # a class of estimators, whose parameters differ


@dataclass(frozen=True, slots=True)
class Way:
    """One way of fitting an estimator: its class, its own parameters, its columns; ``pure`` where no delta is spent."""

    kind: Kind
    own: Mapping[str, object]
    x: tuple[str, ...] = XK
    y: str | None = None
    how: str = ""
    pure: bool = False

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
    yield Way(learning.LogisticRegression, {"solver": "descent", "steps": STEPS}, y="g", how="intervals")
    yield Way(learning.LogisticRegression, {"intervals": "yes"}, y="g", how="perturbed with intervals", pure=True)
    yield Way(learning.LogisticRegression, {"solver": "descent", "steps": STEPS}, y="c", how="three classes")
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
    tree = learning.DecisionTreeClassifier()
    yield Way(learning.GridSearchCV, {"estimator": tree, "param_grid": {"max_depth": [1, 2]}}, y="c", how="trees")


def squared_hinge(score: Floats, target: Floats) -> Floats:
    """The slope of half the square of what a margin lacks of 1."""
    return np.asarray(-target * np.clip(1.0 - target * score, 0.0, None))


def log_cosh(score: Floats, target: Floats) -> Floats:
    """The slope of the logarithm of the hyperbolic cosine of a residual."""
    return np.asarray(np.tanh(score - target))


def built_in() -> Iterator[Fit]:
    """Every way under both relations, for persons of one row and of several; robust ones for a declared number."""
    kinds: tuple[Relation, ...] = ("add_remove", "substitute")
    for kind, rows in product(kinds, (1, 2)):
        schema = Schema(COLUMNS, Person(kind, None if rows == 1 else "who", rows))
        each = f"{kind}, at most {rows} {'row' if rows == 1 else 'rows'} each"
        spent = PURE if (kind == "add_remove") == (rows == 1) else SPENT
        for way in ways():
            yield Fit(f"{way.name}, {each}", schema, partial(way.made, spent), way.x, way.y)
    for kind in kinds:
        schema = Schema(ALWAYS, Person(kind, None, 1, PEOPLE))
        for method in ROBUST:
            make = partial(learning.LinearRegression, method=method, epsilon=10, delta="0.0001")
            name = f"LinearRegression, {method}, {kind}, {PEOPLE} rows"
            yield Fit(name, schema, make, ("x",), "y")


def tables(fit: Fit | Talk) -> Family:
    """A family of tables for a fit or a session: four persons who differ, in ways that matter to sums and to counts."""
    dice = Dice(f"{STREAM} {fit.schema.person.adjacency}")
    return family(
        fit.schema, dice, ("high", "low", "mixed", "missing"), FEW if fit.schema.person.people is None else PEOPLE - 1
    )


def audits(pairs: int, tell: Callable[[str], None] = lambda what: None) -> Iterator[tuple[str, Audited]]:
    """Each session and each fit on ``pairs`` pairs of neighbours, with one tape of noise each."""
    known: dict[str, tuple[Family, list[Rows]]] = {}
    with engine() as opened:
        items: tuple[Fit | Talk, ...] = (*sessions(), *built_in())
        for item in items:
            key = repr(item.schema)
            if key not in known:
                tell(f"made-up neighbours: {'sessions' if isinstance(item, Talk) else 'models'}, {item.name}")
                made = tables(item)
                known[key] = made, [opened(made, place) for place in range(len(made.tables))]
            tally = Tally((item.name,))
            for found in compared(item, *known[key], pairs):
                tally.add(found)
            yield item.name, tally.audited()


def compared(item: Fit | Talk, made: Family, held: Sequence[Rows], pairs: int) -> Iterator[Comparison]:
    """Some pairs of a family: first the same rows in another order, then such as stand apart in the family."""
    one = Talks(item) if isinstance(item, Talk) else Fits(item)
    styles = LIKELY if item.schema.person.people is not None else STYLES  # a test that passes by luck is delta's
    apart = [made.pairs[-1], *made.pairs[:-1][:: max(1, len(made.pairs) // pairs)]][:pairs]
    for nth, pair in enumerate(apart):
        tape = Tape(styles[nth % len(styles)], nth, nth % 3)
        yield one.compare(held[pair.here], held[pair.there], tape, same=pair.same)


__all__ = ["audits", "built_in", "compared", "tables", "ways"]
