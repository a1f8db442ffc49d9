"""Learning from private rows: models whose fits, searches and scores a study's ledger pays for.

The models follow scikit-learn's conventions and work without it installed.
"""

from __future__ import annotations

from reticent.learning.bernstein import BernsteinClassifier, FunctionClassifier, stability_of_risk
from reticent.learning.classifiers import LinearSVC, LogisticRegression
from reticent.learning.clusters import KMeans
from reticent.learning.custom_loss import EmpiricalRiskClassifier, EmpiricalRiskRegressor
from reticent.learning.fit.handles import public
from reticent.learning.folds import folds
from reticent.learning.linear import HuberRegressor, LinearRegression, QuantileRegressor
from reticent.learning.moments import PCA, GaussianNB, StandardScaler
from reticent.learning.search import GridSearchCV
from reticent.learning.transformers import Clip
from reticent.learning.trees import DecisionTreeClassifier, RandomForestClassifier
from reticent.learning.validation import cross_val_score
from reticent.sessions.row_functions import Accuracy, Between, Level, Product

__all__ = [
    "Accuracy",
    "BernsteinClassifier",
    "Between",
    "Clip",
    "DecisionTreeClassifier",
    "EmpiricalRiskClassifier",
    "EmpiricalRiskRegressor",
    "FunctionClassifier",
    "GaussianNB",
    "GridSearchCV",
    "HuberRegressor",
    "KMeans",
    "Level",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "PCA",
    "Product",
    "QuantileRegressor",
    "RandomForestClassifier",
    "StandardScaler",
    "cross_val_score",
    "folds",
    "public",
    "stability_of_risk",
]
