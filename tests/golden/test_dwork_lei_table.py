"""The page docs/theory/dwork_lei.md: its table of algorithms and its other figures, against the code.

Losses come out of ``.guarantee`` and ``.printed`` at epsilon 1 for each step; deltas are counted in those of one test.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reticent import lab
from reticent.lab.finite_curve import column, finite, make, printed_silence
from reticent.lab.influence import Estimator, Population
from reticent.mechanisms.geometric import Geometric
from reticent.privacy import ptr
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.compose import in_sequence
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP
from reticent.privacy.sensitivity import L1
from reticent.statistics.regression.blocks import Blocks
from reticent.statistics.regression.r_s import ShortCut
from reticent.statistics.regression.robust import robust_regression
from reticent.statistics.robust.median import LAW, OrderStatisticTest, ScaledMedian, level_for, scaled_median
from reticent.statistics.robust.ptr_test import step
from reticent.statistics.robust.scale_ptr import ScalePtr, scale, stable_scale
from reticent.statistics.robust.trimmed_ptr import trimmed_mean

PAGE = (Path(__file__).parents[2] / "docs/theory/dwork_lei.md").read_text("utf-8")
NEAR, ONE, DELTA, N = Adjacency("substitute"), Fraction(1), Fraction(1, 10**6), 10_000
ANY = Fraction(10**6)
P = 2
BLOCKS = Blocks(N, (0,) * P, NEAR)

S = scale(N, NEAR, test=ONE, release=ONE, delta=DELTA)
S_PAPER = scale(N, NEAR, test=ONE, release=ONE, mode="paper", most_delta=ANY)
BIN = stable_scale(N, NEAR, test=ONE, delta=DELTA)
LEVEL = level_for(N, NEAR, test=ONE, release=ONE, delta=DELTA)
LEVEL_PAPER = level_for(N, NEAR, test=ONE, release=ONE, mode="paper", most_delta=ANY)
M_PAPER = ScaledMedian(LEVEL_PAPER, S_PAPER, N)


def in_tests(tree: Guarantee, test: Fraction) -> tuple[Fraction, Fraction]:
    """(epsilon, number of deltas of one test)."""
    assert isinstance(tree.loss, ApproxDP)
    return tree.loss.epsilon, tree.loss.delta / test


def one_level(level: OrderStatisticTest) -> Guarantee:
    """003 Theorem 29 for M with its scale given: one level of two steps."""
    one = step(level.test, level.release, law=LAW)
    return ptr.cascade([[one, one]])


def r_h_as_printed() -> Guarantee:
    """S twice, then the first reply of four tests with noise for 1 in place of 2, and two coordinates at epsilon."""
    last = Geometric(L1(Fraction(2), NEAR), 2 * ONE).guarantee
    margin = ptr.least_margin(Fraction(1), S_PAPER.test.delta)
    each = Geometric(L1(Fraction(1), NEAR), ONE).guarantee
    cell = ptr.measured(last, in_sequence([each] * P), margin=margin, law="solution")
    return ptr.in_stages([ptr.parallel([S_PAPER.guarantee] * P), ptr.first_reply([cell] * 2**P, shown="value")])


def r_h_declared() -> Guarantee:
    one = ptr.declared(ONE, S_PAPER.test.delta, NEAR)
    return ptr.in_stages([ptr.parallel([ptr.cascade([[one, one]])] * P), ptr.cascade([[one] * 2**P])])


def ours(tree: Guarantee) -> tuple[Fraction, Fraction]:
    return in_tests(tree, S.test.delta)


def papers(tree: Guarantee) -> tuple[Fraction, Fraction]:
    return in_tests(tree, S_PAPER.test.delta)


R_S = ShortCut(BLOCKS, scaled_median(N, NEAR, scale_test=ONE, test=ONE, release=ONE, delta=DELTA))
R_S_ONE_SCALE = ShortCut(BLOCKS, ScaledMedian(LEVEL, S, N))
R_S_PAPER = ShortCut(BLOCKS, M_PAPER)
R_H = robust_regression(2 * N, BLOCKS, S, test=ONE, release=ONE, delta=DELTA)

Counted = tuple[Fraction, Fraction] | None


def r_h_ours() -> tuple[Fraction, Fraction]:
    """Its last test has a delta of its own, at most the one asked for: it counts as one."""
    assert isinstance(R_H.guarantee.loss, ApproxDP)
    rest = R_H.guarantee.loss.delta - R_H.last.test.delta
    assert R_H.last.test.delta <= DELTA
    return R_H.guarantee.loss.epsilon, rest / S.test.delta + 1


TABLE: dict[str, tuple[Counted, Counted, Counted]] = {  # 003's own count, what its noise costs, ours
    "S": (papers(S_PAPER.printed), papers(S_PAPER.guarantee), ours(S.guarantee)),
    "stable bin": (None, None, ours(BIN.guarantee)),
    "M, scale given": (papers(one_level(LEVEL_PAPER)), papers(LEVEL_PAPER.guarantee), ours(LEVEL.guarantee)),
    "M with S": (papers(M_PAPER.printed), papers(M_PAPER.guarantee), ours(ScaledMedian(LEVEL, S, N).guarantee)),
    "M with a stable bin": (None, None, ours(ScaledMedian(LEVEL, BIN, N).guarantee)),
    "TM": (
        (Fraction(3), Fraction(2)),  # as stated: what 003 counts is S and a release of noise that has no epsilon
        None,
        ours(trimmed_mean(N, NEAR, alpha=Fraction(1, 10), test=ONE, release=ONE, delta=DELTA).guarantee),
    ),
    "R_S, p = 2": (
        tuple(P * part for part in papers(M_PAPER.printed)),  # type: ignore[dict-item]  # a pair
        papers(R_S_PAPER.guarantee),
        ours(R_S_ONE_SCALE.guarantee),
    ),
    "R_H, p = 2": (papers(r_h_declared()), papers(r_h_as_printed()), r_h_ours()),
}


def on_page(name: str) -> list[str]:
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in row.strip("|").split("|")]


def figures(cell: str) -> Counted:
    """The last ``$a\\varepsilon, b\\delta$`` of a cell."""
    found = re.findall(r"\$(\d*)\\varepsilon, (\d*)\\delta\$", cell)
    return (Fraction(found[-1][0] or 1), Fraction(found[-1][1] or 1)) if found else None


@pytest.mark.parametrize("name", TABLE)
def test_every_loss_of_the_table_is_the_one_of_the_code(name: str) -> None:
    cells = on_page(name)
    shown = tuple(figures(cell) for cell in cells[-3:])
    wanted = TABLE[name]
    assert shown[0] == wanted[0]
    assert shown[2] == wanted[2]
    if name == "R_H, p = 2":  # the four tests of the cells have a delta of their own kind
        assert shown[1] is not None
        assert wanted[1] is not None
        assert shown[1][0] == wanted[1][0]
    else:
        assert shown[1] == wanted[1]


def test_a_figure_that_is_not_the_codes_would_be_seen() -> None:
    assert figures("$4\\varepsilon, 2\\delta$") == (Fraction(4), Fraction(2))
    assert figures("$\\varepsilon, \\delta$") == (Fraction(1), Fraction(1))
    assert figures("no bound") is None
    one, two, three, seven = (Fraction(k) for k in (1, 2, 3, 7))
    assert TABLE["S"] == ((three, two), (two, two), (two, one))
    assert TABLE["R_H, p = 2"][2] == (seven, three)


def test_the_default_of_r_s_and_its_price_on_the_page() -> None:
    epsilon, deltas = ours(R_S.guarantee)
    assert f"${epsilon}\\varepsilon, {deltas}\\delta$ with a stable bin" in PAGE


def test_the_delta_of_the_printed_threshold() -> None:
    for n in (10**3, 10**4, 10**5, 10**6):
        cells = on_page(f"{n:,}")
        for cell, epsilon in zip(cells[1:], (0.1, 0.5, 1.0), strict=True):
            assert float(cell) == pytest.approx(printed_silence(n, epsilon), rel=0.06)


def test_from_where_the_proofs_speak() -> None:
    assert f"{lab.least_n('7(c)') / 1e7:.1f}" == "8.9"
    assert "$n \\ge 8.9 \\cdot 10^7$" in PAGE
    assert f"{lab.least_n('12(c)') / 1e64:.1f}" == "2.8"
    assert "$n > 2.8 \\cdot 10^{64}$" in PAGE


@pytest.mark.parametrize("estimator", ["mean", "median", "trimmed mean", "iqr", "huber", "slope"])
def test_the_gross_error_sensitivities_of_the_page(estimator: Estimator) -> None:
    shapes: tuple[Population, ...] = ("normal", "lognormal", "cauchy")
    for cell, shape in zip(on_page(estimator)[2:], shapes, strict=True):
        assert float(cell.replace("∞", "inf")) == pytest.approx(
            lab.gross_error_sensitivity(estimator, shape), rel=0.006
        )


# --- Theorem 7(d) and the measured curves -----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), ONE])
def test_the_factor_bound_is_a_joint_statement_that_holds(epsilon: Fraction) -> None:
    """800 replies of S: the share within the factor is the one stated, at 1e-6; one cell less would be more than it."""
    from scipy import stats

    from reticent.entropy import Replayed
    from reticent.outcome import Reply

    made: ScalePtr = scale(3000, NEAR, test=epsilon, release=epsilon, delta=Fraction(1, 100), most_factor=float("inf"))
    alpha = 0.01 / float(epsilon) ** 2
    bound = lab.factor_bound(made, 3000, alpha, 0.5)
    assert bound.joint == pytest.approx(bound.within / 2)
    table, _, _ = column("normal", 3000, 1, "width")
    exact = float(table.window(*(made.ranks[1],) * 2)[0] - table.window(*(made.ranks[0],) * 2)[0])
    replies = [found.value.value for key in range(800) if isinstance(found := made.sample(table, Replayed(key)), Reply)]
    inside = sum(3000**-alpha <= value / exact <= 3000**alpha for value in replies)
    assert len(replies) > 700
    assert 0.2 < bound.within < 0.99
    assert stats.binom.cdf(inside, len(replies), bound.within) > 1e-6
    assert stats.binom.sf(inside - 1, len(replies), lab.factor_bound(made, 3000, 1.1 * alpha, 1.0).within) > 1e-6
    assert stats.binom.sf(inside - 1, len(replies), lab.factor_bound(made, 3000, 0.6 * alpha, 1.0).within) < 1e-6


def test_a_column_that_is_never_answered_has_a_joint_probability_of_nothing() -> None:
    """003 prints 7(d) for a fixed column: at n 1,000 and eps 1 its S never replies, and the printed bound says 1."""
    bound = lab.factor_bound(scale(1000, NEAR, test=ONE, release=ONE, mode="paper"), 1000, 0.25, 0.0)
    assert bound.joint == 0
    assert bound.printed > 0.999


def test_replies_of_mode_paper_stay_far_below_what_the_theorem_promises() -> None:
    (at,) = finite("S as printed", epsilon=2, sizes=(1000,), tables=8).at
    assert at.reply < 0.05
    assert at.printed < 1e-12


def test_errors_and_replies_have_the_order_of_the_page() -> None:
    """A few columns: the trimmed mean next to nothing, S above 1.5, replies certain at n 10,000."""
    trimmed, spread = (finite(name, sizes=(10_000,), tables=5).at[0] for name in ("TM", "S"))
    assert min(trimmed.reply, spread.reply) > 0.999
    assert trimmed.error is not None
    assert spread.error is not None
    assert trimmed.error < 1.6 < spread.error


@pytest.mark.parametrize("name", ["S", "S as printed", "M", "M as printed", "TM", "smooth median", "default median"])
def test_every_curve_states_what_it_charges(name: Any) -> None:
    made = make(name, 10_000, ONE, DELTA)
    loss = made.guarantee.loss
    assert getattr(loss, "epsilon") == ONE  # noqa: B009  # PureDP or ApproxDP
    assert np.isfinite(made.usual(column("normal", 10_000, 1, made.target)[0]))


@pytest.mark.parametrize("use", [lambda: finite("S", sizes=()), lambda: finite("TM", sizes=(20,))])
def test_refusals(use: Callable[[], object]) -> None:
    from reticent.errors import PublicParameterError

    with pytest.raises(PublicParameterError):
        use()
