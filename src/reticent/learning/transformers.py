"""Transformers: ``transform``, the names of the columns that come out, and the kind of table.

    get_feature_names_out   names of the columns that a transform gives
    set_output              "pandas", "polars" or "default", as scikit-learn's pipelines ask for
    framed                  the table of that kind

Tables of pandas and Polars are made by scikit-learn, whose setting is read if it is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError
from reticent.learning.estimator import Estimator, not_fitted
from reticent.learning.handles import PublicRows
from reticent.statistics.scaling import Floats

Output: TypeAlias = Literal["default", "pandas", "polars"]
OUTPUTS: Final = ("default", "pandas", "polars")
CONFIG: Final = "_sklearn_output_config"  # where scikit-learn's ``clone`` looks for it


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
        if transform is not None and transform not in OUTPUTS:
            raise PublicParameterError(f"transform is one of {', '.join(OUTPUTS)}, got {transform!r}")
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


__all__ = ["NamedOutput", "Transformer"]
