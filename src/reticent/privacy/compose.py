"""Combinators: the only way, besides an axiom beside its mechanism, to come by a guarantee.

    in_sequence   the parts all look at the same rows, each may depend on the answers before it: losses add
    concurrent    the parts are conversations, asked in any order, each question after any answers: losses add
    across        each row (or person) is in at most one part of a partition fixed without the data
    one_of        one of the parts is run, named by what is public by then: the maximum, in every view
    grouped       from one row to the k rows of a person, or from one person to k persons
    processed     anything computed from an answer alone
    capped        from persons with the rows that are kept to persons with as many as they may have

``rederive`` computes the loss of a stored tree again from its leaves and the theorems named at its nodes.

Sources: 001 (composition, group privacy, post-processing), 003 Theorem 27, 004 Theorems 1.3 and 1.4. Deviations: 004
states composition for independent mechanisms and post-processing for deterministic maps. Both hold for adaptive choice
and randomised maps, which a ledger needs. 001 states group privacy for delta = 0 only; for delta > 0 it is (k eps,
delta (e^{k eps} - 1) / (e^eps - 1)), not (k eps, k delta).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, assert_never

from reticent.errors import PublicParameterError
from reticent.privacy import convert
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import as_pld, as_renyi, as_zcdp, pld_view, renyi_of, zcdp_of
from reticent.privacy.guarantee import Guarantee, Theorem
from reticent.privacy.loss import PLD, ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Loss, PureDP, Renyi, pld_of

if TYPE_CHECKING:
    from reticent.privacy.cost import Cost

SEQUENCE: Final = Theorem(
    "in_sequence",
    "in sequence, chosen adaptively: losses add",
    "001; Dwork and Lei 2009, Theorem 27; Bun and Steinke 2016; Mironov 2017; Dong, Roth and Su 2022; Zhu et al. 2022",
)
CONCURRENT: Final = Theorem(
    "concurrent",
    "conversations asked in any order: losses add as in sequence",
    "Vadhan and Wang 2021 (pure); Lyu 2022 (approximate, Renyi); Vadhan and Zhang 2023 (trade-offs)",
)
ACROSS: Final = Theorem(
    "across",
    "parts of a data-independent partition, each proved under add/remove: the dearest part",
    "McSherry 2009, Theorem 4",
)
GROUP: Final = Theorem(
    "grouped",
    "k steps apart: k epsilon, delta (e^{k epsilon} - 1) / (e^epsilon - 1); k^2 rho; k mu; Renyi by the triangle",
    "001 (delta = 0); Bun and Steinke 2016, Prop. 1.9; Dong, Roth and Su 2022, Theorem 3; Mironov 2017, Prop. 11",
)
PROCESSED: Final = Theorem("processed", "any randomised map of an answer costs nothing", "001; 004 Theorem 1.4")
ONE_OF: Final = Theorem(
    "one_of",
    "one of these is run, named by what is public or was paid for before: the maximum in every view",
    "definition; docs/proofs/composition.md, section One of several",
)
CAPPED: Final = Theorem(
    "capped",
    "at most so many rows of each person are kept before anything is computed: neighbours stay neighbours",
    "definition; docs/proofs/caps.md",
)
PUBLIC: Final = Theorem("public", "the same for all neighbours: no loss", "definition of the adjacency")


def in_sequence(parts: Sequence[Guarantee], *, label: str = "") -> Guarantee:
    """All ``parts`` about the same neighbours: epsilons and deltas add, or rhos where one part is in zCDP."""
    if not parts:
        raise PublicParameterError("a sequence needs at least one part")
    adjacency = parts[0].adjacency
    for part in parts:
        if part.adjacency != adjacency:
            raise PublicParameterError(
                f"parts speak of different neighbours: {adjacency.words()} and {part.adjacency.words()}"
            )
    if len(parts) == 1:
        return replace(parts[0], label=label or parts[0].label)
    return Guarantee(_sum([part.loss for part in parts]), adjacency, SEQUENCE, tuple(parts), label=label)


def concurrent(parts: Sequence[Guarantee], *, label: str = "") -> Guarantee:
    """Conversations that may be interleaved: each question may depend on what all of them have answered so far.

    Each part covers its whole conversation, whatever is asked in it, and its loss was fixed before the first question.

    Raises
    ------
    PublicParameterError
        For approximate zCDP, for which no such theorem is known to us: convert it to (epsilon, delta) first.
    """
    if any(isinstance(part.loss, ApproxZCDP) for part in parts):
        raise PublicParameterError(
            "no theorem covers interleaved conversations in approximate zCDP; convert each part to (ε, δ) at a named δ"
        )
    whole = in_sequence(parts, label=label)
    if isinstance(whole.loss, ApproxZCDP):
        raise PublicParameterError("interleaved conversations with δ > 0 and in ρ have no common theorem; name a δ")
    return whole if len(parts) == 1 else replace(whole, by=CONCURRENT)


def across(parts: Sequence[Guarantee], *, neighbours: Adjacency, label: str = "") -> Guarantee:
    """Parts of a partition that was fixed without looking: each unit is in at most one part.

    Every part must be proved under add/remove with its size private: the dearest part is the cost. ``neighbours`` is
    the adjacency of the whole. A substitution is a removal and an addition: two steps, possibly inside one part. Its
    cost there is the group loss of two. (McSherry's theorem is often quoted as the sum of the two dearest parts. That
    forgets the person who stays in a part; docs/proofs/composition.md has the counter-example.)

    Parameters
    ----------
    parts : sequence of Guarantee
        One of each part, at least one.
    neighbours : Adjacency
        Those of the whole.
    label : str
        Name of the node in the proof.

    Returns
    -------
    Guarantee

    Raises
    ------
    PublicParameterError
        For a part proved only under substitution: moving a row between parts changes both their sizes.
    """
    if not parts:
        raise PublicParameterError("a partition needs at least one part")
    steps = Adjacency("add_remove", neighbours.rows, neighbours.unit)
    for part in parts:
        if part.adjacency.kind != "add_remove":
            raise PublicParameterError(
                "a part proved only for substitution with public n cannot be used in a partition"
            )
        if part.adjacency != steps:
            raise PublicParameterError("parts speak of another unit than the whole")
    whole = Guarantee(_largest([part.loss for part in parts]), steps, ACROSS, tuple(parts), label=label)
    match neighbours.kind:
        case "add_remove":
            return whole
        case "substitute":
            return grouped(whole, 2, neighbours=neighbours, label=label)
        case "local":
            raise PublicParameterError("the local model has no partition of a table")
        case _:
            assert_never(neighbours.kind)


def one_of(parts: Sequence[Guarantee], *, label: str = "") -> Guarantee:
    """One of ``parts`` is run on the rows, and which one is known without them by the time it runs.

    The condition: the choice follows from public facts and from answers that other parts of the whole pay for. Examples
    are a private choice, a noisy n and an earlier noisy number. The caller sees to it; no part pays for the choice
    itself.

    Parameters
    ----------
    parts : sequence of Guarantee
        Every plan that may be run, about the same neighbours. Those that differ in their labels alone stand once.
    label : str

    Returns
    -------
    Guarantee
        The maximum of the losses, in every view that is taken of them (``in_zcdp``, ``in_renyi``, ``in_pld``): the part
        with the largest epsilon need not have the largest rho. Of several pairs, the result has the one that dominates
        all, or ``Highest`` if their profiles may cross. If that has no law, it has the coin of the largest epsilon and
        delta. A node even for a single part, so that a proof shows that several plans were counted.

    Raises
    ------
    PublicParameterError
        For no part, for parts about different neighbours, and for losses that no common view bounds.
    """
    if not parts:
        raise PublicParameterError("one of no parts cannot be run")
    for part in parts:
        if part.adjacency != parts[0].adjacency:
            raise PublicParameterError(
                f"parts speak of different neighbours: {parts[0].adjacency.words()} and {part.adjacency.words()}"
            )
    apart = tuple({_unlabelled(part): part for part in reversed(parts)}.values())[::-1]
    return Guarantee(_largest([part.loss for part in apart]), parts[0].adjacency, ONE_OF, apart, label=label)


def _unlabelled(part: Guarantee) -> Guarantee:
    return replace(part, label="", parts=tuple(map(_unlabelled, part.parts)))


def grouped(part: Guarantee, size: int, *, neighbours: Adjacency, label: str = "") -> Guarantee:
    """Lift ``part`` to ``neighbours`` that are at most ``size`` >= 1 of its own steps apart.

    Parameters
    ----------
    part : Guarantee
        The guarantee to lift.
    size : int
        Steps, >= 1.
    neighbours : Adjacency
        Those of the whole.
    label : str
        Name of the node in the proof.

    Returns
    -------
    Guarantee

    Raises
    ------
    PublicParameterError
        For a size below 1 and in the local model.
    """
    if size < 1:
        raise PublicParameterError(f"a group has at least one member, got {size}")
    if "local" in (part.adjacency.kind, neighbours.kind) and part.adjacency != neighbours:
        raise PublicParameterError("the local model has one respondent: nothing is lifted to it or from it")
    return Guarantee(
        convert.group_loss(part.loss, size),
        neighbours,
        GROUP,
        (part,),
        (("size", str(size)),),
        label or part.label,
    )


def of_person(part: Guarantee, person: Adjacency, *, rows: int, label: str = "") -> Guarantee:
    """Lift a guarantee about one row (add/remove) to a person with at most ``rows`` of those rows.

    Adding or removing a person adds or removes at most ``rows`` rows; replacing one does both.

    Parameters
    ----------
    part : Guarantee
        About adding or removing one row.
    person : Adjacency
        Neighbours that differ in one person.
    rows : int
        Most rows of a person, >= 1.
    label : str
        Name of the node in the proof.

    Returns
    -------
    Guarantee

    Raises
    ------
    PublicParameterError
        For a part about other neighbours.
    """
    if part.adjacency != Adjacency("add_remove", unit="row"):
        raise PublicParameterError("only a guarantee about adding or removing one row is lifted to a person")
    return grouped(part, rows * (2 if person.kind == "substitute" else 1), neighbours=person, label=label)


def processed(part: Guarantee, *, label: str) -> Guarantee:
    """Post-processing: the same loss, under another label."""
    return Guarantee(part.loss, part.adjacency, PROCESSED, (part,), label=label)


def capped(part: Guarantee, *, neighbours: Adjacency, label: str = "") -> Guarantee:
    """Lift ``part`` to persons with more rows, of whom it is given at most ``part.adjacency.rows`` each.

    Rows are kept inside each person, so tables that differ in one person still do so afterwards: the same loss.

    Parameters
    ----------
    part : Guarantee
        About persons with at most as many rows as are kept.
    neighbours : Adjacency
        Those of the whole: of the same kind, with at least as many rows of a person.
    label : str

    Returns
    -------
    Guarantee

    Raises
    ------
    PublicParameterError
        For neighbours of another kind, or with fewer rows.
    """
    near = part.adjacency
    if (near.kind, near.unit) != (neighbours.kind, "person") or neighbours.unit != "person":
        raise PublicParameterError("a cap on rows keeps the kind of neighbours, which differ in one person")
    if near.rows > neighbours.rows:
        raise PublicParameterError(f"of at most {neighbours.rows} rows of a person no {near.rows} can be kept")
    return Guarantee(part.loss, neighbours, CAPPED, (part,), label=label or part.label)


def in_zcdp(tree: Guarantee) -> Guarantee:
    """The zCDP view of a tree, converted part by part: rhos of parts add up to less than the rho of their sum."""
    return _viewed(tree, as_zcdp)


def together(parts: Sequence[Guarantee], within: Cost, currency: str) -> Guarantee:
    """The guarantee of all parts in the currency of the charge.

    Parameters
    ----------
    parts : sequence of Guarantee
        Guarantees of the steps.
    within : Cost
        Total of the release.
    currency : str
        Currency of the ledger.

    Returns
    -------
    Guarantee
        Guarantee in that currency.

    Raises
    ------
    PublicParameterError
        rho for a budget in (epsilon, delta) without a delta.
    """
    zcdp = within.rho is not None or currency == "zcdp"
    whole = in_sequence([in_zcdp(part) for part in parts] if zcdp else parts)
    if isinstance(whole.loss, ZCDP | ApproxZCDP) and currency == "approximate":
        if within.delta is None:
            raise PublicParameterError(
                "A release in ρ enters a ledger in (ε, δ) at a named δ. Say delta=…, such as a tenth of what is left."
            )
        whole = convert.as_approx(whole, within.delta)
    return whole


def in_pld(tree: Guarantee) -> Guarantee:
    """The tree as a product of dominating pairs, each part by the pair of its own mechanism where there is one."""
    return _viewed(tree, as_pld)


def in_renyi(tree: Guarantee, orders: Sequence[Fraction] = convert.ORDERS) -> Guarantee:
    """The Renyi view of a tree at ``orders``, part by part; groups through their pairs where they have one."""

    def view(part: Guarantee) -> Guarantee:
        if part.by.name != GROUP.name:
            return as_renyi(part, orders)
        try:
            return as_renyi(in_pld(part), orders)
        except PublicParameterError:  # no pair: the triangle inequality, which is wider
            return grouped(
                in_renyi(part.parts[0], orders),
                int(part.parameter("size")),
                neighbours=part.adjacency,
                label=part.label,
            )

    return _viewed(tree, view, lifted=view)


def _viewed(
    tree: Guarantee,
    view: Callable[[Guarantee], Guarantee],
    lifted: Callable[[Guarantee], Guarantee] | None = None,
) -> Guarantee:
    """``tree`` with ``view`` taken as far down as its theorems hold there; where one does not, of the node itself."""
    try:
        match tree.by.name:
            case SEQUENCE.name:
                return in_sequence([_viewed(part, view, lifted) for part in tree.parts], label=tree.label)
            case CONCURRENT.name:
                return concurrent([_viewed(part, view, lifted) for part in tree.parts], label=tree.label)
            case ACROSS.name:
                parts = [_viewed(part, view, lifted) for part in tree.parts]
                return across(parts, neighbours=tree.adjacency, label=tree.label)
            case ONE_OF.name:
                return one_of([_viewed(part, view, lifted) for part in tree.parts], label=tree.label)
            case GROUP.name if lifted is not None:
                return lifted(tree)
            case GROUP.name:
                part = _viewed(tree.parts[0], view)
                return grouped(part, int(tree.parameter("size")), neighbours=tree.adjacency, label=tree.label)
            case PROCESSED.name:
                return processed(_viewed(tree.parts[0], view, lifted), label=tree.label)
            case CAPPED.name:
                return capped(_viewed(tree.parts[0], view, lifted), neighbours=tree.adjacency, label=tree.label)
            case name if name in convert.NAMES:
                return _viewed(tree.parts[0], view, lifted)
            case _:
                return view(tree)
    except PublicParameterError:
        return view(tree)


def alike(one: Guarantee, other: Guarantee) -> bool:
    """Tell if two trees cost the same in every currency a ledger has: one loss, and one rho by their own parts."""
    if one == other:
        return True
    if (one.loss, one.adjacency) != (other.loss, other.adjacency):
        return False
    return in_zcdp(one).loss == in_zcdp(other).loss


def check_charged(made: Guarantee, charged: Guarantee) -> None:
    """Refuse to draw what costs otherwise than was charged; no assertion, which an option of Python leaves out.

    Raises
    ------
    PublicParameterError
        The two cost differently in some currency.
    """
    if not alike(made, charged):
        raise PublicParameterError("what is about to be drawn has another price than was charged")


def leaves(tree: Guarantee, known: dict[int, int]) -> int:
    """Number of leaves of a proof; a part that stands in it many times is counted once and multiplied."""
    if id(tree) not in known:
        known[id(tree)] = sum(leaves(part, known) for part in tree.parts) if tree.parts else 1
    return known[id(tree)]


def public(neighbours: Adjacency, *, label: str = "") -> Guarantee:
    """A number that is the same for all neighbours, such as the number of people under substitution: no loss."""
    if not neighbours.size_public:
        raise PublicParameterError("under add/remove no number of the rows is the same for all neighbours")
    return Guarantee(PureDP(Fraction(0)), neighbours, PUBLIC, label=label)


def _sum(losses: Sequence[Loss]) -> Loss:
    return _joined(losses, sum, lambda plds: pld_of([item for loss in plds for item in loss.pairs]))


def _largest(losses: Sequence[Loss]) -> Loss:
    return _joined(losses, max, convert.dearest)


def _joined(
    losses: Sequence[Loss], over: Callable[[list[Fraction]], Fraction | int], products: Callable[[list[PLD]], PLD]
) -> Loss:
    """The losses as one kind, each of its numbers taken ``over`` all of them; products of pairs by ``products``."""
    match _alike(losses):
        case [PLD(), *_] as plds:
            return products([loss for loss in plds if isinstance(loss, PLD)])
        case [Renyi(), *_] as curves:
            return _by_order(curves, over)
        case [GaussianDP(), *_] as shifts:
            return GaussianDP(Fraction(over([loss.mu_squared for loss in shifts if isinstance(loss, GaussianDP)])))
        case alike:
            number, delta = (Fraction(over(list(numbers))) for numbers in zip(*map(_numbers, alike), strict=True))
            if isinstance(alike[0], ZCDP | ApproxZCDP):
                return ZCDP(number) if delta == 0 else ApproxZCDP(number, delta)
            return PureDP(number) if delta == 0 else ApproxDP(number, delta)


def _alike(losses: Sequence[Loss]) -> list[Loss]:
    """The losses as one kind: pairs before Renyi before zCDP before Gaussian before (epsilon, delta)."""
    kinds = {type(loss) for loss in losses if not _free(loss)}
    if PLD in kinds or (GaussianDP in kinds and kinds & {PureDP, ApproxDP} and not kinds & {Renyi, ZCDP, ApproxZCDP}):
        return [pld_view(loss) for loss in losses]
    if Renyi in kinds:
        listed = [set(loss.orders) for loss in losses if isinstance(loss, Renyi)]
        orders = sorted(set.intersection(*listed))
        if not orders:
            raise PublicParameterError("these Rényi curves have no order in common")
        return [renyi_of(loss, orders) for loss in losses]
    if kinds & {ZCDP, ApproxZCDP}:
        return [zcdp_of(loss) for loss in losses]
    if GaussianDP in kinds:
        return [loss if isinstance(loss, GaussianDP) else GaussianDP(Fraction(0)) for loss in losses]
    return [PureDP(Fraction(0)) if _free(loss) else loss for loss in losses]


def _free(loss: Loss) -> bool:
    """Tell if the loss is zero."""
    match loss:
        case PureDP(number) | ZCDP(number) | GaussianDP(number):
            return number == 0
        case ApproxDP(number, delta) | ApproxZCDP(number, delta):
            return number == 0 and delta == 0
        case PLD(pairs):
            return not pairs
        case Renyi():
            return False
        case _:
            assert_never(loss)


def _numbers(loss: Loss) -> tuple[Fraction, Fraction]:
    match loss:
        case PureDP(number) | ZCDP(number):
            return number, Fraction(0)
        case ApproxDP(number, delta) | ApproxZCDP(number, delta):
            return number, delta
        case GaussianDP() | Renyi() | PLD():
            raise AssertionError("kinds are made alike first")
        case _:
            assert_never(loss)


def _by_order(curves: Sequence[Loss], joined: Callable[[list[Fraction]], Fraction | int]) -> Renyi:
    at = [dict(loss.curve) for loss in curves if isinstance(loss, Renyi)]
    return Renyi(tuple((order, Fraction(joined([curve[order] for curve in at]))) for order in at[0]))
