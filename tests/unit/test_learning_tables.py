"""Names of the columns that transformers give, and the tables that ``set_output`` asks for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reticent.errors import PublicParameterError
from reticent.learning import PCA, Clip, StandardScaler, public
from reticent.ledger import Ledger
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import PureDP

ROWS = np.random.default_rng(3).random((300, 3))
NAMES = ["a", "b", "c"]
ALL: Any = (StandardScaler, PCA, Clip)


def made(kind: Any) -> Any:
    if kind is Clip:
        return Clip((0, 1))
    ledger = Ledger.create(None, title="t", adjacency=Adjacency("substitute"), budget=PureDP(Fraction(1000)))
    return kind(epsilon=1, bounds=(0, 1), adjacency="substitute", ledger=ledger, complete=True)


def frame() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(ROWS, columns=NAMES, index=range(7, 307))


@pytest.mark.parametrize("kind", ALL)
def test_columns_that_come_out_are_named_as_scikit_learn_names_them(kind: Any) -> None:
    pytest.importorskip("sklearn")
    out = ["pca0", "pca1", "pca2"] if kind is PCA else NAMES
    named, bare = made(kind).fit(frame()), made(kind).fit(ROWS)
    assert named.get_feature_names_out().tolist() == named.get_feature_names_out(NAMES).tolist() == out
    assert bare.get_feature_names_out().tolist() == (out if kind is PCA else ["x0", "x1", "x2"])
    assert bare.get_feature_names_out(NAMES).tolist() == out
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        named.get_feature_names_out(["a", "c", "b"])
    with pytest.raises(ValueError, match="length equal to number of features"):
        bare.get_feature_names_out(["a", "b"])
    with pytest.raises(Exception, match="not fitted"):
        made(kind).get_feature_names_out()


@pytest.mark.parametrize("kind", ALL)
def test_the_table_asked_for_comes_out_with_its_names_and_index(kind: Any) -> None:
    base = pytest.importorskip("sklearn.base")
    given = frame()
    fitted = made(kind).fit(given)
    plain = np.asarray(fitted.set_output(transform="default").transform(given))
    assert type(fitted.transform(given)) is np.ndarray
    for rows in (given, public(given)):
        table = fitted.set_output(transform="pandas").transform(rows)
        if kind is Clip and rows is not given:
            table = table.rows
        assert type(table) is type(given)
        assert list(table.columns) == fitted.get_feature_names_out().tolist()
        assert list(table.index) == list(given.index)
        np.testing.assert_array_equal(table.to_numpy(), plain)
    assert type(fitted.set_output().transform(given)) is type(given)  # None leaves it as it was
    polars = pytest.importorskip("polars")
    other = base.clone(made(kind).set_output(transform="polars")).fit_transform(ROWS)
    assert isinstance(other, polars.DataFrame)
    with pytest.raises(PublicParameterError, match='"default", "pandas", "polars"'):
        fitted.set_output(transform="arrow")


def test_a_pipeline_and_the_setting_of_scikit_learn_reach_the_tables() -> None:
    sklearn = pytest.importorskip("sklearn")
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    given = frame()
    steps = make_pipeline(Clip((0, 1)), made(StandardScaler), made(PCA).set_params(n_components=2))
    steps[1:].set_params(pca__bounds=(-9, 9))
    found = steps.set_output(transform="pandas").fit_transform(given)
    assert list(found.columns) == ["pca0", "pca1"] == steps.get_feature_names_out().tolist()
    fitted = made(StandardScaler).fit(given)
    with sklearn.config_context(transform_output="pandas"):
        assert type(fitted.transform(given)) is type(given)
    assert type(fitted.transform(given)) is np.ndarray
    sides = ColumnTransformer([("s", made(StandardScaler), ["a", "b"]), ("p", made(PCA), ["c"])])
    assert list(sides.set_output(transform="pandas").fit_transform(given).columns) == ["s__a", "s__b", "p__pca0"]
