"""Plans of what is bought by itself: a session, the fit of a model, or made-up rows. They are methods of ``Study``.

Each is a ``Plan`` of one line, so that it is shown as a plan of a release is. No row is read, and nothing is charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from reticent.privacy.numbers import Number

if TYPE_CHECKING:
    from reticent.learning.handles import Handle
    from reticent.sessions.outlook import SessionKind
    from reticent.sessions.payer import Payer
    from reticent.statistics.density import DensityOf
    from reticent.statistics.statistic import Ask
    from reticent.study.allocation import Questions
    from reticent.study.plan import Plan
    from reticent.study.terms import Budget

    class Planner(Payer, Protocol):
        """A study, as these plans see it."""

        @property
        def title(self) -> str: ...

        def plan(
            self,
            questions: Questions,
            *,
            epsilon: Number | None,
            rho: Number | None,
            delta: Number | None,
            people: int | None,
            rows: Number | None,
            override: str,
        ) -> Plan: ...

        def _assumed(self, people: int | None) -> tuple[int, bool]: ...

        def _supposing(self, rows: Number | None) -> Planner: ...

        def _left_of_plan(self) -> Budget: ...

        def _file(self) -> Path | None: ...


def session_plan(
    study: Planner,
    kind: SessionKind,
    columns: Sequence[str],
    *,
    answers: int,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    people: int | None = None,
    rows: Number | None = None,
) -> Plan:
    """Plan a session: its price, its noise, and the chance that a question is answered. Free: no row is read.

    Parameters
    ----------
    study : Study
        Whose budget would pay.
    kind : "holdout", "sparse_vector", "sparse_vector of counts", "leaderboard" or "noisy_answers"
        The method of this study that would open it. The noise of counts is in rows.
    columns, epsilon, rho, delta
        As for that method; noisy answers are priced by ``rho``.
    answers : int
        How many rounds, answers above, improvements or answers it has.
    people : int, optional
        How many to assume; by default the declared number, else 10,000.
    rows : number, optional
        How many kept rows a person has on average, as for ``plan``.

    Returns
    -------
    Plan
        Of one line. P(reply) is the chance that a question 1, 2 and 3 standard deviations of the noise above the
        threshold is answered.

    Raises
    ------
    Refusal
        As the session would be refused.
    """
    from reticent.data.spec import refuse_exposed
    from reticent.sessions.outlook import outlook
    from reticent.statistics.context import values_of
    from reticent.study.cpu_time import of_records
    from reticent.study.plan import plan_of_one

    study = study._supposing(rows)
    size, assumed = study._assumed(people)
    found = outlook(
        study,
        kind,
        columns,
        answers=answers,
        people=size,
        cost=(epsilon, rho, delta),
    )
    person = study.schema.person
    refuse_exposed(found.guarantee.loss, person, size)
    takes = of_records(study._file(), len(columns), values_of(size, person.rows, person))
    budget = study._left_of_plan()
    return plan_of_one(
        found.name, found.guarantee, found.expected, size, person, assumed=assumed, budget=budget, takes=takes
    )


def model_plan(
    study: Planner,
    model: object,
    columns: Sequence[str] | Handle,
    y: str | Handle | None = None,
    *,
    people: int | None = None,
    rows: Number | None = None,
) -> Plan:
    """Plan the fit of a model: its price, and its accuracy. Free: no row is read.

    Parameters
    ----------
    study : Study
        Whose rows it would be fitted to.
    model : estimator of ``reticent.learning``, ``GridSearchCV`` of it, or a pipeline of ``Clip`` and it
        It is not changed.
    columns, y
        As for ``xy``, or what it gave.
    people : int, optional
        How many to assume; by default the declared number, else 10,000.
    rows : number, optional
        How many kept rows a person has on average, as for ``plan``.

    Returns
    -------
    Plan
        Of one line: for ``LinearRegression`` the half-widths of the first slope, for others the score of five fits to
        made-up rows beside that of the best rule. A search has the price of all its fits.

    Raises
    ------
    Refusal
        As the fit would be refused.
    """
    from reticent.learning import handles, made_up_fits
    from reticent.learning.estimator import Estimator
    from reticent.learning.search import GridSearchCV
    from reticent.learning.transformers import unpacked
    from reticent.ledger import Ledger
    from reticent.privacy import compose
    from reticent.statistics.context import values_of
    from reticent.study.cpu_time import FITTED, SUMMED, of_records
    from reticent.study.handles import Columns, named, xy
    from reticent.study.plan import plan_of_one

    study = study._supposing(rows)
    size, assumed = study._assumed(people)
    left, existing = study._left_of_plan()
    ledger = existing or Ledger.create(None, title=study.title, adjacency=study.schema.person.protected, budget=left)
    shelf = Columns(study.schema, ledger, study._place, study._table, study._known, assumed=size)
    features = named(columns) if isinstance(columns, handles.Handle) else columns
    label = named(y)[0] if isinstance(y, handles.Handle) else y
    x, target = xy(shelf, features, label)
    if isinstance(model, GridSearchCV):
        guarantee, expected = model.expect(x, target, people=size)
        fits, last = model.fits, model._last
        name = f"GridSearchCV of {type(last).__name__}"
    else:
        one, handle = (model, x) if isinstance(model, Estimator) else unpacked(model, x, "a plan")[::2]
        guarantee, expected = made_up_fits.expected(one, handle, target, size)
        fits, last = 1, one
        name = type(one).__name__
    each = FITTED if isinstance(last, Estimator) and last._minimises else SUMMED
    if study._currency == "zcdp":
        guarantee = compose.in_zcdp(guarantee)
    name = f"{name}({', '.join(features)}{'' if label is None else f'; {label}'})"
    person = study.schema.person
    read = values_of(size, person.rows, person)
    takes = of_records(study._file(), len(features) + (label is not None), read, fits, each)
    return plan_of_one(name, guarantee, expected, size, person, assumed=assumed, budget=(left, existing), takes=takes)


def synthesis_plan(
    study: Planner,
    columns: str | Sequence[str] | DensityOf | Ask,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    people: int | None = None,
    rows: Number | None = None,
    override: str = "",
) -> Plan:
    """Plan made-up rows: the price of the density behind them, its width and P(reply). Free: no row is read.

    Parameters
    ----------
    study : Study
        Whose rows would be imitated.
    columns : str, sequence of str, or a question ``rt.density(...)``
        As for ``synthesize``: of columns a tenth of epsilon buys the tables that rows are compared with.
    epsilon, rho, delta
        As for ``synthesize``.
    people : int, optional
        How many to assume; by default the declared number, else 10,000.
    rows : number, optional
        How many kept rows a person has on average, as for ``plan``.
    override : str
        The reason for an epsilon above 10.

    Returns
    -------
    Plan
        Of one line; drawing rows is free, however many.

    Raises
    ------
    Refusal
        As the synthesis would be refused.
    """
    from reticent.study.synthetic import asked_density, call_of, named_as

    asked = asked_density(columns, None, delta)
    with named_as(asked, call_of(columns)):
        return study.plan([asked], epsilon=epsilon, rho=rho, delta=delta, people=people, rows=rows, override=override)
