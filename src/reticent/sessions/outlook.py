"""Plan of a session: its price, how many questions it has, and how wide its noise is. No row is read.

The terms are those that the session would be opened on. Where rows are counted, a plan supposes how many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never, get_args

from reticent.certificate.record import record_of
from reticent.errors import PublicParameterError
from reticent.mechanisms.gaussian import Gaussian
from reticent.mechanisms.geometric import laplace_radius
from reticent.mechanisms.sparse_vector import SparseVector
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number, rough, show
from reticent.sessions import session_terms
from reticent.sessions.above_threshold import LEVEL, NORMAL
from reticent.sessions.row_functions import STEPS
from reticent.sessions.session import Of, SessionTerms
from reticent.statistics.context import ALWAYS, SURE, ExpectedAccuracy, Replies, beyond, values_of

if TYPE_CHECKING:
    from reticent.certificate.record import Record
    from reticent.sessions.payer import Payer

SessionKind: TypeAlias = Literal["holdout", "sparse_vector", "sparse_vector of counts", "leaderboard", "noisy_answers"]
SIGMAS: Final = (1, 2, 3)  # of a comparison, above the threshold
FARTHEST, HALVINGS = 64.0, 40  # of the same, between which a sure reply is looked for, and the steps
ANY_THRESHOLD: Final = "0.1"  # that of a holdout, or the step of a leaderboard, moves no price and no noise


@dataclass(frozen=True, slots=True)
class SessionOutlook:
    """A session before it is opened: its name, the guarantee of all its parts, and what to expect of an answer."""

    name: str
    guarantee: Guarantee
    expected: ExpectedAccuracy


def outlook(
    study: Payer,
    kind: SessionKind,
    columns: Sequence[str],
    *,
    answers: int,
    people: int,
    cost: tuple[Number | None, Number | None, Number | None],
) -> SessionOutlook:
    """The outlook of a session for so many people.

    Parameters
    ----------
    study : Study
        Whose budget would pay.
    kind : "holdout", "sparse_vector", "sparse_vector of counts", "leaderboard" or "noisy_answers"
    columns : sequence of str
        What its questions are about.
    answers : int
        Rounds, answers above, improvements or answers.
    people : int
        How many to suppose.
    cost : epsilon, rho and delta

    Returns
    -------
    SessionOutlook

    Raises
    ------
    Refusal
        As the session itself would be refused.
    """
    if kind not in get_args(SessionKind):
        raise PublicParameterError(f"a session is one of {', '.join(get_args(SessionKind))}; got {kind!r}")
    epsilon, rho, _ = cost
    if (rho is None) == (kind == "noisy_answers") or (epsilon is None) != (kind == "noisy_answers"):
        raise PublicParameterError("noisy_answers are priced by rho, every other session by epsilon")
    terms, made = _terms(study, kind, columns, answers, cost)
    person = study.schema.person
    rows = values_of(people, person.rows, person)
    named = f"{kind}({', '.join(terms.axes)})"
    if isinstance(made, Gaussian):
        whole, found = terms.first, _of_gaussian(made, rows, answers)
    else:
        whole, found = _whole(terms), _of_vector(made, kind, rows, answers)
    lift = study.schema.lift_words("a session")
    return SessionOutlook(named, whole, replace(found, note=f"{found.note}; {lift}") if lift else found)


def _terms(
    study: Payer,
    kind: SessionKind,
    columns: Sequence[str],
    answers: int,
    cost: tuple[Number | None, Number | None, Number | None],
) -> tuple[SessionTerms, SparseVector | Gaussian]:
    epsilon, rho, delta = cost
    told: tuple[Record, str] = (record_of(None, kind), "")
    if rho is not None:
        return session_terms.noisy_answers_terms(study, columns, rho, answers, delta, told)
    assert epsilon is not None
    match kind:
        case "holdout":
            terms, made, *_ = session_terms.holdout_terms(study, columns, None, epsilon, answers, ANY_THRESHOLD, told)
        case "sparse_vector" | "sparse_vector of counts":
            of: Of = "means" if kind == "sparse_vector" else "counts"
            terms, made = session_terms.sparse_vector_terms(study, columns, epsilon, answers, of, "values", told)
        case "leaderboard":
            half = "0.5"
            terms, made, *_ = session_terms.leaderboard_terms(
                study, columns, epsilon, answers, ANY_THRESHOLD, half, told
            )
        case "noisy_answers":
            raise AssertionError("noisy answers are priced by rho")
        case _:
            assert_never(kind)
    return terms, made


def _whole(terms: SessionTerms) -> Guarantee:
    """The guarantee of all rounds together."""
    return compose.in_sequence([terms.first, *[terms.part] * (terms.parts - 1)])


def _of_gaussian(made: Gaussian, rows: int, answers: int) -> ExpectedAccuracy:
    noise = NORMAL * math.sqrt(made.variance) / (STEPS * rows)
    return ExpectedAccuracy(
        noise, _sampling(rows), f"of a mean between 0 and 1; {_number(answers, 'question')}", ALWAYS
    )


def _of_vector(made: SparseVector, kind: SessionKind, rows: int, answers: int) -> ExpectedAccuracy:
    """Half-widths of a value that is shown, and the chance that a question so far above the threshold is answered."""
    counts = kind == "sparse_vector of counts"
    unit = float(STEPS if counts else STEPS * rows)
    scales = float(made.threshold_scale), float(made.question_scale)
    threshold, compared = (laplace_radius(scale, 1 - LEVEL) / unit for scale in scales)
    sigma = math.sqrt(2.0) * math.hypot(*scales)
    replies: Replies = tuple(
        (f"{times} σ above the threshold", beyond(-times * sigma, list(scales))) for times in SIGMAS
    )
    each = _number(answers, "answer") + " above"
    if kind == "holdout":
        each = f"{_number(answers, 'round')} of ε {show(made.epsilon)}"
    what = "a number of rows" if counts else "a mean between 0 and 1"
    note = (
        f"of {what} that is shown; any number of questions, {each}; noise of the threshold "
        f"± {rough(threshold, 3)}, of a question ± {rough(compared, 3)}, of both σ = {rough(sigma / unit, 3)}"
    )
    sure, fewer = _sure_above(sigma, scales) / unit, "" if counts else ", more people"
    note += (
        f"; P(reply) is {SURE:g} from {rough(sure, 3)} above the threshold on: a larger ε{fewer} or fewer answers help"
    )
    noise = laplace_radius(float(made.value_scale), 1 - LEVEL) / unit
    return ExpectedAccuracy(noise, None if counts else _sampling(rows), note, replies)


def _sure_above(sigma: float, scales: Sequence[float]) -> float:
    """The distance above the threshold from which on a question is answered with probability ``SURE``, by halving."""
    low, high = 0.0, FARTHEST * sigma
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if beyond(-middle, list(scales)) >= SURE else (middle, high)
    return high


def _sampling(rows: int) -> float:
    """The greatest half-width of sampling that a mean between 0 and 1 of so many rows can have."""
    return NORMAL / (2.0 * math.sqrt(rows))


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
