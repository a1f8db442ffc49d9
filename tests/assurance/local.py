"""The local model, exactly: from the truth on a device to the token that is sent, and many at once.

(1) Every method of a survey draws through ``device.one`` for all truths of a small domain, at a small, a usual and a
large epsilon; all pairs of truths keep the loss that the design states, and hardly less. The one-sided form keeps
(0, truth). (2) The law so enumerated is the one that ``Design.distribution`` states. (3) Many at once: ``sample_many``
of one row has the law ``mass`` for every truth; coins are decided by the digits of their chance and each by bytes of
its own, and orders of equal chance come out of keys without a tie.

In (3) the program runs on words whose low byte repeats their high one: who reads bytes and who reads high bits, and no
part reads both, gets fair ones, and who compares whole words is off by less than 2**-50.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import factorial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reticent import survey
from reticent.entropy import Entropy
from reticent.mechanisms import local_coins
from reticent.mechanisms.hadamard import Hadamard
from reticent.mechanisms.hashing import Hashing
from reticent.mechanisms.kary import KAry
from reticent.mechanisms.local_mean import LocalMean
from reticent.mechanisms.subset_selection import Subset
from reticent.mechanisms.unary_encoding import Unary
from reticent.survey import device
from reticent.survey.design import Design
from reticent.survey.design_record import Truth
from reticent.survey.methods import CHOICES, Choice
from tests.assurance.claims import Line, verify
from tests.assurance.coins import coin_law, planted
from tests.assurance.laws import ONE, Law, form, law_of
from tests.assurance.sampler_enumeration import holds, sampler

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
LEAST: Final = Fraction(1, 1 << 14)  # of strings of words that are followed
COARSE: Final = Fraction(1, 1 << 10)  # unless the report is deep
SLACK: Final = Fraction(1, 1 << 48)  # of words whose low byte is not their own
DEPTH: Final = 6  # digits of a chance in base 256 that are looked at


def lines(*, deep: bool = False) -> Iterator[Line]:
    """Every method from truth to token, between all pairs of truths, and the laws of what is drawn many at a time."""
    for epsilon in ("0.1", "1", "7"):
        for design, truths in _designs(epsilon, 4 if deep else 3):
            yield _kept(f"survey {design.method}, ε {epsilon}", design, truths)
    fixed: list[Design] = [
        survey.two_coins("?"),
        survey.forced("?", truth=THIRD, yes=Fraction(1, 5)),
        survey.unrelated("?", truth=Fraction(7, 10), other_share=Fraction(1, 12)),
        survey.one_sided("?", truth=HALF),
        survey.one_sided("?", truth=Fraction(9, 10)),
    ]
    for design in fixed:
        yield _kept(f"survey {design.method}, {design.settings['truth']}", design, design.among)
    yield _stated(deep)
    yield _coins()
    yield _orders(4 if deep else 3)
    for name, made, truths in _many(deep):
        yield _one_row(name, made, truths, LEAST if deep else COARSE)


def _designs(epsilon: str, k: int) -> Iterator[tuple[Design, Sequence[Truth]]]:
    among = [f"a{place}" for place in range(k)]
    yield survey.warner("?", epsilon=epsilon), ("yes", "no")
    methods: tuple[Choice, ...] = CHOICES
    for method in methods:
        yield survey.choice("?", among, epsilon=epsilon, method=method), among
    between = (0, THIRD, 1, Fraction(3, 2), 3)
    yield survey.mean("?", 0, 3, epsilon=epsilon, method="duchi"), between
    yield _window(epsilon), between


def _window(epsilon: str) -> Design:
    """A scale of few places, as ``survey.mean`` makes of many."""
    limit = Fraction(epsilon)
    return Design("?", "piecewise", (), LocalMean(3, 2, limit), Fraction(0), Fraction(3))


def _kept(name: str, design: Design, truths: Sequence[Truth]) -> Line:
    pairs = list(combinations(range(len(truths)), 2))
    return verify(name, partial(device.one, design), list(truths), pairs, design.guarantee.loss, what="truth to token")


# --- the law that is stated ------------------------------------------------------------------------------------------


def _stated(deep: bool) -> Line:
    found, right = [], True
    for epsilon in ("0.1", "1", "7"):
        for design, truths in _designs(epsilon, 4 if deep else 3):
            for truth in truths:
                law = law_of(partial(device.one, design, truth))
                found.append(law)
                right = right and same(law, device.distribution(design, truth), Fraction(0))
    return sampler("survey tokens", f"one at a time; {len(found)} truths against distribution()", found, right)


def same(law: Law, stated: Mapping[Any, Fraction], slack: Fraction) -> bool:
    """Whether each outcome has the mass stated, within what the law leaves undecided and ``slack``."""
    missing = Fraction(law.residual, ONE) + slack
    known = {form(outcome) for outcome in stated}
    if any(outcome not in known for outcome in law.masses):
        return False
    return all(low - slack <= mass <= high + missing for mass, (low, high) in _beside(law, stated))


def _beside(law: Law, stated: Mapping[Any, Fraction]) -> Iterator[tuple[Fraction, tuple[Fraction, Fraction]]]:
    for outcome, mass in stated.items():
        low, high = law.masses.get(form(outcome), (0, 0))
        yield mass, (Fraction(low, ONE), Fraction(high, ONE))


# --- many at once ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Folded:
    """Words whose low bytes repeat the high byte of a word each; the first gives the high bits, too."""

    source: Entropy
    bytes: int

    def bits(self, count: int) -> int:
        return self.source.bits(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        drawn = self.source.words(count * self.bytes).reshape(count, self.bytes)
        high = drawn >> np.uint64(56)
        out: NDArray[np.uint64] = drawn[:, 0] >> np.uint64(8 * self.bytes) << np.uint64(8 * self.bytes)
        for place in range(self.bytes):
            out |= high[:, place] << np.uint64(8 * place)
        return out


def _many(deep: bool) -> Iterator[tuple[str, Any, range]]:
    epsilons = (Fraction(1), Fraction(1, 10), Fraction(7)) if deep else (Fraction(1),)
    for epsilon in epsilons:
        yield f"kary of 3, ε {epsilon}", KAry(3, epsilon), range(3)
        yield f"optimised unary of 2, ε {epsilon}", Unary(2, epsilon), range(2)
        yield f"hadamard of 3, ε {epsilon}", Hadamard(3, epsilon), range(3)
        yield f"hashing of 3 by 2, ε {epsilon}", Hashing(3, 2, epsilon), range(3)
        yield f"window of 2, ε {epsilon}", LocalMean(2, 2, epsilon), range(3)
        if deep:
            yield f"two points, ε {epsilon}", LocalMean(1, 1, epsilon), range(2)
            yield f"subset of 2, ε {epsilon}", Subset(2, 1, epsilon), range(2)
            yield f"unary of 2, ε {epsilon}", Unary(2, epsilon, "symmetric"), range(2)


def _one_row(name: str, made: Any, truths: range, least: Fraction) -> Line:
    laws = [coin_law(partial(_row, made, truth), least=least) for truth in truths]
    stated = [{heard: made.mass(truth, heard) for heard in range(_most(made))} for truth in truths]
    right = all(same(law, told, SLACK) for law, told in zip(laws, stated, strict=True))
    return sampler(f"many {name}", f"one row, thresholds of 64-bit words; {len(truths)} truths", laws, right)


def _row(made: Any, truth: int, entropy: Entropy) -> int:
    heard = made.sample_many(np.array([truth], np.int64), _Folded(entropy, 2 if isinstance(made, Unary) else 1))
    return int(heard[0]) if heard.ndim == 1 else sum(int(bit) << place for place, bit in enumerate(heard[0]))


def _most(made: Any) -> int:
    match made:
        case KAry():
            return made.size
        case Unary() | Subset():
            return 1 << made.size
        case Hadamard():
            return made.order
        case Hashing():
            return made.functions * made.values
        case _:
            return int(made.places)


# --- the parts of it -------------------------------------------------------------------------------------------------


def _coins() -> Line:
    chances = [Fraction(0), Fraction(1), HALF, THIRD, Fraction(1, 256), Fraction(255, 256), Fraction(999, 1000)]
    chances += [local_coins.ratio_below(Fraction(e)) / (local_coins.ratio_below(Fraction(e)) + 1) for e in (1, 7)]
    right = all(holds(partial(_digits, chance)) for chance in chances) and holds(partial(_apart, THIRD))
    what = f"all bytes, {DEPTH} digits deep; {len(chances)} chances; three coins by bytes of their own"
    return sampler("coins, many at once", what, [], right)


def _digits(chance: Fraction) -> bool:
    """At each digit as many bytes say yes as lie below it, and only the digit itself asks for another byte."""
    if chance.denominator == 1:
        return bool((local_coins.coins(chance, 3, planted([])) == (chance == 1)).all())
    before: list[int] = []
    left = chance
    for _ in range(DEPTH):
        digit = (256 * left).__floor__()
        for byte in range(256):
            if byte == digit:
                continue
            tape = planted([*before, byte])
            if bool(local_coins.coins(chance, 1, tape)[0]) != (byte < digit) or tape.left:
                return False
        left = 256 * left - digit
        if left == 0:
            return not local_coins.coins(chance, 1, planted([*before, digit]))[0]
        before.append(digit)
    return True


def _apart(chance: Fraction) -> bool:
    digit = (256 * chance).__floor__()
    for given in product((0, digit - 1, digit + 1, 255), repeat=3):
        word = sum(byte << 8 * place for place, byte in enumerate(given))
        if local_coins.coins(chance, 3, planted([word])).tolist() != [byte < digit for byte in given]:
            return False
    return True


def _orders(most: int) -> Line:
    right = all(holds(partial(_even, columns)) for columns in range(1, most + 1))
    return sampler("orders, many at once", f"all keys of 2 bits, up to {most} columns, ties drawn again", [], right)


def _even(columns: int) -> bool:
    """Keys without a tie give each order equally often; keys with one ask for other keys, and take those alone."""
    seen: Counter[tuple[int, ...]] = Counter()
    again = [*range(columns)]
    for keys in product(range(4), repeat=columns):
        tied = len(set(keys)) < columns
        tape = planted([*keys, *again] if tied else keys)
        order = tuple(local_coins.orders(1, columns, tape)[0].tolist())
        if tape.left or (tied and order != tuple(again)):
            return False
        if not tied:
            seen[order] += 1
    return len(seen) == factorial(columns) and len(set(seen.values())) == 1
