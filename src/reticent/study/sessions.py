"""Sessions: questions one by one, each after the answers before it, paid from the study's ledger.

    study.holdout(...)         training means, or claims, checked against the study's rows, round by round
    study.sparse_vector(...)   which means, or counts, are above a threshold
    study.leaderboard(...)     scores of submissions that beat the best
    study.noisy_answers(...)   every question answered, with Gaussian noise

    study.session_plan(...)    the plan of a session, as model_plan and synthesis_plan are of a fit and of made-up rows

These functions are the methods of ``Study`` of the same names; ``study.session_prices`` compares their prices. Each
plan is a ``Plan`` of one line, which is shown as a plan of a release is: no row is read, and nothing is charged.

A session, or a round of one, is charged when it opens, before a row is read or a threshold drawn. Closing gives nothing
back, and a crash can only have charged too much. What may be asked: ``sessions.row_functions``. How it is kept:
``sessions.session``. What an officer gets when a session has ended: ``session.certificate``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from reticent.errors import PublicParameterError, QuestionError, Refusal, refusing, warn
from reticent.privacy.cost import refuse_exposure
from reticent.privacy.numbers import Number

if TYPE_CHECKING:
    from reticent.certificate.record import Record
    from reticent.data.spec import Spec
    from reticent.learning.fit.handles import Handle
    from reticent.sessions.gaussian_answers import Prices
    from reticent.sessions.payer import Payer
    from reticent.sessions.session import Answers, Holdout, Leaderboard, SessionTerms, SparseVectorSession
    from reticent.statistics.density import DensityOf
    from reticent.statistics.statistic import Ask
    from reticent.study.formulas import Questions
    from reticent.study.plan import Plan
    from reticent.study.terms import Budget

    class Planner(Payer, Protocol):
        """A study, as these plans see it."""

        @property
        def title(self) -> str: ...

        @property
        def spec(self) -> Spec: ...

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

        def _transferred(self, brought: list[tuple[str, None]]) -> tuple[str, ...]: ...

        def _refused_by_engine(self) -> list[str]: ...


A = TypeVar("A")


def holdout(
    study: Payer,
    columns: Sequence[str],
    *,
    public: Mapping[str, Sequence[float]] | None = None,
    epsilon: Number,
    rounds: int,
    threshold: Number,
    purpose: str = "",
    record: Record | None = None,
) -> Holdout:
    """Open a reusable holdout: all rows of the study are the holdout; training rows, if there are any, are yours.

    Parameters
    ----------
    study : Study
        Whose rows are the holdout. Its ledger is charged, round by round.
    columns : sequence of str
        Numeric columns with bounds that the questions will be about.
    public : mapping of name to values, optional
        The training rows, declared public to the analyst by giving them here: their means are told exactly. They have
        the same columns and are no rows of the study. Without them every check says what it claims. No share of the
        study's own rows can be training rows, for their means would be told.
    epsilon : number
        Of all rounds together; the first round is charged now, each other one when a question opens it.
    rounds : int
        How many overfitted answers may be corrected, >= 1. With n rows a round has sigma = 2 rounds / (epsilon n).
    threshold : number
        How far training and holdout may be apart before the holdout is shown, in (0, 1).
    purpose : str
        Of the session, for the ledger and the certificate.
    record : Record, optional
        Name, person who asks, signing key and override, for the ledger and the certificate.

    Returns
    -------
    Holdout

    Raises
    ------
    Refusal
        Before any row is read; nothing was charged.
    Fault
        After the charge of the first round, which stays.

    Guarantee
    ---------
    Each round is pure (epsilon / rounds): ``sparse_vector``, shares 1 : 1 : 2. It protects the study's rows and no row
    of ``public``.
    """
    from reticent.sessions import session, session_terms

    about = _about(record, purpose, "holdout")
    given = (columns, public, epsilon, rounds, threshold, (about, purpose))

    plan, made, bar, training = _noted(study, lambda: session_terms.holdout_terms(study, *given), about)
    _announced(study, plan)
    paid = _noted(study, lambda: session.PaidSession(study, plan, made.start), about)
    return session.Holdout(paid, plan.axes, made, bar, training)


def sparse_vector(
    study: Payer,
    columns: Sequence[str],
    *,
    epsilon: Number,
    positives: int,
    of: Literal["means", "counts"] = "means",
    show: Literal["values", "above"] = "values",
    purpose: str = "",
    record: Record | None = None,
) -> SparseVectorSession:
    """Open a sparse vector: which means or counts are above a threshold, any number of them, until some were.

    Parameters
    ----------
    study : Study
        Whose rows the questions are about. Its ledger is charged.
    columns : sequence of str
        Numeric columns with bounds that the questions will be about.
    purpose : str
        Of the session, for the ledger and the certificate.
    record : Record, optional
        Name, person who asks, signing key and override, for the ledger and the certificate.
    epsilon : number
        Of the whole session, charged now.
    positives : int
        How many answers "above" it has, >= 1; answers "below" are not counted.
    of : "means" or "counts"
        What is compared: a mean between 0 and 1, or a number of rows. Counts need no number of rows, and under
        add/remove they move together, so their noise is half as wide.
    show : "values" or "above"
        Whether an answer above comes with its value, for half of epsilon.

    Returns
    -------
    Sparse

    Raises
    ------
    Refusal
        Before any row is read; nothing was charged.
    Fault
        After the charge, which stays.

    Guarantee
    ---------
    Pure epsilon: ``sparse_vector``; in a ledger in rho epsilon^2 / 2, or less for counts under add/remove.
    """
    from reticent.sessions import session, session_terms

    about = _about(record, purpose, "sparse vector")
    given = (columns, epsilon, positives, of, show, (about, purpose))

    plan, made = _noted(study, lambda: session_terms.sparse_vector_terms(study, *given), about)
    _announced(study, plan)
    return session.SparseVectorSession(
        _noted(study, lambda: session.PaidSession(study, plan, made.start), about), plan.axes, made, of
    )


def leaderboard(
    study: Payer,
    columns: Sequence[str],
    *,
    epsilon: Number,
    improvements: int,
    step: Number,
    start: Number = "0.5",
    purpose: str = "",
    record: Record | None = None,
) -> Leaderboard:
    """Open a leaderboard on the study's rows: a submission learns its score only where it beats the best by a step.

    Parameters
    ----------
    study : Study
        Whose rows the questions are about. Its ledger is charged.
    columns : sequence of str
        Numeric columns with bounds that the questions will be about.
    purpose : str
        Of the session, for the ledger and the certificate.
    record : Record, optional
        Name, person who asks, signing key and override, for the ledger and the certificate.
    epsilon : number
        Of the whole board, charged now.
    improvements : int
        How many scores it may show, >= 1.
    step : number
        By how much a submission must beat the best, in (0, 1).
    start : number
        The score to beat first, in [0, 1], known without the rows.

    Returns
    -------
    Leaderboard

    Raises
    ------
    Refusal
        Before any row is read; nothing was charged.
    Fault
        After the charge, which stays.

    Guarantee
    ---------
    Pure epsilon: ``sparse_vector`` with values. Proof: ``sessions.leaderboard``.
    """
    from reticent.sessions import session, session_terms

    about = _about(record, purpose, "leaderboard")
    given = (columns, epsilon, improvements, step, start, (about, purpose))

    plan, made, rung, best = _noted(study, lambda: session_terms.leaderboard_terms(study, *given), about)
    _announced(study, plan)
    return session.Leaderboard(
        _noted(study, lambda: session.PaidSession(study, plan, made.start), about), plan.axes, made, rung, best
    )


def noisy_answers(
    study: Payer,
    columns: Sequence[str],
    *,
    rho: Number,
    answers: int,
    delta: Number | None = None,
    purpose: str = "",
    record: Record | None = None,
) -> Answers:
    """Open Gaussian answers: every question gets its mean with noise, until their number is used.

    Parameters
    ----------
    study : Study
        Whose rows the questions are about. Its ledger is charged.
    columns : sequence of str
        Numeric columns with bounds that the questions will be about.
    purpose : str
        Of the session, for the ledger and the certificate.
    record : Record, optional
        Name, person who asks, signing key and override, for the ledger and the certificate.
    rho : number
        Of the whole session, in zCDP, charged now.
    answers : int
        How many questions it has, >= 1.
    delta : number, optional
        Where the study's budget counts epsilon and delta: what the conversion is named at.

    Returns
    -------
    Answers

    Raises
    ------
    Refusal
        Before any row is read; nothing was charged.
    Fault
        After the charge, which stays.

    Guarantee
    ---------
    rho-zCDP: ``gaussian``, rho / answers each.
    """
    from reticent.sessions import session, session_terms

    about = _about(record, purpose, "noisy answers")
    given = (columns, rho, answers, delta, (about, purpose))

    plan, made = _noted(study, lambda: session_terms.noisy_answers_terms(study, *given), about)
    _announced(study, plan)
    return session.Answers(
        _noted(study, lambda: session.PaidSession(study, plan, lambda _: [answers]), about), plan.axes, made
    )


def session_prices(
    study: Planner,
    *,
    questions: int,
    positives: int,
    width: float,
    people: int | None = None,
    beta: float = 0.05,
    delta: Number | None = None,
) -> Prices:
    """Prices of the sessions that could answer a plan: free, from public numbers alone.

    Parameters
    ----------
    study : Study
        Whose persons are declared.
    questions, positives : int
        How many questions will be asked, and how many are expected above a threshold, or overfitted.
    width, beta : float
        Greatest error of an answer, and the probability that some answer is further off; both in (0, 1).
    people : int, optional
        How many persons; by default the declared number.
    delta : number, optional
        At which rho is told as epsilon, in (0, 1); by default that of the budget, else 1e-6.

    Returns
    -------
    Prices
        The price of each way in epsilon and in rho.

    Raises
    ------
    PublicParameterError
        A number out of its range; no number of people where none is declared.
    """
    from reticent.data.spec import sizes_of
    from reticent.sessions import gaussian_answers

    person = study.schema.person
    if (units := person.people if people is None else people) is None:
        raise PublicParameterError("Say people=…: this study declares no number of persons.")
    return gaussian_answers.session_prices(
        questions=questions,
        positives=positives,
        width=width,
        people=units,
        kind=person.adjacency,
        rows=person.rows * person.moved,  # every price grows with the rows of a person, and so with steps
        beta=beta,
        delta=delta if delta is not None else sizes_of(study.spec.budget.loss)[1] or "1e-6",
    )


# --- what is agreed before anything is charged ------------------------------------------------------------------------


def _about(record: Record | None, purpose: str, name: str) -> Record:
    from reticent.certificate.record import check_text, record_of

    check_text(purpose, "purpose")
    about = record_of(record, name)
    if about.request_id is not None or about.audit is not None:
        raise QuestionError(
            "A session takes no request_id and no audit: study.release, study.sql and study.synthesize do, since their "
            "answer is stored, and their plan is known beforehand. Nothing was charged."
        )
    return about


def _noted(study: Payer, work: Callable[[], A], about: Record) -> A:
    """``work``, with a refusal noted in the ledger, which says that nothing was charged."""
    try:
        with refusing():
            return work()
    except Refusal as refusal:
        study._note(refusal, about.name, about.who)
        raise


def _announced(study: Payer, plan: SessionTerms) -> None:
    """Warn before the charge of how columns are read, and of what a session does not tell of rows without a value."""
    study._warn_of_notation(plan.axes)
    for sentence in plan.size.left_out:
        warn(f"{sentence}.")


def session_plan(
    study: Planner,
    kind: Literal["holdout", "sparse_vector", "sparse_vector of counts", "leaderboard", "noisy_answers"],
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
    from reticent.privacy.convert import spent_delta
    from reticent.sessions.outlook import outlook
    from reticent.study.memory_forecast import BroughtRecords
    from reticent.study.plan import plan_of_one

    study = study._supposing(rows)
    size, assumed = study._assumed(people)
    study._warn_of_notation(columns)
    found = outlook(
        study,
        kind,
        columns,
        answers=answers,
        people=size,
        cost=(epsilon, rho, delta),
    )
    refuse_exposure(spent_delta(found.guarantee.loss), study.schema.person.people_at_risk(size))
    brought = BroughtRecords(tuple(map(study.schema.canonical, columns)), len(columns))
    one_line = found.name, found.guarantee, found.expected, size, study.schema, brought
    made = plan_of_one(*one_line, source=study._file(), assumed=assumed, budget=study._left_of_plan())
    return replace(made, noted=study._transferred([(found.name, None)]))._refused_too(study._refused_by_engine())


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
    from reticent.learning import made_up_fits
    from reticent.learning.fit import handles
    from reticent.learning.fit.estimator import Estimator
    from reticent.learning.search import GridSearchCV
    from reticent.learning.transformers import unpacked
    from reticent.ledger import Ledger
    from reticent.privacy import compose
    from reticent.statistics.context import hopeless
    from reticent.study.handles import Columns, named, xy
    from reticent.study.memory_forecast import BroughtRecords
    from reticent.study.plan import plan_of_one

    study = study._supposing(rows)
    size, assumed = study._assumed(people)
    left, existing = study._left_of_plan()
    ledger = existing or Ledger.create(None, title=study.title, adjacency=study.schema.person.protected, budget=left)
    shelf = Columns(study.schema, ledger, study._place, study._table, study._known, assumed=size)
    helps: tuple[str, ...] = ()
    features = named(columns) if isinstance(columns, handles.Handle) else columns
    label = named(y)[0] if isinstance(y, handles.Handle) else y
    x, target = xy(shelf, features, label)
    if isinstance(model, GridSearchCV):
        guarantee, expected = model.expect(x, target, people=size)
        fits, one = model.fits, model._last
        name = f"GridSearchCV of {type(one).__name__}"
    else:
        one, handle = (model, x) if isinstance(model, Estimator) else unpacked(model, x, "a plan")[::2]
        guarantee, expected = made_up_fits.expected(one, handle, target, size)
        fits = 1
        if hopeless(expected.replies):

            def fit(people: int) -> tuple[Estimator, object, object]:
                x, target = xy(replace(shelf, assumed=people), features, label)
                return (
                    (model, x, target) if isinstance(model, Estimator) else (*unpacked(model, x, "a plan")[::2], target)
                )

            helps = made_up_fits.helps_of(fit, size)
        name = type(one).__name__
    assert isinstance(one, Estimator)
    if study._currency == "zcdp":
        guarantee = compose.in_zcdp(guarantee)
    name = f"{name}({', '.join(features)}{'' if label is None else f'; {label}'})"
    seconds, room = one._of_row(len(x.columns), target)
    read = (*features, *(() if label is None else (label,)))
    brought = BroughtRecords(
        tuple(map(study.schema.canonical, read)),
        len(x.columns) + (label is not None),
        fits * seconds,
        room,
    )
    one_line = name, guarantee, expected, size, study.schema, brought
    made = plan_of_one(*one_line, source=study._file(), assumed=assumed, budget=(left, existing), helps=helps)
    return replace(made, noted=study._transferred([(name, None)]))._refused_too(study._refused_by_engine())


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
