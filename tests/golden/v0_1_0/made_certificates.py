"""Part of ``made_by.py``: releases, models and sessions in epsilon and in rho, with their certificates."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from reticent.study.keys import load_private

import reticent as rt
from reticent import learning
from reticent.learning import Accuracy, Between, Level
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ApproxDP, ApproxZCDP
from reticent.study.certificate import Certificate

FIGURES: dict[str, dict[str, Any]] = {
    "ledgers": {},
    "certificates": {},
    "studies": {},
    "surveys": {},
    "densities": {},
    "models": {},
    "releases": {},
}
RNG = np.random.default_rng(20261122)
N = 3_000
TABLE = {
    "age": RNG.integers(18, 90, N),
    "cost": np.where(RNG.random(N) < 0.2, 0.0, RNG.gamma(2.0, 60.0, N)),
    "score": RNG.normal(50.0, 10.0, N),
    "town": RNG.choice(["a", "b"], N),
    "ill": RNG.integers(0, 2, N),
    "sick": RNG.choice(["yes", "no"], N, p=[0.3, 0.7]),
    "free": RNG.normal(3.0, 2.0, N),
    "line": np.zeros(N),
}
TABLE["line"] = 2.0 * TABLE["free"] + RNG.normal(0.0, 0.5, N)
COLUMNS: dict[str, Any] = {
    "age": rt.integer(18, 90, why="adults"),
    "cost": rt.real(0, 600, why="capped by the insurer"),
    "score": rt.real(0, 100, resolution="0.5"),
    "town": rt.category(["a", "b"]),
    "ill": rt.integer(0, 1),
    "sick": rt.category(["yes", "no"]),
    "free": rt.real(resolution="0.01"),
    "line": rt.real(resolution="0.01"),
}
BUDGETS: dict[str, Any] = {
    "approx": ApproxDP(Fraction(900), Fraction(1, 1000)),
    "zcdp": ApproxZCDP(Fraction(900), Fraction(1, 1000)),
}


def public(kind: str) -> dict[str, Any]:
    """The columns, with a stand-in for missing values where everybody's value is public to exist."""
    if kind == "add_remove":
        return COLUMNS
    numeric = {
        "age": rt.integer(18, 90, missing=50),
        "cost": rt.real(0, 600, missing=0),
        "ill": rt.integer(0, 1, missing=0),
    }
    others = {
        "score": rt.real(0, 100, resolution="0.5", missing=50),
        "free": rt.real(resolution="0.01", missing=0),
        "line": rt.real(resolution="0.01", missing=0),
    }
    return {**COLUMNS, **numeric, **others}


# --- certificates -----------------------------------------------------------------------------------------------------

PURE = [
    ["count", "persons", "sum(age)", "mean(age)", "proportion(town, value=a)"],
    ["variance(age)", "sd(cost)", "histogram(age, edges=18:90:24)", "histogram(town)", "mean(age) by town"],
    ["median(age)", "quantile(cost, 0.9)", "quantiles(score, 0.1 0.5 0.9)", "iqr(score)", "median(free)"],
    [
        "quantiles(free, 0.25 0.5, method=separate)",
        "iqr(free, method=separate)",
        "mean(free, method=clipped)",
        "location(free)",
    ],
    ["median(age, interval=no)", "mean(age, low=20, high=60)", "median(score) by town"],
]
TESTS = [
    ["test(age ~ town)", "test(sick ~ town)", "test(age ~ cost, kind=correlation)", "test(score)"],
    ["test(age ~ town, kind=ranks)", "test(sick ~ town, kind=proportions)"],
]
REGRESSIONS = [
    "regress(cost ~ age)",
    "regress(line ~ free, method=theil_sen)",
    "regress(line ~ free, method=block_medians)",
    "regress(line ~ free + score, method=tukey)",
    "regress(cost ~ age, method=adassp)",
    "regress(cost ~ age, method=over_beta)",
]
WITH_DELTA = [
    "scale(free)",
    "scale(free, method=stable)",
    "iqr(free, method=S)",
    "median(free, method=M)",
    "median(free, method=M, width=0.2)",
    "trimmed_mean(free, method=TM)",
    "median(age, method=smooth, low=18, high=90)",
    "mean(free, method=coinpress, centre=0, radius=100, deviation=5)",
    "regress(line ~ free, method=R_S)",
    "regress(line ~ free, method=R_H)",
]
DENSITIES = {
    "histogram": "density(age, method=histogram)",
    "sparse": "density(cost, method=sparse)",
    "adaptive": "density(cost, method=adaptive)",
    "tree": "density(age, method=tree)",
    "ks": "density(score, method=ks, size=60)",
    "series": "density(score, method=series)",
    "bernstein": "density(score, method=bernstein)",
    "auto": "density(score)",
    "two columns": "density(age, score, method=histogram, cells=8)",
    "atoms and checks": "density(cost, method=histogram, cells=16, atoms=0 missing, checks=0.1)",
    "private detail": "density(score, method=histogram, cells=auto)",
}
WITH_DELTA_DENSITIES = {"kernel": "density(score, method=kernel, delta=1e-6)"}
SMALL_DENSITIES = ("histogram", "tree", "ks", "two columns", "atoms and checks")  # also saved by themselves


def study(ledger: Path, currency: str, kind: str, **own: Any) -> Any:
    return rt.study(
        TABLE,
        adjacency=kind,
        columns=public(kind),
        budget=BUDGETS[currency],
        ledger=ledger,
        title=f"golden, {currency}, {kind}",
        override="a ledger for golden files",
        **own,
    )


def keep(folder: Path, name: str, certificate: Certificate, ledger: str) -> None:
    """Save a certificate, and what 0.1.0 reads in it."""
    made = certificate.save(folder / "certificates" / f"{name}.json")
    if not name.endswith(("_pure_0", "_model")):  # without the line breaks of a saved file, to be small
        made.write_text(certificate.text, encoding="utf-8")
    document = certificate.document
    figures: dict[str, Any] = {
        "ledger": ledger,
        "kind": certificate.kind,
        "digest": certificate.digest,
        "charged": document["charged"],
        "signed": certificate.signed,
        "theorems": sorted({node.by.name for node in nodes(certificate.guarantee)}),
        "answers": [
            [answer.name, [[list(map(list, cell.label)), outcome(cell.outcome)] for cell in answer]]
            for answer in certificate.answers
        ],
    }
    checked = certificate.verify(folder / "ledgers" / ledger, folder / "officer.pub", allow_unsigned=True)
    assert checked.ok, (made, checked)
    FIGURES["certificates"][name] = figures


def outcome(found: Any) -> Any:
    if isinstance(found, rt.NoReply):
        return None
    return [found.value.value, found.value.low, found.value.high, found.value.noise, found.value.sampling]


def nodes(tree: Any) -> Iterator[Any]:
    yield tree
    for part in tree.parts:
        yield from nodes(part)


def releases(folder: Path, currency: str, kind: str) -> None:
    """Every statistic; in the second pair of currency and neighbours densities of three methods."""
    name = f"{currency}_{kind}"
    ledger = f"{name}.ledger"
    of = study(folder / "ledgers" / ledger, currency, kind)
    key = folder / "officer.key"
    why = "" if currency == "approx" else "golden files"
    for place, questions in enumerate([*PURE, *TESTS]):
        signer = key if place == 0 else None
        made = of.release(
            questions, epsilon=8, name=f"table {place}", purpose="golden", who="anna", key=signer, override=why
        )
        keep(folder, f"{name}_pure_{place}", made.certificate, ledger)
        if place == 0:
            kept(folder, f"release_{name}", made)
    made = of.release(["count", "mean(age)"], rho="0.1", delta="1e-9", name="in rho", override=why)
    keep(folder, f"{name}_rho", made.certificate, ledger)
    made = of.release(["count", "mean(age)"], epsilon=1, name="audited", audit=5, override=why)
    keep(folder, f"{name}_audited", made.certificate, ledger)
    for question in REGRESSIONS:
        short = question.partition("method=")[2].removesuffix(")") or "auto"
        made = of.release([question], epsilon=5, override=why)
        keep(folder, f"{name}_regress_{short}", made.certificate, ledger)
    for place, question in enumerate(WITH_DELTA):
        made = of.release([question], epsilon=8, delta="1e-6", override=why)
        keep(folder, f"{name}_delta_{place}", made.certificate, ledger)
    for place, question in enumerate(WITH_DELTA[:6] if kind == "substitute" else []):
        if "smooth" not in question and "stable" not in question:
            asked = question.removesuffix(")") + ", mode=paper)"
            made = of.release([asked], epsilon=9, delta="2e-5", override=why)
            keep(folder, f"{name}_paper_{place}", made.certificate, ledger)
    for short, question in DENSITIES.items():
        if kind == "substitute" and short not in ("histogram", "ks", "atoms and checks"):
            continue
        question = question if kind == "add_remove" else question.replace(" missing", "")
        densities(folder, name, short, of.release([question], epsilon=3, override=why), ledger)
    for short, question in WITH_DELTA_DENSITIES.items():
        densities(folder, name, short, of.release([question], epsilon=3, override=why), ledger)


def densities(folder: Path, name: str, short: str, made: Any, ledger: str) -> None:
    words = short.replace(" ", "_").replace(",", "")
    keep(folder, f"{name}_density_{words}", made.certificate, ledger)
    (answer,) = made.answers
    if name == "approx_add_remove" and short in SMALL_DENSITIES:
        law = answer.density
        text = law.to_json()
        (folder / "densities" / f"{words}.json").write_text(text + "\n", encoding="utf-8")
        FIGURES["densities"][words] = {"n": law.n, "method": law.method, "figures": law_figures(law)}


def law_figures(law: Any) -> list[float]:
    if len(law.axes) > 1:
        return [float(np.asarray(law.masses).sum())]
    low, high = float(law.axes[0].edges[0]), float(law.axes[0].edges[-1])
    middle = (low + high) / 2
    mass = law.probability(low, middle)
    return [mass.value, mass.low, mass.high, *np.asarray(law.quantile([0.25, 0.5, 0.9])).ravel().tolist()]


def persons(folder: Path) -> None:
    """A table with several rows of a person, groups that are constant and groups that are not."""
    who = RNG.integers(0, 900, N)
    rows = {**TABLE, "who": who, "site": who % 3}
    ledger = "persons.ledger"
    of = rt.study(
        rows,
        adjacency="add_remove",
        columns={**COLUMNS, "site": rt.category([0, 1, 2])},
        budget=9,
        delta="1e-6",
        person="who",
        rows_each=5,
        ledger=folder / "ledgers" / ledger,
        title="several rows of a person",
    )
    made = of.release(["persons", "count", "mean(age)", "mean(cost, per=person)", "median(age)"], epsilon=4)
    keep(folder, "persons_pure", made.certificate, ledger)
    made = of.by("town", groups=2).release(["mean(age)", "count"], epsilon=3)
    keep(folder, "persons_by", made.certificate, ledger)
    made = of.release_density("score", epsilon="1.5")
    keep(folder, "persons_density", made.certificate, ledger)


# --- models and sessions ----------------------------------------------------------------------------------------------

X = RNG.uniform(-1, 1, (800, 2))
SIDES = (X[:, 0] + RNG.normal(size=800) / 2 > 0).astype(int)
NUMBERS = X @ np.array([1.0, -2.0]) + RNG.normal(size=800) / 4
NEW = np.array([[0.5, -0.5], [-0.75, 0.25], [0.0, 0.9]])


def slope_of(scores: Any, targets: Any) -> Any:
    return np.asarray(np.tanh(scores - targets))


def flat(rows: Any, signs: Any) -> Callable[[Any], Any]:
    return lambda points: np.zeros(len(points))


LABELLED: dict[str, Any] = {"classes": [0, 1]}
NUMBERED: dict[str, Any] = {"y_bounds": (-4, 4)}
MODELS: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "LinearRegression": (learning.LinearRegression, NUMBERED, NUMBERS),
    "HuberRegressor": (learning.HuberRegressor, NUMBERED, NUMBERS),
    "QuantileRegressor": (learning.QuantileRegressor, NUMBERED, NUMBERS),
    "EmpiricalRiskRegressor": (learning.EmpiricalRiskRegressor, {**NUMBERED, "slope": slope_of}, NUMBERS),
    "LogisticRegression": (learning.LogisticRegression, LABELLED, SIDES),
    "LogisticRegression_output": (learning.LogisticRegression, {**LABELLED, "solver": "output"}, SIDES),
    "LogisticRegression_descent": (learning.LogisticRegression, {**LABELLED, "solver": "descent"}, SIDES),
    "LinearSVC": (learning.LinearSVC, LABELLED, SIDES),
    "EmpiricalRiskClassifier": (learning.EmpiricalRiskClassifier, {**LABELLED, "slope": slope_of}, SIDES),
    "GaussianNB": (learning.GaussianNB, LABELLED, SIDES),
    "DecisionTreeClassifier": (learning.DecisionTreeClassifier, LABELLED, SIDES),
    "RandomForestClassifier": (learning.RandomForestClassifier, {**LABELLED, "n_estimators": 2}, SIDES),
    "BernsteinClassifier": (learning.BernsteinClassifier, LABELLED, SIDES),
    "FunctionClassifier": (learning.FunctionClassifier, {**LABELLED, "train": flat, "stability": 1}, SIDES),
    "KMeans": (learning.KMeans, {"n_clusters": 2}, None),
    "PCA": (learning.PCA, {}, None),
    "StandardScaler": (learning.StandardScaler, {}, None),
}
OWN_PROGRAM = (
    "EmpiricalRiskRegressor",
    "EmpiricalRiskClassifier",
    "FunctionClassifier",
)  # not pickled: a caller's code
PURE_ONLY = ("DecisionTreeClassifier", "RandomForestClassifier", *OWN_PROGRAM)


def models(folder: Path, currency: str, kind: str) -> None:
    short = f"models_{currency}_{kind}"
    ledger = f"{short}.ledger"
    account = Ledger.create(
        folder / "ledgers" / ledger, title=f"models, {currency}", adjacency=Adjacency(kind), budget=BUDGETS[currency]
    )
    common = {"bounds": (-1, 1), "adjacency": kind, "ledger": account, "purpose": "golden"}
    for name, (made, own, target) in MODELS.items():
        for delta in (0, "1e-6"):
            if delta and (name in PURE_ONLY or name == "LogisticRegression_descent"):
                continue
            model = made(epsilon=2, delta=delta, **common, **own)
            model.fit(X, *(() if target is None else (target,)))
            called = f"{short}_{name}{'_delta' if delta else ''}"
            keep(folder, called, model.certificate_, ledger)
            if currency == "approx" and kind == "add_remove" and not delta and name not in OWN_PROGRAM:
                (folder / "models" / f"{name}.pickle").write_bytes(pickle.dumps(model))
                FIGURES["models"][name] = {"predicts": predicted(model), "ledger_digest": model.certificate_.digest}
    scored = learning.GaussianNB(epsilon=1, classes=[0, 1], **common).fit(X, SIDES)
    scored.score(X, SIDES, epsilon=1)
    keep(folder, f"{short}_accuracy", scored.score_certificate_, ledger)
    scored = learning.LinearRegression(epsilon=1, y_bounds=(-4, 4), **common).fit(X, NUMBERS)
    scored.score(X, NUMBERS, epsilon=1)
    keep(folder, f"{short}_r_squared", scored.score_certificate_, ledger)
    trees = learning.DecisionTreeClassifier(classes=[0, 1], **common)
    lines = learning.LogisticRegression(classes=[0, 1], intervals="no", **common)
    grids: dict[str, tuple[Any, dict[str, Any]]] = {
        "dearest": (trees, {"splitter": ["best", "random"]}),
        "one": (trees, {"splitter": ["best"]}),
        "weights": (lines, {"C": ["0.1", "1", "10"]}),
    }
    for name, (model, grid) in grids.items():
        search = learning.GridSearchCV(model, grid, epsilon=5).fit(X, SIDES)
        keep(folder, f"{short}_grid_{name}", search.certificate_, ledger)
        if (currency, kind, name) == ("approx", "add_remove", "weights"):
            (folder / "models" / "GridSearchCV.pickle").write_bytes(pickle.dumps(search))
            FIGURES["models"]["GridSearchCV"] = {
                "predicts": search.predict(NEW).tolist(),
                "ledger_digest": search.certificate_.digest,
            }


def predicted(model: Any) -> Any:
    found = model.predict(NEW) if hasattr(model, "predict") else model.transform(NEW)
    return np.asarray(found).tolist()


def handles(folder: Path) -> None:
    """A model of a study's columns, categories among them; and signed."""
    ledger = "handles.ledger"
    of = study(folder / "ledgers" / ledger, "approx", "add_remove")
    model = learning.LinearRegression(epsilon=2, purpose="table 3").fit(*of.xy(["age", "town"], "cost"))
    keep(folder, "handles_model", model.certificate_.sign(load_private(folder / "officer.key")), ledger)


def sessions(folder: Path, currency: str, kind: str) -> None:
    short = f"sessions_{currency}_{kind}"
    ledger = f"{short}.ledger"
    of = rt.study(
        {"x": np.clip(TABLE["free"], -3, 3), "y": TABLE["ill"]},
        adjacency=kind,
        columns={"x": rt.real(-3, 3, missing=0), "y": rt.integer(0, 1, missing=0)},
        budget=BUDGETS[currency],
        ledger=folder / "ledgers" / ledger,
        title="sessions",
        override="a ledger for golden files",
    )
    theirs = {"x": RNG.uniform(-3, 3, 500), "y": np.zeros(500)}
    with rt.holdout(of, ["x", "y"], public=theirs, epsilon=4, rounds=2, threshold="0.1") as held:
        held.check(Level("y"))
        held.check(Accuracy({"x": 1.0}, "y"))
    keep(folder, f"{short}_holdout", held.certificate, ledger)
    with rt.holdout(of, ["x", "y"], epsilon=2, rounds=1, threshold="0.1") as held:
        held.check(Level("y"), claimed="0.5")
    keep(folder, f"{short}_holdout_claimed", held.certificate, ledger)
    with rt.sparse_vector(of, ["x", "y"], epsilon=2, positives=1) as sparse:
        sparse.above(Level("y"), "0.9")
        sparse.above(Level("y"), "0.1")
    keep(folder, f"{short}_sparse", sparse.certificate.sign(load_private(folder / "officer.key")), ledger)
    with rt.sparse_vector(of, ["x"], epsilon=1, positives=2, of="counts", show="above") as sparse:
        sparse.above(Between("x", high=0), 100)
    keep(folder, f"{short}_sparse_counts", sparse.certificate, ledger)
    with rt.ladder(of, ["x", "y"], epsilon=2, improvements=2, step="0.05") as board:
        board.submit(Accuracy({"x": 1.0}, "y"))
    keep(folder, f"{short}_ladder", board.certificate, ledger)
    with rt.noisy_answers(of, ["x", "y"], rho="0.1", answers=3, delta="1e-9") as answers:
        answers.ask(Level("y"))
        answers.ask(Between("x", high=0))
    keep(folder, f"{short}_noisy_answers", answers.certificate, ledger)


def kept(folder: Path, name: str, made: Any) -> None:
    (folder / "releases" / f"{name}.pickle").write_bytes(pickle.dumps(made))
    FIGURES["releases"][name] = {
        "digest": made.certificate.digest,
        "values": {answer.name: answer.value for answer in made.answers if len(list(answer)) == 1},
    }
