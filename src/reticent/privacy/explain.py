"""What a guarantee means, in words and odds.

Odds statement. Whatever someone believed, with odds o, about one person, after seeing everything the guarantee
covers the odds lie between o e^-eps and o e^eps, apart from a failure chance delta. It holds if what is believed
about the others does not depend on that person; with m people whose records go together the factor is e^{m eps}.

Source: 002 section 3 (posterior odds), with the independence condition that section omits (docs/theory/meaning.md).
Under add/remove the statement is about presence, and what a record says is a removal and an addition: twice eps.
Under substitution it is about what a record says; presence is not protected, since the number of people is public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from reticent.errors import PublicParameterError
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.convert import approx_of
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP, Loss, words
from reticent.privacy.numbers import about

VIEW_DELTA = Fraction(1, 10**9)  # the delta at which a zCDP loss is put in words


@dataclass(frozen=True, slots=True)
class Odds:
    """A prior probability and the least and greatest posterior that ``factor`` on the odds allows."""

    prior: float
    factor: float
    low: float
    high: float


def odds(epsilon: Fraction, prior: float, *, times: int = 1) -> Odds:
    """How far a belief of probability ``prior`` in (0, 1) can move at ``times`` x ``epsilon``."""
    if not 0 < prior < 1:
        raise PublicParameterError(f"prior must lie between 0 and 1, got {prior}")
    factor = math.exp(min(times * float(epsilon), 700.0))
    return Odds(prior, factor, prior / (prior + (1 - prior) * factor), prior * factor / (prior * factor + 1 - prior))


def outline(tree: Guarantee) -> str:
    """The tree as the outline of a proof: each part, its loss, its theorem and the source."""
    head = f"{words(tree.loss)}-DP · neighbours: {tree.adjacency.words()}"
    return "\n".join([head, *_branches(tree, "")])


def _branches(tree: Guarantee, indent: str) -> list[str]:
    lines: list[str] = []
    for part in tree.parts:
        statement = part.by.statement if part.parts else f"{part.by.statement} ({_numbers(part)})"
        lines.append(
            f"{indent} ├ {words(part.loss):<12} {part.label or part.by.name:<28} {statement}   [{part.by.source}]"
        )
        lines += _branches(part, indent + " │")
    if tree.parts:
        lines.append(f"{indent} └ {tree.by.statement}   [{tree.by.source}]")
    return lines


def _numbers(part: Guarantee) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in part.parameters)


def epsilon_delta(loss: Loss) -> tuple[Fraction, Fraction]:
    """The loss as (epsilon, delta); zCDP at delta 1e-9."""
    view = approx_of(loss, VIEW_DELTA)
    return view.epsilon, view.delta if isinstance(view, ApproxDP) else Fraction(0)


def meaning(
    loss: Loss, adjacency: Adjacency, *, prior: float = 0.1, spent: Loss | None = None, budget: Loss | None = None
) -> tuple[str, ...]:
    """The guarantee in sentences, for a person who believed with probability ``prior``."""
    epsilon, delta = epsilon_delta(loss)
    seen = odds(epsilon, prior)
    failure = "" if delta == 0 else f", apart from a failure chance of {chance(delta)}"
    unit = "one person" if adjacency.unit == "person" else "one row"
    rows = "one row each" if adjacency.rows == 1 else f"at most {adjacency.rows} rows each"
    lines = [f"Who is protected: {unit} ({rows})."]
    condition = "(if what they believe about the others does not depend on you)"
    moved = f"From {percent(prior)} to no more than {percent(seen.high)} and no less than {percent(seen.low)}{failure}."
    match adjacency.kind:
        case "add_remove":
            record = odds(2 * epsilon, prior)
            lines += [
                f"What is promised: whatever someone believed about whether you are in the file {condition}, "
                f"everything in this release lets them change the odds by a factor of at most {seen.factor:.3g}. "
                f"{moved}",
                f"Against a guess about your answer rather than your presence: factor {record.factor:.3g}; "
                f"{percent(prior)} to at most {percent(record.high)}.",
            ]
        case "substitute":
            lines += [
                f"What is promised: whatever someone believed about what your record says {condition}, everything in "
                f"this release lets them change the odds by a factor of at most {seen.factor:.3g}. {moved}",
                "Whether you are in the file is not hidden: the number of people is public.",
            ]
        case "local":
            lines += [
                f"What is promised: whatever someone believed about your truth, your answer lets them change the odds "
                f"by a factor of at most {seen.factor:.3g}. {moved}"
            ]
        case _:
            assert_never(adjacency.kind)
    three = odds(epsilon, prior, times=3).factor
    family = f"A family of three, or three people whose records go together: factor {three:.3g}."
    so_far = f" With everything this study has released so far ({words(spent)}): {_factor(spent)}." if spent else ""
    in_all = f" If all of {words(budget)} is spent: {_factor(budget)}." if budget else ""
    lines.append(family + so_far + in_all)
    lines.append(
        "What is not promised: that nothing can be learned about people like you. If the study finds smokers fall ill, "
        "that holds with or without you."
    )
    return tuple(lines)


def sentence(loss: Loss, adjacency: Adjacency, prior: float = 0.1) -> str:
    """One line for the end of a release: the loss, the neighbours and the odds."""
    epsilon, delta = epsilon_delta(loss)
    seen = odds(epsilon, prior)
    believed = "that you took part" if adjacency.kind == "add_remove" else "about your record"
    failure = "" if delta == 0 else f" (apart from a failure chance of {chance(delta)})"
    return (
        f"{words(loss)}, {adjacency.words()}. Someone who thought it {one_in(prior)} {believed} could end between "
        f"{one_in(seen.low)} and {one_in(seen.high)}{failure}."
    )


def _factor(loss: Loss) -> str:
    return f"{odds(epsilon_delta(loss)[0], 0.5).factor:.3g}"


def percent(probability: float) -> str:
    """``23 %``; two significant digits below one percent."""
    share = 100 * probability
    return f"{share:.0f} %" if 1 <= share <= 99 else f"{share:.2g} %"


def one_in(probability: float) -> str:
    """``1 in 4.3``; a percentage where it is more likely than not."""
    if probability > 0.5:
        share = 100 * probability
        return (
            f"{share:.0f} %"
            if share <= 99
            else f"{math.floor(share * 100) / 100:g} %"
            if share < 99.99
            else "near certain"
        )
    return f"1 in {1 / probability:.2g}" if probability > 0.01 else f"1 in {round(1 / probability):,}"


def chance(delta: Fraction) -> str:
    """``1 in a billion`` where it is one, else ``1 in 2e+08``."""
    names = {3: "thousand", 6: "million", 9: "billion", 12: "trillion"}
    for power, name in names.items():
        if delta == Fraction(1, 10**power):
            return f"1 in a {name}"
    return f"1 in {about(1 / delta, 2)}"
