"""Plans of what is bought by itself: a session, or the fit of a model. They are methods of ``Study``.

Each is a ``Plan`` of one line, so that it is shown as a plan of a release is. No row is read, and nothing is charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from reticent.privacy.numbers import Number

if TYPE_CHECKING:
    from reticent.learning.estimator import Estimator
    from reticent.sessions.outlook import SessionKind
    from reticent.sessions.payer import Payer
    from reticent.study.plan import Budget, Plan

    class Planner(Payer, Protocol):
        """A study, as these plans see it."""

        @property
        def title(self) -> str: ...

        def _assumed(self, people: int | None) -> tuple[int, bool]: ...

        def _left_of_plan(self) -> Budget: ...


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
) -> Plan:
    """Plan a session: its price, its noise, and the chance that a question is answered. Free: no row is read.

    Parameters
    ----------
    study : Study
        Whose budget would pay.
    kind : "holdout", "sparse_vector", "leaderboard" or "noisy_answers"
        The method of this study that would open it.
    columns, epsilon, rho, delta
        As for that method; noisy answers are priced by ``rho``.
    answers : int
        How many rounds, answers above, improvements or answers it has.
    people : int, optional
        How many to assume; by default the declared number, else 10,000.

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
    from reticent.sessions.outlook import outlook
    from reticent.statistics.context import values_of
    from reticent.study.cpu_time import of_records
    from reticent.study.plan import plan_of_one

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
    takes, budget = of_records(len(columns), values_of(size, person.rows, person)), study._left_of_plan()
    return plan_of_one(found.name, found.guarantee, found.expected, size, assumed=assumed, budget=budget, takes=takes)


def model_plan(
    study: Planner, model: Estimator, columns: Sequence[str], y: str | None = None, *, people: int | None = None
) -> Plan:
    """Plan the fit of a model: its price, and its accuracy where a public rule gives it. Free: no row is read.

    Parameters
    ----------
    study : Study
        Whose rows it would be fitted to.
    model : estimator of ``reticent.learning``
        It is not changed.
    columns, y
        As for ``xy``.
    people : int, optional
        How many to assume; by default the declared number, else 10,000.

    Returns
    -------
    Plan
        Of one line: for ``LinearRegression`` the half-widths of the first slope, for others the price alone.

    Raises
    ------
    Refusal
        As the fit would be refused.
    """
    from reticent.ledger import Ledger
    from reticent.privacy import compose
    from reticent.statistics.context import values_of
    from reticent.study.cpu_time import of_records
    from reticent.study.handles import Columns, xy
    from reticent.study.plan import plan_of_one

    size, assumed = study._assumed(people)
    left, existing = study._left_of_plan()
    ledger = existing or Ledger.create(None, title=study.title, adjacency=study.schema.person.neighbours(), budget=left)
    shelf = Columns(study.schema, ledger, study._place, study._table, study._known, assumed=size)
    guarantee, expected = model.expect(*xy(shelf, columns, y), people=size)
    if study._currency == "zcdp":
        guarantee = compose.in_zcdp(guarantee)
    name = f"{type(model).__name__}({', '.join(columns)}{'' if y is None else f'; {y}'})"
    takes = of_records(len(columns) + (y is not None), values_of(size, study.schema.person.rows, study.schema.person))
    return plan_of_one(name, guarantee, expected, size, assumed=assumed, budget=(left, existing), takes=takes)
