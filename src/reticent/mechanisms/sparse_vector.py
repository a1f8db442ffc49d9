"""Sparse vector: any number of questions "is it at least 0?", paid by the few that are answered yes.

Statement. f_1, f_2, ... and g_1, g_2, ... are integers that move by at most D between neighbours, each chosen after the
answers before it; epsilon = e1 + e2 + e3; c >= 1 is public. Z is two-sided geometric noise of scale D / e1, drawn once;
X_i of scale k c D / e2, fresh for every question, k = 2; Y_i of scale c D / e3, fresh. Question i is answered "above"
where f_i + X_i >= Z, then with g_i + Y_i if e3 > 0, else "below"; after c answers "above" nothing more is answered. The
whole conversation is epsilon-differentially private. Let the f_i move *together*: between two neighbours all of them
rise or stay, or all of them fall or stay. Then k = 1 is enough, and the conversation is rho-zCDP with rho = (e1 + 2 e2
+ 2 e3)^2 / 8 as well.

Source. Dwork and Roth 2014, Algorithm 1 and Theorem 3.23 (AboveThreshold); Lyu, Su and Li 2017, Algorithm 7, Theorems
4 and 5; Cesar and Rogers 2021, Lemma 3.4 (bounded range to zCDP).

Proof. Fix the answers a; then all f_i, g_i are fixed on either side, f_i and f'_i with |f_i - f'_i| <= D. P(a) is the
sum over z of P(Z = z) prod_below P(X < z - f_i) prod_above P(X >= z - f_i) P(Y = y_i - g_i). Compare the term at z with
the neighbour's at z + D, a one-to-one map of the integers. (1) P(Z = z) <= e^e1 P(Z = z + D). (2) f'_i <= f_i + D, so
z - f_i <= z + D - f'_i: P(X < z - f_i) <= P(X < z + D - f'_i), at no loss, for any number of questions. (3) As
z + D - f'_i <= z - f_i + 2 D, and P(X >= m) <= e^{j / scale} P(X >= m + j) for integers j >= 0: a factor e^{e2 / c} for
each of at most c. (4) A factor e^{e3 / c} for each value. The product is e^epsilon; sum over z. *Together*, all
f'_i >= f_i: from f to f' by the same shift, where (3) needs a step of D only; from f' to f without a shift: (1) costs
nothing, (2) holds as f_i <= f'_i, and in (3) z - f_i <= z - f'_i + D. So ln P(a) / P'(a) lies in
[-(e2 + e3), e1 + e2 + e3], an interval of length r = e1 + 2 e2 + 2 e3 whatever the answers: bounded range, and r^2 / 8
in rho. That a conversation may be held in between others, and counts as one answer given when it starts, is proved in
docs/proofs/sessions.md. ∎

Deviations. Lyu et al. have continuous Laplace noise and "f + X >= T + Z"; here integers and geometric noise, T is part
of f. Their value is the answer compared; here g may be another integer (a holdout compares |f|, and shows f). Noise Z
is not drawn again after an answer "above" (Dwork and Roth's Algorithm 2 does, which costs c e1 for the same scale).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias, assert_never, get_args

from reticent.entropy import Entropy, Forks
from reticent.errors import PublicParameterError, QuestionError
from reticent.exact.laplace import one_discrete_laplace
from reticent.mechanisms import gate
from reticent.mechanisms.gate import Axioms, Bar, Specimen
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import ZCDP, PureDP
from reticent.privacy.numbers import integers, positive, show, stored
from reticent.privacy.sensitivity import Linf

THEOREM: Final = Theorem(
    "sparse_vector",
    "questions until some number are above: the noise of the threshold once, of every question fresh",
    "Dwork and Roth 2014, Theorem 3.23; Lyu, Su and Li 2017, Theorems 4 and 5",
)
TOGETHER: Final = Theorem(
    "sparse_vector_zcdp",
    "a sparse vector whose questions move together has bounded range e1 + 2 e2 + 2 e3",
    "Lyu, Su and Li 2017; Cesar and Rogers 2021, Lemma 3.4; derived",
)

Direction: TypeAlias = Literal["either", "together"]
Noise: TypeAlias = Literal["threshold", "question", "value"]
STOPPED: Final = -1


class Mark(NamedTuple):
    """The answer to one question; ``value`` is 0 where it is below, or no values are released."""

    above: bool
    value: int


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Answers questions whose integers move by at most ``sensitivity`` until ``positives`` of them were above.

    Attributes
    ----------
    sensitivity : Linf
        Of each question alone; the bound is an integer.
    epsilon : Fraction
        Of the whole conversation, > 0.
    positives : int
        How many answers "above" are paid for, >= 1.
    shares : (int, int, int)
        e1 : e2 : e3, of the threshold, the questions and the values; the third is 0 where no values are released.
    direction : "either" or "together"
        Whether between two neighbours all questions move the same way: counts of rows under add/remove do.
    """

    sensitivity: Linf
    epsilon: Fraction
    positives: int = 1
    shares: tuple[int, int, int] = (1, 1, 0)
    direction: Direction = "either"

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if self.sensitivity.bound.denominator != 1:
            raise PublicParameterError(f"the sensitivity of integers is an integer, got {show(self.sensitivity.bound)}")
        _at_least(self.positives, 1, "positives")
        if len(self.shares) != 3:
            raise PublicParameterError("shares are three: of the threshold, the questions and the values")
        for share, least in zip(self.shares, (1, 1, 0), strict=True):
            _at_least(share, least, "a share")
        if self.direction not in get_args(Direction):
            raise PublicParameterError('direction is "either" or "together"')

    def _part(self, place: int) -> Fraction:
        return self.epsilon * self.shares[place] / sum(self.shares)

    @property
    def values(self) -> bool:
        """True if an answer "above" comes with a value."""
        return self.shares[2] > 0

    @property
    def threshold_scale(self) -> Fraction:
        return self.sensitivity.bound / self._part(0)

    @property
    def question_scale(self) -> Fraction:
        steps = 2 if self.direction == "either" else 1
        return steps * self.positives * self.sensitivity.bound / self._part(1)

    @property
    def value_scale(self) -> Fraction:
        """Noise scale of the values, in units of the answer; refused if no values are released."""
        if not self.values:
            raise PublicParameterError("no values are released: the third share is 0")
        return self.positives * self.sensitivity.bound / self._part(2)

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of the whole conversation, for any number of questions."""
        return axiom(PureDP(self.epsilon), self.sensitivity.adjacency, THEOREM, pair=None, **self._parameters())

    @property
    def concentrated(self) -> Guarantee:
        """In zCDP: by the bounded range where the questions move together, else epsilon^2 / 2 by conversion.

        Raises
        ------
        PublicParameterError
            For questions that move either way: convert ``guarantee``.
        """
        if self.direction != "together":
            raise PublicParameterError("questions that move either way have no smaller rho: convert the guarantee")
        reach = self._part(0) + 2 * self._part(1) + 2 * self._part(2)
        return axiom(ZCDP(reach * reach / 8), self.sensitivity.adjacency, TOGETHER, pair=None, **self._parameters())

    def _parameters(self) -> dict[str, str]:
        return {
            "epsilon": show(self.epsilon),
            "sensitivity": show(self.sensitivity.bound),
            "positives": str(self.positives),
            "shares": ":".join(map(str, self.shares)),
            "direction": self.direction,
        }

    def start(self, entropy: Entropy) -> Conversation:
        """A conversation, with its threshold drawn. It was paid for once: start none without a charge."""
        return Conversation(self, entropy)

    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        """Questions known in advance: for each 1 above, 0 below, -1 not answered any more; then the values, if any."""
        talk, marks, values = self.start(entropy), [], []
        for f in integers(exact, "the answers"):
            mark = talk.ask(f, entropy) if talk.left else Mark(False, 0)
            marks.append(int(mark.above) if mark.above or talk.left else STOPPED)
            values.append(mark.value)
        return (*marks, *values) if self.values else tuple(marks)


@dataclass(frozen=True, slots=True)
class NoiseTerm:
    """One noise of a conversation, as the gate sees it: Z, an X_i or a Y_i.

    Attributes
    ----------
    whole : SparseVector
        What the conversation follows, and what pays for it: ``guarantee`` is of all its parts together.
    noise : "threshold", "question" or "value"
    """

    whole: SparseVector
    noise: Noise

    @property
    def guarantee(self) -> Guarantee:
        return self.whole.guarantee

    @property
    def sensitivity(self) -> Linf:
        """Sensitivity of the integer that is asked about; thresholds are public and have sensitivity 0."""
        return self.whole.sensitivity

    @property
    def scale(self) -> Fraction:
        match self.noise:
            case "threshold":
                return self.whole.threshold_scale
            case "question":
                return self.whole.question_scale
            case "value":
                return self.whole.value_scale
            case _:
                assert_never(self.noise)

    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        """Every integer with a noise of its own."""
        return tuple(x + one_discrete_laplace(self.scale, entropy) for x in exact)


class Conversation:
    """One sparse vector that is going on: the noisy threshold, and how many answers "above" are left.

    It belongs to the process that started it, is asked by one thread at a time, and is neither copied nor pickled: a
    second one with the same threshold would answer twice for one charge. Whatever interrupts an answer ends it.
    """

    __slots__ = ("_left", "_lock", "_mechanism", "_owner", "_threshold")

    def __init__(self, mechanism: SparseVector, entropy: Entropy) -> None:
        self._mechanism, self._left = mechanism, mechanism.positives
        self._lock, self._owner = threading.Lock(), (os.getpid(), Forks.count)
        (self._threshold,) = gate.draw(NoiseTerm(mechanism, "threshold"), (0,), entropy)

    @property
    def left(self) -> int:
        """Answers "above" that are still paid for; at 0 the conversation is over."""
        return self._left

    def ask(self, f: int, entropy: Entropy, *, value: int | None = None) -> Mark:
        """Tell if the noisy ``f`` is at least 0; a mark "above" carries the noisy ``value``, by default ``f``.

        Parameters
        ----------
        f : int
            Private: the sum that is compared with 0.
        entropy : Entropy
        value : int, optional
            Private: the number told with an answer above.

        Returns
        -------
        Mark

        Raises
        ------
        QuestionError
            When it is over, or in another process than the one it was started in.
        """
        (f, g) = integers((f, f if value is None else value), "the answers")
        if self._owner != (os.getpid(), Forks.count):
            raise QuestionError("This conversation belongs to the process that paid for it. Open one here.")
        with self._lock:
            left, self._left = self._left, 0  # an exception from here on leaves it over
            if left == 0:
                raise QuestionError("This conversation is over: open another, which is charged.")
            made = self._mechanism
            above = gate.passes(NoiseTerm(made, "question"), f, Bar(self._threshold, None), entropy)
            shown = 0
            if above and made.values:
                (shown,) = gate.draw(NoiseTerm(made, "value"), (g,), entropy)
            self._left = left - above
            return Mark(above, shown)

    def __repr__(self) -> str:
        return f"<a conversation, {self._left} answers above left>"

    def _refuse(self, *_: object) -> NoReturn:
        raise QuestionError("A conversation is neither copied nor pickled: it was paid for once.")

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refuse


def split(positives: int, direction: Direction = "either") -> tuple[int, int]:
    """Shares e1 : e2 that make the noise of a comparison least: 1 : (k c)^(2/3), k = 2 or 1; public, to 1 in 64.

    Lyu, Su and Li 2017, section 4.2: the variance of X - Z is proportional to 1 / e1^2 + (k c)^2 / e2^2.
    """
    steps = _at_least(positives, 1, "positives") * (2 if direction == "either" else 1)
    return 64, max(1, round(64 * steps ** (2 / 3)))


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    return _stored(parameters, neighbours).guarantee


def again_together(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf in zCDP, stated again."""
    return _stored(parameters, neighbours).concentrated


def _stored(parameters: dict[str, str], neighbours: Adjacency) -> SparseVector:
    one, two, three = (int(share) for share in parameters["shares"].split(":"))
    direction: Direction = "together" if parameters["direction"] == "together" else "either"
    if direction != parameters["direction"]:
        raise ValueError("direction")
    return SparseVector(
        Linf(stored(parameters, "sensitivity"), neighbours),
        stored(parameters, "epsilon"),
        int(parameters["positives"]),
        (one, two, three),
        direction,
    )


def _at_least(number: int, least: int, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise PublicParameterError(f"{name} must be an integer >= {least}, got {number}")
    return number


# A conversation has no law that is tight on a handful of likely answers, which is what specimens are for; its laws are
# computed for all short sequences of questions, adaptive ones too, in tests/laws/test_sparse_vector.py.
AXIOMS: Final[Axioms] = ((THEOREM, again), (TOGETHER, again_together))
SPECIMENS: Final[tuple[Specimen[Any, Any], ...]] = ()
