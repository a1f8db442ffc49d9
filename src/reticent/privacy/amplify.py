"""Privacy amplification: what a mechanism costs behind a sampling or shuffling step that it owns.

    poisson               each unit takes part on a coin of its own      add/remove     Li, Qardaji and Su 2012
    without_replacement   a uniform subset of public size                substitution   Balle, Barthe and Gaboardi 2018
    shuffled              randomized answers, only counts are seen       substitution   Feldman, McMillan, Talwar 2021

Only a module of ``mechanisms`` may call these three, as with ``axiom``: a loss is amplified because the coins are
tossed afresh, unseen, inside the mechanism that states it. A rate claimed for rows somebody picked earlier proves
nothing: two answers from one such sample tell more than the two amplified losses say.

Everything is rounded towards more loss; the clones' delta is computed in integers (``clones``).

Proofs: docs/proofs/amplification.md. Deviations. (1) No theorem about Renyi divergences is used: a loss in zCDP is
amplified through the mechanism's dominating pair if its proof names one. Otherwise it is first converted to (epsilon,
delta) at a named delta. (2) A truth of two values is hidden by more clones than Feldman, McMillan and Talwar count: 2 /
(e^eps0 + 1) per person in place of e^-eps0. (3) Their closed form is used under eps0 <= ln(n / (16 ln(4 / delta))), for
which it is proved here; they print ln(2 / delta), which stays the condition of a refusal.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, assert_never

from reticent.errors import CheckError, PublicParameterError
from reticent.exact.rounding import exp_up, log_up, round_up, sqrt_up
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import PLD, ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, pld_of
from reticent.privacy.numbers import exact, read, show
from reticent.privacy.pairs import Coin, GaussianShift, Pair, SampledPair
from reticent.privacy.shuffle_clones import least_epsilon, ratio_of

POISSON: Final = Theorem(
    "poisson_sampled",
    "each unit takes part with probability q, unseen: ln(1 + q (e^epsilon - 1)), q delta",
    "Li, Qardaji and Su 2012, Theorem 1; Balle, Barthe and Gaboardi 2018, Theorem 8",
)
POISSON_PAIR: Final = Theorem(
    "poisson_sampled_pair",
    "each unit takes part with probability q, unseen: the dominating pair, sampled",
    "Zhu, Dong and Wang 2022, Theorem 11",
)
WITHOUT_REPLACEMENT: Final = Theorem(
    "sampled_without_replacement",
    "m of n units, all subsets alike, unseen: ln(1 + m/n (e^epsilon - 1)), m/n delta",
    "Balle, Barthe and Gaboardi 2018, Theorem 9",
)
CLONES: Final = Theorem(
    "shuffled_clones",
    "n answers, order lost: the exact delta of hiding among the clones",
    "Feldman, McMillan and Talwar 2021, Theorem 3.2; docs/proofs/amplification.md",
)
CLOSED: Final = Theorem(
    "shuffled_closed_form",
    "n answers, order lost: ln(1 + (e^eps0 - 1)/(e^eps0 + 1) (8 sqrt(e^eps0 ln(4/delta) / n) + 8 e^eps0 / n))",
    "Feldman, McMillan and Talwar 2021, Theorem 3.1; docs/proofs/amplification.md",
)
UNSHUFFLED: Final = Theorem(
    "shuffled_local", "n answers, each private by itself: the loss of one", "001 (post-processing); definition"
)
NAMES: Final = tuple(
    theorem.name for theorem in (POISSON, POISSON_PAIR, WITHOUT_REPLACEMENT, CLONES, CLOSED, UNSHUFFLED)
)

WIDEST: Final = 700  # an epsilon beyond it is not amplified
WIDEST_LOCAL: Final = 64  # an eps0 beyond it needs more people than there are
CROWD: Final = 10**7  # so many people are counted; more only hide better
TWO_VALUED: Final = ("randomized_response",)  # mechanisms whose truth has two values


def poisson(part: Guarantee, rate: Fraction, *, label: str = "") -> Guarantee:
    """The loss of ``part`` on a sample that each unit joins with probability ``rate``, by a coin nobody sees.

    Parameters
    ----------
    part : Guarantee
        Of the mechanism on the sample, under add/remove of the unit that is sampled: pure or approximate, Gaussian
        DP, one dominating pair, or zCDP of a mechanism whose proof names a pair.
    rate : Fraction
        Strictly between 0 and 1.
    label : str
        Name of the node in the proof.

    Returns
    -------
    Guarantee
        epsilon' = ln(1 + rate (e^epsilon - 1)) rounded up to 12 digits, and rate * delta; for Gaussian DP and pairs
        the sampled pair. ``pair`` says more than the two numbers.

    Raises
    ------
    PublicParameterError
        Under substitution, since a sample of random size hides nobody's replacement better by this theorem. For zCDP
        and Renyi losses without a pair. For a product of several pairs.
    """
    if not 0 < exact(rate, "rate") < 1:
        raise PublicParameterError(f"rate must lie strictly between 0 and 1, got {show(rate)}")
    if part.adjacency.kind != "add_remove":
        raise PublicParameterError(
            "sampling on a coin per unit is proved for adding or removing a unit; this guarantee is about "
            f"another change: {part.adjacency.words()}. For substitution draw without replacement."
        )
    loss: Loss
    pair: Pair | None
    match part.loss:
        case PureDP(epsilon):
            loss, pair = PureDP(_mixed(epsilon, rate)), _sampled(part.pair or _coin(epsilon, Fraction(0)), rate)
        case ApproxDP(epsilon, delta):
            loss = ApproxDP(_mixed(epsilon, rate), round_up(rate * delta))
            pair = _sampled(part.pair or _coin(epsilon, delta), rate)
        case GaussianDP(mu_squared):
            pair = _sampled(GaussianShift(mu_squared), rate) if mu_squared else None
            loss = _of_pair(pair)
        case PLD(()):
            loss, pair = part.loss, None
        case PLD(((only, 1),)):
            pair = _sampled(only, rate)
            loss = _of_pair(pair)
        case PLD():
            raise PublicParameterError(
                "a product of several pairs on one sample is no product of sampled pairs: sample each answer afresh, "
                "or convert the product to (ε, δ) first"
            )
        case ZCDP() if part.pair is not None:
            pair = _sampled(part.pair, rate)
            loss = _of_pair(pair)
        case ZCDP() | ApproxZCDP() | Renyi():
            raise _no_rho()
        case _:
            assert_never(part.loss)
    by = POISSON_PAIR if isinstance(loss, PLD) else POISSON
    return Guarantee(loss, part.adjacency, by, (part,), (("rate", show(rate)),), label or part.label, pair=pair)


def without_replacement(part: Guarantee, size: int, people: int, *, label: str = "") -> Guarantee:
    """The loss of ``part`` on ``size`` of ``people`` units, every subset equally likely and unseen.

    Parameters
    ----------
    part : Guarantee
        Of the mechanism on the sample, under substitution of one unit: pure or approximate.
    size, people : int
        1 <= ``size`` < ``people``, both public.
    label : str
        Name of the node in the proof.

    Returns
    -------
    Guarantee

    Raises
    ------
    PublicParameterError
        Under add/remove: a unit more pushes another out of a sample of fixed size, so the sample changes by two
        steps. For zCDP, Renyi, Gaussian and pair losses.
    """
    for name, number in (("size", size), ("people", people)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise PublicParameterError(f"{name} must be an integer >= 1, got {number}")
    if size >= people:
        raise PublicParameterError(f"a sample is smaller than the {people} it is drawn from, got {size}")
    if part.adjacency.kind != "substitute":
        raise PublicParameterError(
            "a sample of fixed size is proved for substitution with public n: under add/remove a unit more pushes "
            "another one out, and the sample changes twice. Toss a coin per unit instead."
        )
    share = Fraction(size, people)
    loss: Loss
    match part.loss:
        case PureDP(epsilon):
            loss = PureDP(_mixed(epsilon, share))
        case ApproxDP(epsilon, delta):
            loss = ApproxDP(_mixed(epsilon, share), round_up(share * delta))
        case GaussianDP() | PLD():
            raise PublicParameterError("convert to (ε, δ) at a named δ first: no pair is proved for a fixed size")
        case ZCDP() | ApproxZCDP() | Renyi():
            raise _no_rho()
        case _:
            assert_never(part.loss)
    fields = (("people", str(people)), ("size", str(size)))
    return Guarantee(loss, part.adjacency, WITHOUT_REPLACEMENT, (part,), fields, label or part.label)


def shuffled(
    part: Guarantee, *, people: int, delta: Fraction, shuffler: str, neighbours: Adjacency, label: str = ""
) -> Guarantee:
    """The central loss of ``people`` answers by one local randomizer when only their counts are seen.

    Parameters
    ----------
    part : Guarantee
        Of the randomizer: pure, local, the same for everybody.
    people : int
        Public number of those whose answers are counted *together*: a subgroup shown by itself has its own.
    delta : Fraction
        In (0, 1).
    shuffler : str
        Who is trusted to drop the order and the senders; non-empty.
    neighbours : Adjacency
        Substitution, one answer per person.
    label : str
        Name of the node in the proof.

    Returns
    -------
    Guarantee
        The least of the clones (4 digits), the closed form where it is proved, and eps0 itself; ``by`` says which.

    Raises
    ------
    PublicParameterError
        Where a condition fails; eps0 <= ln(people / (16 ln(2 / delta))) is the last one.
    """
    if not isinstance(shuffler, str) or not shuffler.strip():
        raise PublicParameterError("name the shuffler: whom must one trust to drop order and senders?")
    if part.adjacency.kind != "local" or not isinstance(part.loss, PureDP):
        raise PublicParameterError("shuffling amplifies a randomizer that is purely ε-private in the local model")
    if neighbours.kind != "substitute":
        raise PublicParameterError("shuffling is proved for substitution: the number of people is public")
    if neighbours.rows != 1 or neighbours.unit != "person":
        raise PublicParameterError("shuffling is proved for one answer per person")
    if isinstance(people, bool) or not isinstance(people, int) or people < 2:
        raise PublicParameterError(f"people must be an integer >= 2, got {people}")
    if not 0 < exact(delta, "delta") < 1:
        raise PublicParameterError(f"delta must lie strictly between 0 and 1, got {show(delta)}")
    local = part.loss.epsilon
    if local > WIDEST_LOCAL or 16 * exp_up(local) * log_up(2 / delta) > people:
        raise PublicParameterError(
            f"too few people to hide among, got {people}: shuffling is for eps0 <= ln(n / (16 ln(2/delta)))"
        )
    ratio = ratio_of(local)
    chance = 2 / (ratio + 1) if part.by.name in TWO_VALUED else 1 / ratio
    views = [(least_epsilon(local, min(people, CROWD), delta, chance), CLONES)] if local else [(local, UNSHUFFLED)]
    if 16 * exp_up(local) * log_up(4 / delta) <= people:
        views.append((closed_form(local, people, delta), CLOSED))
    epsilon, by = min(views, key=lambda view: view[0])
    fields = (("delta", show(delta)), ("people", str(people)), ("shuffler", shuffler))
    if epsilon >= local:
        return Guarantee(part.loss, neighbours, UNSHUFFLED, (part,), fields, label or part.label)
    return Guarantee(ApproxDP(epsilon, delta), neighbours, by, (part,), fields, label or part.label)


def closed_form(epsilon: Fraction, people: int, delta: Fraction) -> Fraction:
    """Theorem 3.1 of Feldman, McMillan and Talwar, rounded up; where it holds is for the caller to know.

    Parameters
    ----------
    epsilon : Fraction
        The epsilon of the randomizer.
    people : int
        Public number of answers.
    delta : Fraction
        In (0, 1).

    Returns
    -------
    Fraction
    """
    grown = exp_up(epsilon)
    spread = 8 * sqrt_up(grown * log_up(4 / delta) / people) + 8 * grown / people
    return round_up(log_up(1 + (grown - 1) / (grown + 1) * spread))


def again(tree: Guarantee) -> Guarantee:
    """A stored node of this file's theorems, made again from its parts and parameters.

    Raises
    ------
    CheckError
        For another theorem, or a node that cannot have been made so.
    """
    try:
        made = _made(tree)
    except (PublicParameterError, ValueError):
        raise CheckError(f"'{tree.label or tree.by.name}' does not follow from its parts") from None
    if (made.by.name, made.adjacency, made.parameters) != (tree.by.name, tree.adjacency, tree.parameters):
        raise CheckError(f"'{tree.label or tree.by.name}' does not follow from its parts")
    return made


def _made(tree: Guarantee) -> Guarantee:
    (part,) = tree.parts
    match tree.by.name:
        case POISSON.name | POISSON_PAIR.name:
            return poisson(part, read(tree.parameter("rate"), "rate"), label=tree.label)
        case WITHOUT_REPLACEMENT.name:
            size, people = int(tree.parameter("size")), int(tree.parameter("people"))
            return without_replacement(part, size, people, label=tree.label)
        case CLONES.name | CLOSED.name | UNSHUFFLED.name:
            return shuffled(
                part,
                people=int(tree.parameter("people")),
                delta=read(tree.parameter("delta"), "delta"),
                shuffler=tree.parameter("shuffler"),
                neighbours=tree.adjacency,
                label=tree.label,
            )
        case other:
            raise PublicParameterError(f"'{other}' is no theorem of amplification")


def _mixed(epsilon: Fraction, share: Fraction) -> Fraction:
    """At or above ln(1 + share (e^epsilon - 1)), and never above epsilon."""
    if epsilon > WIDEST:
        return epsilon
    return min(epsilon, round_up(log_up(1 + share * (exp_up(epsilon) - 1))))


def _coin(epsilon: Fraction, delta: Fraction) -> Pair | None:
    return Coin(epsilon, delta) if epsilon or delta else None


def _sampled(pair: Pair | None, rate: Fraction) -> Pair | None:
    """The pair behind one more sampling step: a sample of a sample is a sample at the product of the rates."""
    if pair is None:
        return None
    return SampledPair(pair.pair, pair.rate * rate) if isinstance(pair, SampledPair) else SampledPair(pair, rate)


def _of_pair(pair: Pair | None) -> PLD:
    return pld_of([] if pair is None else [(pair, 1)])


def _no_rho() -> PublicParameterError:
    return PublicParameterError(
        "no amplification is proved here in ρ or Rényi terms: name delta=, at which the loss is converted to (ε, δ) "
        "before it is amplified, or use noise with a dominating pair, such as Gaussian noise of sensitivity 1"
    )
