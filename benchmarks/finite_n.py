"""Replies and errors of the algorithms of 003 against n, the theorem's bound beside, and the two figures of the docs.

    python benchmarks/finite_n.py [--quick]

Normal columns, total epsilon 1 and .1, delta 1e-6 for each test; as printed delta is what the threshold makes it. 20
columns a line, 5 with --quick. The last lines are R_S: slopes of y = 1 + 2 z + e, e normal, by blocks of two rows.
Figures go to docs/_static/finite_*.svg.
"""

from __future__ import annotations

import statistics
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from reticent import lab
from reticent.certificate.render.odds import saved
from reticent.entropy import system
from reticent.errors import PublicParameterError, Refusal
from reticent.lab.finite_curve import Algorithm, picture
from reticent.outcome import Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import words
from reticent.statistics.regression.blocks import Blocks
from reticent.statistics.regression.r_s import ShortCut
from reticent.statistics.regression.rows import rows
from reticent.statistics.robust import scale_ptr as scale
from reticent.statistics.robust.median import scaled_median

NEAR = Adjacency("substitute")
DELTA = Fraction(1, 10**6)
ALGORITHMS: tuple[Algorithm, ...] = ("S", "S as printed", "M", "M as printed", "TM", "smooth median", "default median")
STATIC = Path(__file__).parents[1] / "docs" / "_static"
PLACES = 20


def columns(tables: int) -> None:
    """One table and one figure for each epsilon."""
    for epsilon in ("1", "0.1"):
        found = []
        for algorithm in ALGORITHMS:
            start = time.process_time()
            try:
                curve = lab.finite(algorithm, epsilon=epsilon, tables=tables)
            except PublicParameterError as refused:
                print(f"{algorithm:16}ε {epsilon:4}{refused}")
                continue
            found.append(curve)
            print(
                f"{algorithm}, ε {epsilon}, {words(curve.guarantee.loss)}, {time.process_time() - start:.0f} s of CPU"
            )
            for one in curve.at:
                error = "no reply" if one.error is None else f"{one.error:.3g}"
                print(f"  n {one.n:>7,}  P(reply) {one.reply:.4f}  bound {1 - one.printed:.4f}  error ratio {error}")
        drawn = picture(found, title=f"Normal columns, ε {epsilon} in all")
        saved(drawn, STATIC / f"finite_{epsilon.replace('.', '_')}.svg", "finite")


def factors() -> None:
    """7(d) as a joint statement: P(reply and within n^alpha), alpha 1/4."""
    print(f"\n{'Theorem 7(d), S as printed, α 1/4':40}{'P(within | reply)':>18}{'joint':>9}{'printed bound':>15}")
    for epsilon in (Fraction(1, 10), Fraction(1, 2), Fraction(1)):
        for n in (1_000, 10_000, 100_000):
            made = scale.scale(n, NEAR, test=epsilon, release=epsilon, mode="paper", most_delta=Fraction(10**6))
            reply = next(iter(lab.finite("S as printed", epsilon=2 * epsilon, sizes=(n,), tables=20).at)).reply
            bound = lab.factor_bound(made, n, 0.25, reply)
            found = f"{bound.within:>18.4f}{bound.joint:>9.4f}{bound.printed:>15.4f}"
            print(f"n {n:>7,}, ε of a step {float(epsilon):<18g}{found}")


def slopes(runs: int) -> None:
    """R_S at a total of 1 for both coefficients."""
    one, coins = Fraction(1), system()
    for n in (3_000, 10_000, 30_000):
        blocks = Blocks(n // 2, (0, 0), NEAR)
        try:
            middle = scaled_median(n // 2, NEAR, scale_test=one / 16, test=one / 8, release=one / 4, delta=DELTA)
        except Refusal:
            print(f"R_S, n {n:,}, ε 1: refused, n is too small")
            continue
        short, rng, errors, usual = ShortCut(blocks, middle), np.random.default_rng(7), [], []
        for _ in range(runs):
            z, e = rng.normal(size=n), rng.normal(size=n)
            x = np.column_stack([np.full(n, 1 << 10), np.rint(z * (1 << 10))]).astype(np.int64)
            y = np.rint((1 + 2 * z + e) * (1 << 10)).astype(np.int64)
            usual.append(abs(float(np.polyfit(z, 1 + 2 * z + e, 1)[0]) - 2))
            match short.sample(rows(y, x, places=PLACES), coins):
                case Reply(value):
                    errors.append(abs(float(value[1].value) / 2**PLACES - 2))
        ratio = f"{statistics.median(errors) / statistics.median(usual):.3g}" if errors else "no reply"
        loss = words(short.guarantee.loss)
        print(f"R_S, n {n:,}, {loss}: replies {len(errors)}/{runs}, error over least squares' {ratio}")


def main() -> None:
    """Measure, print, draw."""
    quick = "--quick" in sys.argv
    STATIC.mkdir(exist_ok=True)
    columns(5 if quick else 20)
    print(f"conditions of the proofs hold from n {lab.least_n('7(c)'):.2g} (7c), {lab.least_n('12(c)'):.2g} (12c)")
    factors()
    slopes(5 if quick else 20)


if __name__ == "__main__":
    main()
