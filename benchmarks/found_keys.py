"""Keys that are found for persons with many keys: the rule in use beside weights and Gaussian noise, on Zipf data.

    python benchmarks/found_keys.py [--seeds 10]

Each person draws keys of a Zipf law, up to ``most`` different ones. Every rule has the same epsilon and delta for the
list alone, under add/remove, and counts a person in at most ``most`` keys. Figures are mean numbers of listed keys.

* single: the best rule for one key (Desfontaines et al. 2022) at epsilon / most and delta / most, in sequence;
* uniform: weight 1 / sqrt(keys of the person), normal noise and a threshold (Gopi et al. 2020), by the mechanism;
* adaptive: of the first 1 / keys of each weight, what lies beyond the threshold and two deviations goes back to the
  persons of that key, who give BACK of it to all their keys in equal parts: the idea of Chen et al. 2025, one round,
  independent of order, with the proof in docs/reference/benchmarks-caps.md.

Of the first two the mechanisms' own probabilities are added. Weights and noise of the third are floats: this measures
a rule, and releases nothing.
"""

from __future__ import annotations

import argparse
import math
from fractions import Fraction

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from reticent.mechanisms.key_listing import best_listing
from reticent.mechanisms.key_selection import key_list
from reticent.mechanisms.weighted_selection import UNIT, weight_of, weighted_list
from reticent.privacy.adjacency import Adjacency

Reals = NDArray[np.float64]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]  # persons and keys
VOCABULARY, PEOPLE, DELTA = 100_000, 20_000, 1e-6
BACK = math.sqrt(2) - 1  # the largest share for which an L2 change stays 1, for persons with up to 33 keys
NEAR = Adjacency("add_remove")


def zipf(power: float, most: int, rng: np.random.Generator) -> Pairs:
    """Different keys of each person: one to ``most`` draws of a Zipf law of a public power."""
    chances = np.arange(1, VOCABULARY + 1) ** -power
    steps = np.cumsum(chances / chances.sum())
    draws = rng.integers(1, most + 1, PEOPLE)
    persons = np.repeat(np.arange(PEOPLE), draws)
    keys = np.minimum(np.searchsorted(steps, rng.random(len(persons))), VOCABULARY - 1)
    both = np.unique(np.stack([persons, keys], axis=1), axis=0)
    return both[:, 0], both[:, 1]


def loss(epsilon: float) -> tuple[Fraction, Fraction]:
    return Fraction(str(epsilon)), Fraction(str(DELTA))


def deviation(epsilon: float, delta: float) -> float:
    """The deviation of Gaussian noise for an L2 change of 1 (Balle and Wang 2018)."""
    low, high = 1e-3, 1e6
    normal = scipy.stats.norm.cdf
    for _ in range(200):
        middle = math.sqrt(low * high)
        a, b = 1 / (2 * middle), epsilon * middle
        low, high = (middle, high) if normal(a - b) - math.exp(epsilon) * normal(-a - b) > delta else (low, middle)
    return high


def bar(sigma: float, most: int, largest: list[float]) -> float:
    """The threshold: ``most`` new keys of one person pass together with probability DELTA / 2 at most.

    ``largest`` has the largest weight that each of 1, 2, ... new keys of a person can have.
    """
    each = [-scipy.stats.norm.isf(-math.expm1(math.log1p(-DELTA / 2) / many)) for many in range(1, most + 1)]
    return float(max(weight - sigma * score for weight, score in zip(largest, each, strict=True)))


def single(pairs: Pairs, epsilon: float, most: int) -> float:
    held = np.bincount(pairs[1], minlength=VOCABULARY)
    selection = key_list(NEAR, *loss(epsilon), groups=most)
    sizes, many = np.unique(held, return_counts=True)
    return float(sum(float(selection.chance(int(n))) * m for n, m in zip(sizes, many, strict=True) if n))


def uniform(pairs: Pairs, epsilon: float, most: int) -> float:
    made = weighted_list(NEAR, *loss(epsilon), groups=most)
    weights = np.array([0, *(weight_of(many) for many in range(1, most + 1))])
    total = np.bincount(pairs[1], weights[np.bincount(pairs[0])[pairs[0]]], minlength=VOCABULARY)
    scores = (made.threshold - total[total > 0]) / (float(made.deviation) * UNIT)
    return float(scipy.stats.norm.sf(scores).sum())


def adaptive(pairs: Pairs, sigma: float, most: int) -> tuple[Reals, float]:
    persons, keys = pairs
    degree = np.bincount(persons)[persons].astype(float)
    largest = [
        max(1 / math.sqrt(held) + BACK * (held - new) / held**2 for held in range(new, most + 1))
        for new in range(1, most + 1)
    ]
    threshold = bar(sigma, most, largest)
    enough = threshold + 2 * sigma
    first = np.bincount(keys, 1 / degree, minlength=VOCABULARY)
    over = np.maximum(first - enough, 0) / np.maximum(first, 1e-300)  # the share that each weight gets back
    back = np.bincount(persons, over[keys] / degree)[persons]
    given = np.bincount(keys, BACK * back / degree, minlength=VOCABULARY)
    rest = np.bincount(keys, 1 / np.sqrt(degree) - 1 / degree, minlength=VOCABULARY)
    return np.asarray(np.minimum(first, enough) + given + rest, np.float64), threshold


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    print("| Zipf power | ε | most keys | keys held | single | uniform | adaptive | gain of adaptive | in use |")
    print("|--:" * 8 + "|---|")
    for power in (1.1, 1.5):
        for epsilon in (0.5, 2.0):
            sigma = deviation(epsilon, DELTA / 2)
            for most in (1, 3, 10, 30):
                found = []
                for seed in range(seeds):
                    rng = np.random.default_rng(seed)
                    pairs = zipf(power, most, rng)
                    weights, threshold = adaptive(pairs, sigma, most)
                    moved = float(scipy.stats.norm.sf((threshold - weights[weights > 0]) / sigma).sum())
                    held = float(len(np.unique(pairs[1])))
                    found.append([held, single(pairs, epsilon, most), uniform(pairs, epsilon, most), moved])
                held, used, plain, moved = np.mean(found, axis=0)
                built = "uniform" if best_listing(NEAR, *loss(epsilon), groups=most).is_weighted else "single"
                numbers = (f"{x:,.1f}" for x in (used, plain, moved))
                cells = [f"{held:,.0f}", *numbers, f"{moved / plain - 1:+.1%}", built]
                print("| " + " | ".join([f"{power:g}", f"{epsilon:g}", str(most), *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
