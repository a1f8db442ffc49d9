"""reticent: differential privacy for data curators.

    import reticent as rt

    study = rt.open("study.toml")                              no row is read
    release = study.release([rt.count(), rt.mean("age")], epsilon="1")
    release["mean(age)"].value

Every answer carries a guarantee derived from its parts, an interval, and a line in a ledger.
"""

from __future__ import annotations

from reticent.certificate.particulars import Record
from reticent.data.schema import category, integer, real
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
from reticent.statistics.logarithms import geometric_mean, log_mean
from reticent.statistics.questions import (
    count,
    density,
    histogram,
    iqr,
    location,
    mean,
    median,
    persons,
    proportion,
    quantile,
    quantiles,
    regress,
    scale,
    sd,
    sum,  # noqa: A004 - rt.sum is the word people type
    test,
    trimmed_mean,
    variance,
)
from reticent.study import Study, open, read_certificate, study  # noqa: A004 - rt.open is what people type

__version__ = "0.2.0.dev0"

__all__ = [
    "NO_REPLY",
    "ZCDP",
    "Adjacency",
    "Answer",
    "ApproxDP",
    "BudgetError",
    "Cell",
    "CheckError",
    "Estimate",
    "Fault",
    "Guarantee",
    "LedgerError",
    "NoReply",
    "NoReplyError",
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
    "category",
    "count",
    "density",
    "geometric_mean",
    "histogram",
    "integer",
    "iqr",
    "location",
    "log_mean",
    "mean",
    "median",
    "open",
    "persons",
    "proportion",
    "quantile",
    "quantiles",
    "read_certificate",
    "real",
    "regress",
    "scale",
    "sd",
    "study",
    "sum",
    "test",
    "trimmed_mean",
    "variance",
]
