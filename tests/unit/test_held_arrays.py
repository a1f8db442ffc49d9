"""Rows as callers hold them: no cell is in a refusal, none is looked at before the charge, each is read by itself."""

from __future__ import annotations

import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from multiprocessing import shared_memory
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import reticent as rt
from reticent import learning as private
from reticent.errors import QuestionError, Refusal
from reticent.learning.classifiers import indices
from reticent.learning.fit import array_check
from reticent.learning.fit.fit_release import of_arrays
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP

SECRET = "Mme Dupont, 3 rue X"
GRID = [[0.25, 0.5], [0.5, -0.5]] * 10
SIDES = [0, 1] * 10


class Odd:
    """A cell that refuses everything, and says what it is."""

    def _refuse(self, *_: object) -> object:
        raise RuntimeError(SECRET)

    __float__ = __bool__ = __eq__ = __len__ = __array__ = __str__ = __repr__ = _refuse  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Word(str):
    """A text whose comparison fails."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError(SECRET)

    __hash__ = str.__hash__


class Side(int, Enum):
    LEFT = 0
    RIGHT = 1


def account() -> Ledger:
    budget = PureDP(Fraction(100))
    return Ledger.create(None, title="given", adjacency=Adjacency("add_remove"), budget=budget)


def named(**own: object) -> dict[str, Any]:
    return {"epsilon": 1, "bounds": [(-1, 1)] * 2, "adjacency": "add_remove", "ledger": account(), **own}


def read(x: object, y: object = None) -> tuple[Any, Any]:
    return of_arrays(x, y, [(-1, 1)] * 2, "add_remove", account(), None, 1).read()


def frame(kind: str) -> Any:
    """A frame whose first cell is text among texts of numbers, or a missing one among whole numbers."""
    module = pytest.importorskip(kind.split()[0])
    if kind == "pandas nullable":
        return module.DataFrame({"a": module.array([None, *[1] * 19], dtype="Int64"), "b": [0.5] * 20})
    return module.DataFrame({"a": [SECRET, *["0.5"] * 19], "b": [0.5] * 20})


def objects() -> Any:
    found = np.array(GRID, object)
    found[0, 0] = SECRET
    return found


TABLES: dict[str, Callable[[], Any]] = {
    "ragged": lambda: [[0.5], *GRID[1:]],
    "a row that is none": lambda: [None, *GRID[1:]],
    "objects": objects,
    "text": lambda: objects().astype(str),
    "bytes": lambda: objects().astype(bytes),
    "strings": lambda: objects().astype(np.dtypes.StringDType()),
    "lists": lambda: [[SECRET, 0.5], *GRID[1:]],
    "a deque of tuples": lambda: deque([(SECRET, 0.5), *map(tuple, GRID[1:])]),
    "a tuple of arrays": lambda: tuple(np.array(row, object) for row in [[SECRET, 0.5], *GRID[1:]]),
    "a complex number in a list": lambda: [[1j, 0.5], *GRID[1:]],
    "a number too large": lambda: [[10**400, 0.5], *GRID[1:]],
    "an object that refuses": lambda: [[Odd(), 0.5], *GRID[1:]],
    "wide": lambda: np.array([[np.longdouble("1e4000"), 0.5], *GRID[1:]], np.longdouble),
    "masked": lambda: np.ma.array(GRID, mask=[[True, False], *[[False, False]] * 19]),
    "pandas": lambda: frame("pandas"),
    "pandas nullable": lambda: frame("pandas nullable"),
    "polars": lambda: frame("polars"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_cell_that_is_no_number_is_missing_and_moves_no_other_row(name: str) -> None:
    rows = TABLES[name]()
    found, _ = read(rows)
    assert not np.isfinite(found[0, 0])
    assert np.isfinite(found[1:]).all()
    assert found[2, 1] == 0.5
    model: Any = private.GaussianNB(**named(classes=[0, 1])).fit(rows, SIDES)
    assert model.guarantee_.loss.epsilon > Fraction(99, 100)


@pytest.mark.parametrize("name", TABLES)
def test_clip_reads_each_cell_by_itself_too(name: str) -> None:
    found = private.Clip(bounds=[(-1, 1)] * 2).fit_transform(TABLES[name]())
    cells = array_check.cells(array_check.table(found))
    assert np.isfinite(cells[1:]).all()
    assert np.abs(cells[1:]).max() <= 1


def test_one_text_in_a_list_of_targets_leaves_the_labels_of_all_others() -> None:
    """NumPy would make text of the whole list, and no row would have a declared label any more."""
    _, targets = read(GRID, ["a", *SIDES[1:]])
    places = indices(targets, np.array([0, 1]))
    assert np.isnan(places[0])
    assert places[1:].tolist() == SIDES[1:]
    _, other = read(GRID, deque(["a", *SIDES[1:]]))
    assert other.tolist() == targets.tolist()
    assert np.isnan(indices(np.asarray(["a", *SIDES[1:]]), np.array([0, 1]))).all()  # what NumPy would make of it


@pytest.mark.parametrize(
    "odd", [Odd(), Word("a"), [1, 2], np.array([1, 2]), Decimal("sNaN"), np.datetime64("2020-01-01"), {}, None, 1j]
)
def test_no_target_makes_a_fit_or_a_score_fail(odd: object) -> None:
    targets = np.empty(20, object)
    targets[1:] = SIDES[1:]
    targets[0] = odd
    model: Any = private.GaussianNB(**named(classes=[0, 1])).fit(GRID, targets)
    assert 0 <= model.score(GRID, targets, epsilon="0.1") <= 1
    search: Any = private.GridSearchCV(
        private.DecisionTreeClassifier(**named(classes=[0, 1])), {"max_depth": [1, 2]}, epsilon=1
    ).fit(GRID, targets)
    assert search.best_index_ in (0, 1)
    line: Any = private.LinearRegression(**named(y_bounds=(0, 1))).fit(GRID, targets)
    assert line.score(GRID, targets, epsilon="0.1") <= 1


def test_a_missing_value_of_pandas_is_a_missing_label() -> None:
    """Comparing it with a label gives what has no truth value."""
    pd = pytest.importorskip("pandas")
    for column in (pd.array([None, *SIDES[1:]], dtype="Int64"), pd.Series([pd.NA, *SIDES[1:]], dtype=object)):
        places = indices(read(GRID, column)[1], np.array([0, 1]))
        assert np.isnan(places[0])
        assert places[1:].tolist() == SIDES[1:]


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        (True, True),
        (Side.RIGHT, 1),
        (np.int64(2**53 + 1), 2**53 + 1),
        (np.float32(0.5), 0.5),
        (np.str_("a"), "a"),
        (Word("a"), "a"),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.5"), 0.5),
        (np.bool_(True), True),
        (b"a", b"a"),
        (object(), None),
    ],
)
def test_a_label_is_kept_as_a_plain_value(cell: object, kept: object) -> None:
    cells = np.empty(1, object)
    cells[0] = cell
    (found,) = array_check.labels(cells)
    assert type(found) is type(kept)
    assert found == kept


REFUSED: dict[str, Callable[[], Any]] = {
    "one column": lambda: np.array(["a", "b"]),
    "complex": lambda: np.array(GRID, complex),
    "dates": lambda: np.array([["2020-01-01"]], "M8[D]"),
    "records": lambda: np.array([[(1.0, "x")]], [("a", float), ("b", "U20")]),
    "an array that refuses": Odd,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_another_shape_or_type_is_refused_uncharged_and_without_a_cell(name: str) -> None:
    given_ = named(classes=[0, 1])
    with pytest.raises((TypeError, ValueError)) as refusal:
        private.GaussianNB(**given_).fit(REFUSED[name](), SIDES)
    assert SECRET not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None  # whose frames would hold the cell
    assert given_["ledger"].spent() == PureDP(Fraction(0))


def test_a_handle_beside_an_array_keeps_its_own_words() -> None:
    import reticent as rt

    of = rt.study({"k": [1, 2]}, adjacency="add_remove", columns={"k": rt.integer(0, 3)}, budget=1)
    _, y = of.xy(["k"])[0], of.xy(["k"])[0]
    with pytest.raises(Refusal, match="a handle on private rows"):
        private.GaussianNB(**named(classes=[0, 1])).fit(GRID, y)


class Kept:
    """Cells in order that are of no abstract kind, have no type in common and hand out no memory."""

    def __init__(self, kept: list[object]) -> None:
        self._kept = kept

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, place: int) -> object:
        return self._kept[place]


def test_one_text_in_whatever_has_an_order_moves_no_other_cell() -> None:
    """NumPy would make texts of all of them, and every label would be lost with one."""
    shared: Any = shared_memory.ShareableList([0, *SIDES[1:-1], SECRET])
    try:
        for targets in (Kept([0, *SIDES[1:-1], SECRET]), shared):
            found = indices(array_check.labels(array_check.column(targets, 20)), np.array([0, 1]))
            assert found[:-1].tolist() == SIDES[:-1]
            assert np.isnan(found[-1])
    finally:
        shared.shm.close()
        shared.shm.unlink()
    found, _ = read(Kept([[SECRET, 0.5], *GRID[1:]]))
    assert np.isfinite(found[1:]).all()


@pytest.mark.parametrize("odd", [None, 1, [1, 2], []])
def test_a_target_in_a_list_of_one_is_that_target_and_any_other_list_is_missing(odd: object) -> None:
    """Refused by its shape, it would be one cell that decides what happens before the charge."""
    ledger = account()
    targets = [*([side] for side in SIDES[1:]), odd]
    private.GaussianNB(**{**named(classes=[0, 1]), "ledger": ledger}).fit(GRID, targets)
    assert len(ledger.releases()) == 1
    found = indices(read(GRID, targets)[1], np.array([0, 1]))
    assert found[:-1].tolist() == SIDES[1:]
    assert np.isnan(found[-1]) != (odd == 1)


@pytest.mark.parametrize("spec", [str, int, float, bool])
def test_a_cell_that_only_says_what_it_is_is_missing(spec: type) -> None:
    found = array_check.labels(array_check.column([Mock(spec=spec), *SIDES[1:]], 20))
    assert found[0] is None
    assert found[1:].tolist() == SIDES[1:]


class Lab:
    """A label that would be shown the targets it is compared with."""

    seen: list[object] = []  # noqa: RUF012 - of the class, for the test
    __array_ufunc__ = None

    def __eq__(self, other: object) -> bool:
        self.seen.append(other)
        return False

    def __hash__(self) -> int:
        return 0

    def __lt__(self, other: object) -> bool:
        return False


class Nosy(int):
    def __eq__(self, other: object) -> bool:
        Lab.seen.append(other)
        return False

    def __hash__(self) -> int:
        return 0


@pytest.mark.parametrize("people", [0, True, 1.5, Nosy(20), "20"])
def test_a_number_of_people_is_a_plain_whole_number(people: object) -> None:
    with pytest.raises(Refusal, match="people is a whole number >= 1"):
        private.GaussianNB(**named(classes=[0, 1], people=people)).fit(GRID, SIDES)


class Posing(type):
    """A kind that says that it is a date."""

    def __eq__(cls, other: object) -> bool:
        return other is date

    def __hash__(cls) -> int:
        return hash(date)


class Label(metaclass=Posing):
    __array_ufunc__ = None


def test_a_kind_that_says_it_equals_a_plain_one_is_not_taken_for_it() -> None:
    assert array_check.plain(Label()) is None
    with pytest.raises(Refusal, match="classes"):
        private.GaussianNB(**named(classes=[Label(), Label()])).fit(GRID, SIDES)


def test_a_label_of_the_callers_own_kind_is_not_compared_with_targets() -> None:
    for classes in ([0, 1, Lab()], [0, "a"], [0, 1 << 54], [0, None], [0, Mock(spec=int)]):
        with pytest.raises(Refusal, match=r"classes .*Nothing was charged"):
            private.GaussianNB(**named(classes=classes)).fit(GRID, SIDES)
    Lab.seen.clear()
    model: Any = private.GaussianNB(**named(classes=[0, Nosy(1)])).fit(GRID, SIDES)
    assert {type(label) for label in model.classes_.tolist()} == {int}
    assert not any(isinstance(seen, np.ndarray) for seen in Lab.seen)


# --- the caller's settings --------------------------------------------------------------------------------------------

WILD = np.array([[1e308, -1e308], [np.inf, np.nan], [5e-324, -5e-324], [0.5, 0.5]] * 5)
TINY = np.sign(WILD) * 5e-324
LARGE = np.where(np.isfinite(WILD), WILD, 0.0)


@pytest.fixture
def strict() -> Iterator[None]:
    """Everything a caller can ask to be told of floating-point numbers and warnings, as errors."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        yield


def warning(rows: Any, signs: Any) -> Callable[[Any], Any]:
    if not (rows == rows[0]).all() and len(rows) == 3:
        warnings.warn(SECRET, stacklevel=1)  # as a solver that does not converge on some rows
    return lambda points: np.zeros(len(points))


@pytest.mark.parametrize("delta", [0, "1e-9"])
@pytest.mark.parametrize(
    ("made", "own"),
    [
        (private.LinearRegression, {"y_bounds": (0, 1)}),
        (private.HuberRegressor, {"y_bounds": (0, 1)}),
        (private.QuantileRegressor, {"y_bounds": (0, 1), "solver": "output"}),
        (private.EmpiricalRiskRegressor, {"y_bounds": (0, 1), "slope": np.subtract, "inverse_link": np.exp}),
        (private.LogisticRegression, {"classes": [0, 1]}),
        (private.LogisticRegression, {"classes": [0, 1], "intervals": "yes"}),
        (private.LinearSVC, {"classes": [0, 1]}),
        (private.GaussianNB, {"classes": [0, 1]}),
        (private.RandomForestClassifier, {"classes": [0, 1]}),
        (private.BernsteinClassifier, {"classes": [0, 1]}),
        (private.KMeans, {}),
        (private.PCA, {}),
        (private.StandardScaler, {}),
    ],
)
def test_rows_of_any_size_overflow_nowhere(
    made: Callable[..., Any], own: dict[str, object], delta: object, strict: None
) -> None:
    from reticent.privacy.loss import ApproxDP

    ledger = Ledger.create(
        None, title="strict", adjacency=Adjacency("add_remove"), budget=ApproxDP(Fraction(100), Fraction(1, 1000))
    )
    delta = 0 if made is private.RandomForestClassifier else delta
    for wild in (WILD.astype(np.longdouble) * 10, TINY, LARGE):
        model = made(**{**named(**own), "delta": delta, "ledger": ledger}).fit(wild, SIDES)
        if hasattr(model, "score"):
            assert model.score(wild, SIDES, epsilon="0.1") <= 1


def test_what_a_program_of_the_caller_warns_of_is_the_callers() -> None:
    """It runs in the caller's process and is heard there; where warnings are errors it fails, and counts as 0."""
    rows = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    own = {"classes": [0, 1], "train": warning, "stability": 1, "degree": 1}
    with pytest.warns(UserWarning, match="Dupont"):
        private.FunctionClassifier(**named(**own)).fit(rows, [0, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        private.FunctionClassifier(**named(**own)).fit(rows, [0, 1, 1])


# --- free scores ------------------------------------------------------------------------------------------------------


def test_a_score_is_free_only_where_rows_and_target_are_both_public() -> None:
    own = named(classes=[0, 1])
    model: Any = private.GaussianNB(**own).fit(GRID, SIDES)
    spent = own["ledger"].spent()
    assert 0 <= model.score(private.public(GRID), private.public(SIDES)) <= 1
    for x, y, word in ((private.public(GRID), SIDES, "y is not"), (GRID, private.public(SIDES), "X is not")):
        for price in (None, "0.1"):
            with pytest.raises(QuestionError, match=word):
                model.score(x, y, epsilon=price)
    assert own["ledger"].spent() == spent
    line: Any = private.LinearRegression(**named(y_bounds=(0, 1))).fit(GRID, SIDES)
    assert line.score(private.public(GRID), private.public(SIDES)) <= 1
    with pytest.raises(QuestionError, match="y is not"):
        line.score(private.public(GRID), SIDES)


def test_public_rows_score_a_model_of_a_study_without_bounds_of_the_target() -> None:
    columns = {"x": rt.real(-1, 1), "y": rt.real(0, 1)}
    rows = {"x": [row[0] for row in GRID], "y": [float(side) for side in SIDES]}
    of = rt.study(rows, adjacency="add_remove", columns=columns, budget=2)
    X, y = of.xy(["x"], "y")
    line: Any = private.LinearRegression(epsilon=1, study=of).fit(X, y)
    assert line.score(private.public([[0.1], [0.4]]), private.public([0, 1])) <= 1
    with pytest.raises(Refusal, match="y_bounds"):
        line.score([[0.1], [0.4]], [0, 1], epsilon="0.1")


def test_public_and_private_targets_are_read_alike() -> None:
    model: Any = private.GaussianNB(**named(classes=[0, 1])).fit(GRID, SIDES)
    right = model.score(private.public(GRID), private.public(model.predict(GRID).tolist()))
    assert right == 1
    assert model.score(private.public(GRID), private.public(["a", *model.predict(GRID).tolist()[1:]])) == 0.95


def test_nothing_of_the_rows_is_in_a_pickle_of_what_was_fitted_to_a_frame() -> None:
    model: Any = private.StandardScaler(**named()).fit(objects())
    model.ledger = None
    assert SECRET.encode() not in pickle.dumps(model)
