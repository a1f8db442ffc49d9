"""Terms of sessions, agreed before a charge: the price, the mechanism and the columns that may be asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal

from reticent.certificate.keys import load_private
from reticent.certificate.record import Record
from reticent.data.design import refuse_weight
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.sparse_vector import Direction, SparseVector, split
from reticent.privacy import compose
from reticent.privacy.convert import as_approx, spent_delta
from reticent.privacy.cost import Cost, refuse_exposure
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ZCDP
from reticent.privacy.numbers import Number, read
from reticent.privacy.numbers import show as in_words
from reticent.sessions.above_threshold import reach
from reticent.sessions.gaussian_answers import answer_of
from reticent.sessions.holdout import round_of
from reticent.sessions.leaderboard import board_of
from reticent.sessions.payer import Payer
from reticent.sessions.row_count import MeanSize, counted
from reticent.sessions.row_functions import GridColumn, GridRows, axes_of, public_rows, steps
from reticent.sessions.session import Of, SessionTerms

MOST_ANSWERS: Final = 10_000


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
    _of_all_rows_alike(study)
    within = Cost.read(None, rho, delta, told[0].override)
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


def _of_all_rows_alike(study: Payer) -> None:
    if study._groups is not None:
        raise QuestionError("A session is about the whole table: open it on the study, not on study.by(…).")
    refuse_weight(study.schema.design, "A session")


def _total(study: Payer, epsilon: Number, override: str) -> Fraction:
    """The price of one step of one person's rows: ``_entered`` lifts what is made at it."""
    _of_all_rows_alike(study)
    within = Cost.read(epsilon, None, None, override)
    total = within.of_one_step(study.schema.person.moved).epsilon
    assert total is not None
    return total


def _share(total: Fraction, bought: Fraction, parts: int) -> Fraction:
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
        raise PublicParameterError(f"a session pays for a whole number of answers, at least 1, got {parts}")
    return (total - bought) / parts


def _entered(study: Payer, parts: Sequence[Guarantee], delta: Fraction | None = None) -> Guarantee:
    """The parts together, for the neighbours and in the currency of the study's ledger."""
    if study._currency == "zcdp":
        return study.schema.lifted(compose.in_sequence([compose.in_zcdp(part) for part in parts]))
    whole = study.schema.lifted(compose.in_sequence(parts))
    if not isinstance(whole.loss, ZCDP):
        return whole
    if delta is None:
        raise PublicParameterError("This budget counts (ε, δ): say delta=…, at which rho is converted.")
    made = as_approx(whole, delta)
    refuse_exposure(spent_delta(made.loss), study.schema.person.people)
    return made


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
    (about, purpose), (first, part) = told, first_and_part
    signer = None if about.key is None else load_private(about.key)
    names = (about.name, purpose, about.who, about.override)
    return SessionTerms(*names, what, parameters, axes, size, part, parts, first, sized, signer)
