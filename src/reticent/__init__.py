"""reticent: differential privacy for data curators.

    import reticent as rt

    study = rt.open("study.toml")                              no row is read
    release = study.release([rt.count(), rt.mean("age")], epsilon="1")
    release["mean(age)"].value

Every answer carries a guarantee derived from its parts, an interval, and a line in a ledger.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from reticent.data.formula import Expression, case, col, cut, hour, month, quarter, trunc, week, weekday, year
from reticent.data.schema import category, integer, real, text
from reticent.errors import (
    BudgetError,
    CheckError,
    Fault,
    LedgerError,
    NoReplyError,
    PublicParameterError,
    QuestionError,
    Refusal,
    ReticentError,
    SpecError,
)
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP, ApproxDP, PureDP
from reticent.statistics.answer import Answer, Cell
from reticent.statistics.options import PTR, Clipped, CoinPress
from reticent.statistics.statistic import Ask
from reticent.study import Study, open, read_certificate, read_release, study, table  # noqa: A004 - rt.open is what people type

if TYPE_CHECKING:
    from reticent.certificate.record import Record
    from reticent.cli.notebook import NotebookShell
    from reticent.data.dates import date, datetime
    from reticent.statistics.counts.count import Count as count
    from reticent.statistics.counts.histogram import Histogram as histogram
    from reticent.statistics.counts.key_list import KeyList as keys
    from reticent.statistics.counts.persons import Persons as persons
    from reticent.statistics.counts.total import Sum as sum  # noqa: A004 - rt.sum is the word people type
    from reticent.statistics.density import DensityOf as density
    from reticent.statistics.density import Detail
    from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest as test
    from reticent.statistics.hypotheses.hypothesis_test import Normal
    from reticent.statistics.moments.geometric_mean import GeometricMean as geometric_mean
    from reticent.statistics.moments.log_mean import LogMean as log_mean
    from reticent.statistics.moments.mean import Mean as mean
    from reticent.statistics.moments.proportion import Proportion as proportion
    from reticent.statistics.moments.sd import Sd as sd
    from reticent.statistics.moments.variance import Variance as variance
    from reticent.statistics.quantiles.iqr import Iqr as iqr
    from reticent.statistics.quantiles.median import Median as median
    from reticent.statistics.quantiles.quantile import Quantile as quantile
    from reticent.statistics.quantiles.quantiles import Quantiles as quantiles
    from reticent.statistics.regression.regress import Regression as regress
    from reticent.statistics.robust.location import Location as location
    from reticent.statistics.robust.scale import Scale as scale
    from reticent.statistics.robust.trimmed_mean import TrimmedMean as trimmed_mean

__version__ = "0.2.0.dev0"

if not TYPE_CHECKING:  # a statistic, and what few studies write, is imported when its name is first used
    _PLACES = {"Record": "certificate.record", **dict.fromkeys(("date", "datetime"), "data.dates")}

    def __getattr__(name: str) -> object:
        if name in _PLACES:
            found = getattr(import_module(f"reticent.{_PLACES[name]}"), name)
        else:
            from reticent.statistics.registry import public

            found = public(name)
        if found is None:  # a name of 0.1.0 says what it is called now
            from reticent.former_names import missing

            raise missing("reticent", name, "" if name.startswith("_") else _nearest(name))
        globals()[name] = found
        return found

    def _nearest(name: str) -> str:
        from reticent.statistics.grammar import meant

        return meant(name, __all__)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


def load_ipython_extension(shell: NotebookShell) -> None:
    """Add ``%%reticent`` to a notebook, which asks it by ``%load_ext reticent``."""
    from reticent.cli.notebook import register

    register(shell)


__all__ = [
    "NO_REPLY",
    "PTR",
    "ZCDP",
    "Adjacency",
    "Answer",
    "Ask",
    "ApproxDP",
    "BudgetError",
    "Cell",
    "CheckError",
    "Clipped",
    "CoinPress",
    "Detail",
    "Estimate",
    "Expression",
    "Fault",
    "Guarantee",
    "LedgerError",
    "NoReply",
    "NoReplyError",
    "Normal",
    "Outcome",
    "PublicParameterError",
    "PureDP",
    "QuestionError",
    "Record",
    "Refusal",
    "Reply",
    "ReticentError",
    "SpecError",
    "Study",
    "case",
    "category",
    "col",
    "count",
    "cut",
    "date",
    "datetime",
    "density",
    "geometric_mean",
    "histogram",
    "hour",
    "integer",
    "iqr",
    "keys",
    "location",
    "log_mean",
    "mean",
    "median",
    "month",
    "open",
    "persons",
    "proportion",
    "quantile",
    "quantiles",
    "quarter",
    "read_certificate",
    "read_release",
    "real",
    "regress",
    "scale",
    "sd",
    "study",
    "sum",
    "table",
    "test",
    "text",
    "trimmed_mean",
    "trunc",
    "variance",
    "week",
    "weekday",
    "year",
]
