"""Transformers: ``transform``, the names of the columns that come out, and the kind of table.

    get_feature_names_out   names of the columns that a transform gives
    set_output              "pandas", "polars" or "default", as scikit-learn's pipelines ask for
    Clip                    values moved to public bounds; it learns nothing and charges nothing
    unpacked                a pipeline of Clip and a model, taken apart

Tables of pandas and Polars are made by scikit-learn, whose setting is read if it is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, Self, TypeAlias, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reticent.errors import QuestionError
from reticent.learning.fit.estimator import Estimator, not_fitted
from reticent.learning.fit.fit_release import Bounds, columns_of, names_of, read_bounds
from reticent.learning.fit.handles import Handle, PublicRows
from reticent.learning.fit.held_arrays import held
from reticent.learning.fit.parameter_check import check_parameters
from reticent.privacy.numbers import show
from reticent.statistics.scaling import Floats

Output: TypeAlias = Literal["default", "pandas", "polars"]
CONFIG: Final = "_sklearn_output_config"  # where scikit-learn's ``clone`` looks for it


@runtime_checkable
class FrameLike(Protocol):
    """Operations of a pandas data frame used here: another one with its names."""

    def __init__(self, data: Floats, *, index: object, columns: object) -> None: ...

    @property
    def index(self) -> object: ...

    @property
    def columns(self) -> object: ...

    @property
    def iloc(self) -> object: ...


@dataclass(kw_only=True, eq=False, repr=False)
class NamedOutput(Estimator):
    """Transformer as pipelines see it: the names and the kind of table that come out."""

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Names of the columns that ``transform`` gives, of shape (columns,).

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns of X: those of the fit by default, else x0, x1 and so on.
        """
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        fitted = vars(self).get("feature_names_in_")
        if input_features is None:
            named = fitted if fitted is not None else [f"x{place}" for place in range(self.n_features_in_)]
        else:
            named = list(input_features)
            if fitted is not None and named != list(fitted):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(named) != self.n_features_in_:
                raise ValueError("input_features should have length equal to number of features")
        return self._names_out(np.array(named, dtype=object))

    def _names_out(self, names: NDArray[np.object_]) -> NDArray[np.object_]:
        return names

    def set_output(self, *, transform: Output | None = None) -> Self:
        """Choose the table that ``transform`` gives; returns the transformer.

        Parameters
        ----------
        transform : "default", "pandas" or "polars", optional
            Tables need scikit-learn. None leaves it as it is; without a choice scikit-learn's
            ``set_config(transform_output=...)`` holds.
        """
        if transform is not None:
            vars(self)[CONFIG] = {"transform": transform}
        return self

    @property
    def _output(self) -> str | None:
        """The table asked for; None where nobody has asked."""
        chosen = vars(self).get(CONFIG, {}).get("transform")
        if chosen is None and "sklearn" in sys.modules:
            from sklearn import get_config

            usual = get_config()["transform_output"]
            chosen = None if usual == "default" else usual
        return cast("str | None", chosen)  # of scikit-learn, which has no types

    def _framed(self, data: Floats, given: object) -> object:
        """The table asked for, made by scikit-learn with the index of ``given`` if it has one."""
        output = self._output
        if output in (None, "default"):
            return data
        from sklearn.utils._set_output import ADAPTERS_MANAGER

        names = self.get_feature_names_out()
        return ADAPTERS_MANAGER.adapters[output].create_container(data, given, columns=names)


@dataclass(kw_only=True, eq=False, repr=False)
class Transformer(NamedOutput):
    """Transformer: ``transform`` of rows the caller holds; the base of all transformers that learn."""

    def fit_transform(self, X: object, y: object = None) -> Floats:
        """Fit, then transform the same rows, which the caller holds."""
        self.fit(X, y)
        return self.transform(X)

    def transform(self, X: object) -> Floats:
        """Rows of shape (n, columns) in the new units; a row that lacks a value lacks them all.

        An array, or the table that ``set_output`` asks for.
        """
        found = self._framed(self._moved(self._moving(X)), X.rows if isinstance(X, PublicRows) else X)
        return cast(Floats, found)  # but where somebody asks for another table, as scikit-learn's stubs have it

    def _moved(self, rows: Floats) -> Floats:
        raise TypeError("a transformer says how rows are moved")


CLIPS: Final = (
    "takes a classifier or a regressor of this package, or a pipeline of Clip and one of them, and got {}. On arrays "
    "scikit-learn's own takes any pipeline with cv=folds(5): every fit and every score is then charged. Nothing was "
    "charged."
)


@dataclass(kw_only=True, eq=False, repr=False)
class Clip(NamedOutput):
    """Move every value to the nearer of public ``bounds``: row by row, so it learns nothing and charges nothing.

    In a pipeline it stands before a private estimator, whose bounds are the same or wider.

    Parameters
    ----------
    bounds : (low, high), list of pairs, or mapping of name to pair
        By name for columns with names: ``Clip(study.bounds)``. A column of a handle that is not named keeps its own.
    """

    bounds: Bounds = field(default=None, kw_only=False)

    def fit(self, X: object, y: object = None) -> Clip:
        """Nothing is learned; returns the transformer."""
        check_parameters(self)
        if isinstance(X, Handle):
            self.bounds_ = read_bounds(self.bounds, X.columns, X.bounds)
        else:
            rows = X.rows if isinstance(X, PublicRows) else X
            self.bounds_ = read_bounds(
                self.bounds, names_of(rows) or held(rows, None, columns_of(self.bounds), "private").columns
            )
        self.n_features_in_ = len(self.bounds_)
        names = X.columns if isinstance(X, Handle) else names_of(X.rows if isinstance(X, PublicRows) else X)
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def summary(self) -> str:
        """The bounds; there is no guarantee to tell, as nothing is learned."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        names = vars(self).get("feature_names_in_", [f"x{place}" for place in range(self.n_features_in_)])
        told = [f"{name}  {show(low)} to {show(high)}" for name, (low, high) in zip(names, self.bounds_, strict=True)]
        return "\n".join(["Clip", *told, "Nothing was learned and nothing charged."])

    def __sklearn_is_fitted__(self) -> bool:
        return "bounds_" in vars(self)

    def fit_transform(self, X: object, y: object = None) -> object:
        """``transform``, as nothing is learned."""
        return self.fit(X).transform(X)

    def transform(self, X: object) -> object:
        """A handle with narrower bounds, or rows of shape (n, columns) moved to them; missing values stay missing.

        A pandas frame stays one, so that the names of its columns reach the model; whatever else comes out as an array.
        Where ``set_output`` asks for a table, that comes out.
        """
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        if isinstance(X, Handle):
            self._named(X.columns)
            return X.clipped(self.bounds_)
        if isinstance(X, PublicRows):
            return PublicRows(self._moved(X.rows))
        return self._moved(X)

    def _moved(self, rows: object) -> object:
        self._named(names_of(rows))
        low, high = np.array(self.bounds_, np.float64).T
        kept = held(rows, None, len(self.bounds_), "private")  # a row of another length is missing, and fails nothing
        self._width(kept.columns)
        found, _ = kept.read()
        moved = np.clip(found, low, high)
        if self._output is None and isinstance(rows, FrameLike):
            return type(rows)(moved, index=rows.index, columns=rows.columns)
        return self._framed(moved, rows)


def unpacked(estimator: object, x: object, who: str) -> tuple[Estimator, list[tuple[str, Clip]], object]:
    """An estimator that can be scored, the fitted ``Clip`` before it in a pipeline, by name, and X as it meets it.

    Values are moved to their bounds row by row, and learn nothing.

    Parameters
    ----------
    estimator : object
        Estimator, or pipeline of ``Clip`` and it.
    x : object
        Rows or handle, as the caller passed them.
    who : str
        Name of the caller, for the refusal.

    Returns
    -------
    tuple of Estimator, list of tuple of str and Clip and object
        Estimator, transformers with their names, and X after them.

    Raises
    ------
    QuestionError
        For another pipeline, or another estimator.
    """
    pipeline = [] if isinstance(estimator, Estimator) else getattr(estimator, "steps", [])
    *before, (_, last) = pipeline or [("", estimator)]
    scored = isinstance(last, Estimator) and hasattr(last, "_scoring")
    if not scored or any(type(step) is not Clip for _, step in before):
        raise QuestionError(f"{who} {CLIPS.format(type(estimator).__name__)}")
    fitted = []
    for name, step in before:
        fitted.append((name, copy(step).fit(x)))
        x = fitted[-1][1].transform(x)
    return last, fitted, x


__all__ = ["Clip", "NamedOutput", "Transformer", "unpacked"]
