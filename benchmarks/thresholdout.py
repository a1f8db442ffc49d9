"""Thresholdout beside a holdout that is simply used again, on labels that are noise.

    python benchmarks/thresholdout.py [--runs 8] [--features 2000]

One run (Dwork et al. 2015, section 4, with signs for features): n training and n holdout rows of random signs and
random labels, so that every model's true accuracy is 1/2. The analyst asks for the agreement of each feature with the
label, keeps the features on which both parts agree, votes them, and asks for the accuracy of the vote. *naive* answers
from the holdout exactly; *Thresholdout* by the code of a session, sigma .002, T .04, at most 50 rounds (pure epsilon
10), n = 5000, on replayed entropy. Features and labels are NumPy's, seeded by the run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.data.schema import Person, Schema, integer
from reticent.entropy import Replayed
from reticent.learning import Accuracy, Product
from reticent.mechanisms.sparse_vector import Conversation
from reticent.privacy.adjacency import Adjacency
from reticent.sessions import holdout
from reticent.sessions.above_threshold import RowCount
from reticent.sessions.row_functions import STEPS, GridColumn, GridRows, Question, axes_of, contributions, mean_steps

N, ROUNDS, EPSILON, THRESHOLD = 5000, 50, Fraction(10), Fraction(4, 100)
Signs = NDArray[np.int64]


@dataclass
class Session:
    """Rounds one after another; a question beyond the last one is not answered."""

    rows: GridRows
    training: GridRows
    stream: Replayed
    opened: int = 0
    talk: Conversation | None = field(default=None)

    def __call__(self, question: Question) -> float:
        made = holdout.round_of(EPSILON / ROUNDS, Adjacency("substitute"))
        if self.talk is None or self.talk.left == 0:
            if self.opened == ROUNDS:
                raise SystemExit("all rounds are used: the run says nothing")
            self.talk, self.opened = made.start(self.stream), self.opened + 1
        mean, bar = mean_steps(question, self.training), round(THRESHOLD * STEPS)
        return holdout.check(
            self.talk, made, self.rows, question, (mean, "training"), bar, RowCount(N), self.stream
        ).value


def table(axes: dict[str, GridColumn], signs: Signs) -> GridRows:
    return GridRows(axes, {name: signs[:, nth] for nth, name in enumerate(axes)}, len(signs))


def mean(question: Question, rows: GridRows) -> float:
    return float(contributions(question, rows).mean()) / STEPS


def analyst(training: GridRows, ask: Callable[[Question], float], features: list[str]) -> tuple[Accuracy, float]:
    """The model, and the accuracy that was told of it."""
    weights = {}
    for name in features:
        seen, told = (answer - 0.5 for answer in (mean(Product(name, "y"), training), ask(Product(name, "y"))))
        if seen * told > 0 and min(abs(seen), abs(told)) > 0.5 / N**0.5:
            weights[name] = float(np.sign(seen))
    model = Accuracy(weights, "y", cut=0)
    return model, ask(model)


def main() -> int:
    options = argparse.ArgumentParser(description="Thresholdout on labels that are noise.")
    options.add_argument("--runs", type=int, default=8)
    options.add_argument("--features", type=int, default=2000)
    given = options.parse_args()
    features = [f"f{nth}" for nth in range(given.features)]
    shape = Schema({name: integer(-1, 1, missing=0) for name in [*features, "y"]}, Person("substitute"))
    axes, start, told = axes_of(shape, [*features, "y"]), time.perf_counter(), []
    print(f"n {N}, {given.features} features, sigma .002, T .04, {ROUNDS} rounds of epsilon {EPSILON / ROUNDS}")
    print(f"{'run':<5}{'training says':>15}{'naive says':>12}{'Thresholdout says':>19}{'rounds opened':>15}{'ε':>6}")
    for run in range(given.runs):
        draw = np.random.default_rng(run)
        parts = [2 * draw.integers(0, 2, (N, given.features + 1)) - 1 for _ in range(2)]
        training, held = (table(axes, signs) for signs in parts)
        _, naive = analyst(training, lambda question, rows=held: mean(question, rows), features)  # type: ignore[misc]
        session = Session(held, training, Replayed(f"thresholdout {run}"))
        model, guarded = analyst(training, session, features)
        told.append((mean(model, training), naive, guarded))
        spent = float(session.opened * EPSILON / ROUNDS)
        print(f"{run:<5}{told[-1][0]:>15.3f}{naive:>12.3f}{guarded:>19.4f}{session.opened:>15}{spent:>6.1f}")
    means = np.mean(told, axis=0)
    worst = max(abs(guarded - 0.5) for _, _, guarded in told)
    print(f"{'mean':<5}{means[0]:>15.3f}{means[1]:>12.3f}{means[2]:>19.4f}")
    reached = abs(means[2] - 0.5) <= 0.01
    print(
        f"within .01 of .5: {'yes' if reached else 'NO'} (worst run {worst:.4f}); {time.perf_counter() - start:.0f} s"
    )
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
