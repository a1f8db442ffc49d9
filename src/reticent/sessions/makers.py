"""Sessions: questions one by one, each after the answers before it, paid from the study's ledger.

    study.holdout(...)         training means, or claims, checked against the study's rows, round by round
    study.sparse_vector(...)   which means, or counts, are above a threshold
    study.leaderboard(...)     scores of submissions that beat the best
    study.noisy_answers(...)   every question answered, with Gaussian noise

These functions are the methods of ``Study`` of the same names; ``study.session_prices`` compares their prices.

A session, or a round of one, is charged when it opens, before a row is read or a threshold drawn. Closing gives nothing
back, and a crash can only have charged too much. What may be asked: ``sessions.row_functions``. How it is kept:
``sessions.session``. What an officer gets when a session has ended: ``session.certificate``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from reticent.certificate.particulars import Record, check_text, record_of
from reticent.errors import PublicParameterError, QuestionError, Refusal, warn
from reticent.privacy.cost import Cost
from reticent.privacy.loss import ZCDP
from reticent.privacy.numbers import Number, read
from reticent.privacy.numbers import show as in_words

if TYPE_CHECKING:
    from reticent.mechanisms.gaussian import Gaussian
    from reticent.mechanisms.sparse_vector import SparseVector
    from reticent.privacy.guarantee import Guarantee
    from reticent.sessions.gaussian_answers import Prices
    from reticent.sessions.payer import Payer
    from reticent.sessions.row_count import MeanSize
    from reticent.sessions.row_functions import GridColumn, GridRows
    from reticent.sessions.session import Answers, Holdout, Leaderboard, Of, SessionTerms, SparseVectorSession

MOST_ANSWERS: Final = 10_000

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
    from reticent.sessions.session import Holdout, PaidSession

    about = _about(record, purpose, "holdout")
    given = (columns, public, epsilon, rounds, threshold, (about, purpose))

    plan, made, bar, training = _noted(study, lambda: holdout_terms(study, *given), about)
    _announced(plan)
    paid = _noted(study, lambda: PaidSession(study, plan, made.start), about)
    return Holdout(paid, plan.axes, made, bar, training)


def sparse_vector(
    study: Payer,
    columns: Sequence[str],
    *,
    epsilon: Number,
    positives: int,
    of: Of = "means",
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
    from reticent.sessions.session import PaidSession, SparseVectorSession

    about = _about(record, purpose, "sparse vector")
    given = (columns, epsilon, positives, of, show, (about, purpose))

    plan, made = _noted(study, lambda: sparse_vector_terms(study, *given), about)
    _announced(plan)
    return SparseVectorSession(_noted(study, lambda: PaidSession(study, plan, made.start), about), plan.axes, made, of)


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
    from reticent.sessions.session import Leaderboard, PaidSession

    about = _about(record, purpose, "leaderboard")
    given = (columns, epsilon, improvements, step, start, (about, purpose))

    plan, made, rung, best = _noted(study, lambda: leaderboard_terms(study, *given), about)
    _announced(plan)
    return Leaderboard(_noted(study, lambda: PaidSession(study, plan, made.start), about), plan.axes, made, rung, best)


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
    from reticent.sessions.session import Answers, PaidSession

    about = _about(record, purpose, "noisy answers")
    given = (columns, rho, answers, delta, (about, purpose))

    plan, made = _noted(study, lambda: noisy_answers_terms(study, *given), about)
    _announced(plan)
    return Answers(_noted(study, lambda: PaidSession(study, plan, lambda _: [answers]), about), plan.axes, made)


def session_prices(
    study: Payer,
    *,
    questions: int,
    positives: int,
    width: float,
    people: int | None = None,
    beta: float = 0.05,
    delta: Number = "1e-6",
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
    delta : number
        At which rho is told as epsilon, in (0, 1).

    Returns
    -------
    Prices
        The price of each way in epsilon and in rho.

    Raises
    ------
    PublicParameterError
        A number out of its range; no number of people where none is declared.
    """
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
        delta=delta,
    )


# --- what is agreed before anything is charged ------------------------------------------------------------------------


def holdout_terms(
    study: Payer,
    columns: Sequence[str],
    public: Mapping[str, Sequence[float]] | None,
    epsilon: Number,
    rounds: int,
    threshold: Number,
    told: tuple[Record, str],
) -> tuple[SessionTerms, SparseVector, int, GridRows | None]:
    """Terms of a holdout, its mechanism, the threshold in steps, and the training rows.

    Parameters
    ----------
    study : Payer
        Study that pays.
    columns : sequence of str
        Columns that the questions will be about.
    public : mapping of str to sequence of float or None
        Training rows by column, or None.
    epsilon : number
        Loss of all rounds.
    rounds : int
        Number of rounds.
    threshold : number
        Distance above which the holdout is shown, in (0, 1).
    told : tuple of Record and str
        Record and purpose, for the ledger and the certificate.

    Returns
    -------
    tuple of SessionTerms, SparseVector, int and GridRows or None
        Terms, mechanism of a round, threshold in steps, and training rows.

    Raises
    ------
    QuestionError
        Training rows that are the private ones.
    PublicParameterError
        A threshold of 0.
    """
    from reticent.sessions.holdout import round_of
    from reticent.sessions.row_count import counted
    from reticent.sessions.row_functions import axes_of, public_rows, steps

    if public is not None and public is study._rows:
        raise QuestionError("The rows of the study are private: they cannot be the public training rows.")
    axes, total = axes_of(study.schema, columns), _total(study, epsilon, told[0].override)
    bar = steps(threshold, "threshold")
    if not bar:
        raise PublicParameterError("threshold must be > 0")
    training = None if public is None else public_rows(axes, public)
    size = counted(study.schema, axes, total, known=study._known())
    made = round_of(_share(total, size.cost, rounds), study.schema.person.with_one_cap())
    part = _entered(study, [made.guarantee])
    way = (
        "holdout",
        {"epsilon": read(epsilon, "epsilon"), "rounds": rounds, "threshold": read(threshold, "threshold")},
    )
    return _agreed(study, told, way, axes, size, part, rounds), made, bar, training


def sparse_vector_terms(
    study: Payer,
    columns: Sequence[str],
    epsilon: Number,
    positives: int,
    of: Of,
    show: Literal["values", "above"],
    told: tuple[Record, str],
) -> tuple[SessionTerms, SparseVector]:
    """Terms of a sparse vector, and its mechanism.

    Parameters
    ----------
    study : Payer
        Study that pays.
    columns : sequence of str
        Columns that the questions will be about.
    epsilon : number
        Loss of the whole session.
    positives : int
        Number of answers above.
    of : Of
        "means" or "counts".
    show : "values" or "above"
        "values" or "above".
    told : tuple of Record and str
        Record and purpose, for the ledger and the certificate.

    Returns
    -------
    tuple of SessionTerms and SparseVector
        Terms and mechanism.

    Raises
    ------
    PublicParameterError
        Another word for ``of`` or ``show``.
    """
    from reticent.mechanisms.sparse_vector import Direction, SparseVector, split
    from reticent.sessions.above_threshold import reach
    from reticent.sessions.row_count import counted
    from reticent.sessions.row_functions import axes_of

    if of not in ("means", "counts") or show not in ("values", "above"):
        raise PublicParameterError('of is "means" or "counts", show is "values" or "above"')
    axes, total = axes_of(study.schema, columns), _total(study, epsilon, told[0].override)
    neighbours = study.schema.person.with_one_cap()
    needed = of == "means" and show == "values"
    size = counted(study.schema, axes, total, known=study._known(), sized=needed)
    direction: Direction = "together" if of == "counts" and neighbours.kind == "add_remove" else "either"
    one, two = split(positives, direction)
    shares = (one, two, one + two if show == "values" else 0)
    made = SparseVector(reach(neighbours), _share(total, size.cost, 1), positives, shares, direction)
    part = made.concentrated if direction == "together" and study._currency == "zcdp" else made.guarantee
    way = ("sparse vector", {"epsilon": read(epsilon, "epsilon"), "positives": positives, "of": of, "show": show})
    whole = _entered(study, [part])
    return _agreed(study, told, way, axes, size, whole, 1, sized=needed), made


def leaderboard_terms(
    study: Payer,
    columns: Sequence[str],
    epsilon: Number,
    improvements: int,
    step: Number,
    start: Number,
    told: tuple[Record, str],
) -> tuple[SessionTerms, SparseVector, int, int]:
    """Terms of a leaderboard, its mechanism, and the step and the start in whole steps.

    Parameters
    ----------
    study : Payer
        Study that pays.
    columns : sequence of str
        Columns that the questions will be about.
    epsilon : number
        Loss of the whole board.
    improvements : int
        Number of scores that may be shown.
    step : number
        Least improvement, in (0, 1).
    start : number
        Score to beat first, in [0, 1].
    told : tuple of Record and str
        Record and purpose, for the ledger and the certificate.

    Returns
    -------
    tuple of SessionTerms, SparseVector, int and int
        Terms, mechanism, step and start.

    Raises
    ------
    PublicParameterError
        A step of 0.
    """
    from reticent.sessions.leaderboard import board_of
    from reticent.sessions.row_count import counted
    from reticent.sessions.row_functions import axes_of, steps

    axes, total = axes_of(study.schema, columns), _total(study, epsilon, told[0].override)
    rung, best = steps(step, "step"), steps(start, "start")
    if not rung:
        raise PublicParameterError("step must be > 0")
    size = counted(study.schema, axes, total, known=study._known())
    made = board_of(_share(total, size.cost, 1), improvements, study.schema.person.with_one_cap())
    rungs = {"step": read(step, "step"), "start": read(start, "start")}
    way = ("ladder", {"epsilon": read(epsilon, "epsilon"), "improvements": improvements, **rungs})
    whole = _entered(study, [made.guarantee])
    return _agreed(study, told, way, axes, size, whole, 1), made, rung, best


def noisy_answers_terms(
    study: Payer,
    columns: Sequence[str],
    rho: Number,
    answers: int,
    delta: Number | None,
    told: tuple[Record, str],
) -> tuple[SessionTerms, Gaussian]:
    """Terms of noisy answers, and the mechanism of one.

    Parameters
    ----------
    study : Payer
        Study that pays.
    columns : sequence of str
        Columns that the questions will be about.
    rho : number
        Loss of the whole session, in zCDP.
    answers : int
        Number of answers.
    delta : number or None
        Probability at which rho is converted, where the budget counts it.
    told : tuple of Record and str
        Record and purpose, for the ledger and the certificate.

    Returns
    -------
    tuple of SessionTerms and Gaussian
        Terms and the mechanism of one answer.

    Raises
    ------
    PublicParameterError
        More answers than a proof can list.
    """
    from reticent.sessions.gaussian_answers import answer_of
    from reticent.sessions.row_count import counted
    from reticent.sessions.row_functions import axes_of

    _ungrouped(study)
    within = Cost.read(None, rho, delta, told[0].override, study.schema.person.people)
    assert within.rho is not None
    axes = axes_of(study.schema, columns)
    if answers > MOST_ANSWERS:
        raise PublicParameterError(f"at most {MOST_ANSWERS:,} answers: every one is a part of the proof")
    total = within.of_one_step(study.schema.person.moved).rho
    assert total is not None
    size = counted(study.schema, axes, total, known=study._known(), in_rho=True)
    made = answer_of(_share(total, size.cost, answers), study.schema.person.with_one_cap())
    buying = [] if size.bought is None else [size.bought]
    whole = _entered(study, [*buying, *[made.guarantee] * answers], within.delta)
    way = {"rho": in_words(within.rho), "answers": str(answers)}
    way |= {} if within.delta is None else {"delta": in_words(within.delta)}
    return _written(told, "noisy answers", way, axes, size, (whole, whole), 1), made


def _about(record: Record | None, purpose: str, name: str) -> Record:
    check_text(purpose, "purpose")
    about = record_of(record, name)
    if about.request_id is not None or about.audit is not None:
        raise QuestionError(
            "A session takes no request_id and no audit: study.release, study.sql and study.synthesize do, since their "
            "answer is stored, and their plan is known beforehand. Nothing was charged."
        )
    return about


def _noted(study: Payer, work: Callable[[], A], about: Record) -> A:
    """``work``, with a refusal noted in the ledger."""
    try:
        return work()
    except Refusal as refusal:
        study._note(refusal, about.name, about.who)
        raise


def _announced(plan: SessionTerms) -> None:
    """Warn before the charge of what a session does not tell of rows that lack a value."""
    for sentence in plan.size.left_out:
        warn(f"{sentence}.")


def _ungrouped(study: Payer) -> None:
    if study._groups is not None:
        raise QuestionError("A session is about the whole table: open it on the study, not on study.by(…).")


def _total(study: Payer, epsilon: Number, override: str) -> Fraction:
    """The price of one step of one person's rows: ``_entered`` lifts what is made at it."""
    _ungrouped(study)
    within = Cost.read(epsilon, None, None, override, study.schema.person.people)
    total = within.of_one_step(study.schema.person.moved).epsilon
    assert total is not None
    return total


def _share(total: Fraction, bought: Fraction, parts: int) -> Fraction:
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
        raise PublicParameterError(f"a session pays for a whole number of answers, at least 1, got {parts}")
    return (total - bought) / parts


def _entered(study: Payer, parts: Sequence[Guarantee], delta: Fraction | None = None) -> Guarantee:
    """The parts together, for the neighbours and in the currency of the study's ledger."""
    from reticent.privacy import compose
    from reticent.privacy.convert import as_approx

    if study._currency == "zcdp":
        return study.schema.lifted(compose.in_sequence([compose.in_zcdp(part) for part in parts]))
    whole = study.schema.lifted(compose.in_sequence(parts))
    if not isinstance(whole.loss, ZCDP):
        return whole
    if delta is None:
        raise PublicParameterError("This budget counts (ε, δ): say delta=…, at which rho is converted.")
    return as_approx(whole, delta)


def _agreed(
    study: Payer,
    told: tuple[Record, str],
    way: tuple[str, Mapping[str, object]],
    axes: Mapping[str, GridColumn],
    size: MeanSize,
    part: Guarantee,
    parts: int,
    *,
    sized: bool = True,
) -> SessionTerms:
    """The first part pays for the number of rows too, where it is bought. ``told``: record and purpose."""
    from reticent.privacy import compose

    first = part
    if size.bought is not None:
        first = compose.in_sequence([_entered(study, [size.bought]), part])
    what, parameters = way
    said = {name: in_words(value) if isinstance(value, Fraction) else str(value) for name, value in parameters.items()}
    return _written(told, what, said, axes, size, (first, part), parts, sized=sized)


def _written(
    told: tuple[Record, str],
    what: str,
    parameters: Mapping[str, str],
    axes: Mapping[str, GridColumn],
    size: MeanSize,
    first_and_part: tuple[Guarantee, Guarantee],
    parts: int,
    *,
    sized: bool = True,
) -> SessionTerms:
    """The agreement of a session, with the key that will sign its certificates, read before anything is charged."""
    from reticent.certificate.keys import load_private
    from reticent.sessions.session import SessionTerms

    (about, purpose), (first, part) = told, first_and_part
    signer = None if about.key is None else load_private(about.key)
    names = (about.name, purpose, about.who, about.override)
    return SessionTerms(*names, what, parameters, axes, size, part, parts, first, sized, signer)
