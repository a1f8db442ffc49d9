"""The classroom: every picture's numbers by hand, every figure inside its frame, the same file every time."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pytest

from reticent import lab
from reticent.certificate.certificate import Certificate
from reticent.certificate.render.odds import spread
from reticent.errors import PublicParameterError
from reticent.exact.grid import Grid
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.mechanisms.gaussian import Gaussian, ScalarGaussian
from reticent.mechanisms.laplace import Laplace
from reticent.mechanisms.permute_and_flip import PermuteAndFlip
from reticent.mechanisms.randomized_response import two_coins
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.loss import ZCDP, ApproxDP, GaussianDP, PureDP
from reticent.privacy.sensitivity import L1, L2, Linf
from tests.unit.test_certificate_example import document

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

ONE, HALF = Fraction(1), Fraction(1, 2)
GEO = lab.geometric(1, "1/2")
SUBSTITUTE, IN_OUT = Adjacency("substitute"), Adjacency("add_remove")
GAUSS = Gaussian(L2(ONE, IN_OUT), Fraction(1, 8))


class Picture(Protocol):
    """What every value of the lab can do."""

    def rows(self) -> tuple[tuple[object, ...], ...]: ...

    def plot(self) -> Figure: ...

    def save(self, path: str | Path) -> None: ...


def candidates(*scores: int) -> Candidates:
    return Candidates(np.array(scores, dtype=np.int64), np.array([1, 20, 15, 5], dtype=np.int64))


PICTURES: dict[str, Callable[[], Picture]] = {
    "geometric": lambda: lab.neighbours(GEO, 17, 18),
    "gaussian": lambda: lab.neighbours(GAUSS, 17, 18),
    "coins": lambda: lab.neighbours(two_coins(), "yes", "no"),
    "odds": lambda: lab.odds(PureDP(ONE), spent=PureDP(Fraction("1.2")), budget=PureDP(Fraction(3))),
    "odds of large losses": lambda: lab.odds(
        ZCDP(ONE), spent=ZCDP(Fraction(2)), budget=ZCDP(Fraction(500)), prior=0.001
    ),
    "trade-off": lambda: lab.trade_off(
        PureDP(ONE), ApproxDP(ONE, Fraction(1, 10)), GaussianDP(ONE), ZCDP(HALF), PureDP(Fraction(20))
    ),
    "composition": lambda: lab.compose(GEO, times=10),
    "composition of a loss": lambda: lab.compose(ApproxDP(HALF, Fraction(1, 10**8)), times=4),
    "composition off the picture": lambda: lab.compose(GAUSS, times=12),
}


def unseen(drawn: Figure) -> set[Text]:
    """Names of ticks beyond the ends of an axis, which are not drawn."""
    found: set[Text] = set()
    for axes in drawn.axes:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            found |= {tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
    return found


@pytest.mark.parametrize("name", PICTURES)
def test_every_word_of_a_figure_lies_inside_it_and_on_no_other(name: str) -> None:
    from matplotlib.text import Text

    drawn = PICTURES[name]().plot()
    drawn.draw_without_rendering()
    width, height = drawn.bbox.size
    boxes = []
    for text in drawn.findobj(Text):
        assert isinstance(text, Text)
        if text.get_visible() and text.get_text().strip() and text not in unseen(drawn):
            box = Text.get_window_extent(text)
            assert -1 < box.x0 < box.x1 < width + 1, text.get_text()
            assert -1 < box.y0 < box.y1 < height + 1, text.get_text()
            boxes.append((text.get_text(), box))
    for place, (words, box) in enumerate(boxes):
        for others, other in boxes[place + 1 :]:
            apart = box.x1 <= other.x0 or other.x1 <= box.x0 or box.y1 <= other.y0 or other.y1 <= box.y0
            assert apart, (words, others)


@pytest.mark.wide
def test_a_saved_figure_is_the_same_every_time_and_in_the_format_of_its_ending(tmp_path: Path) -> None:
    for name in ("geometric", "odds", "trade-off", "composition of a loss"):
        made = PICTURES[name]()
        for copy in ("a.svg", "b.svg"):
            made.save(tmp_path / copy)
        text = (tmp_path / "a.svg").read_text("utf-8")
        assert text == (tmp_path / "b.svg").read_text("utf-8")
        ET.fromstring(text)
        assert "<metadata" not in text
    made.save(str(tmp_path / "a.png"))
    made.save(tmp_path / "a.pdf")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "a.pdf").read_bytes()[:4] == b"%PDF"
    with pytest.raises(PublicParameterError, match="svg"):
        made.save(tmp_path / "a.doc")


@pytest.mark.wide
def test_import_is_light_and_pictures_leave_no_state() -> None:
    program = (
        "import sys, reticent; assert 'reticent.lab' not in sys.modules; from reticent import lab;"
        "assert 'matplotlib' not in sys.modules; lab.neighbours(lab.geometric(1, 1), 3, 4).plot();"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def test_public_names_are_documented() -> None:
    for name in lab.__all__:
        thing = getattr(lab, name)
        if name != "Part":  # a union
            text = inspect.getdoc(thing) or ""
            assert text != "", name
            assert not text.startswith(f"{name}("), name  # dataclass writes name(fields) by itself
    assert sorted(lab.__all__) == lab.__all__


# ---- the bar slide


def test_the_ratio_of_geometric_bars_is_e_to_the_epsilon_on_one_side_and_its_inverse_on_the_other() -> None:
    slide = lab.neighbours(GEO, 17, 18)
    for out, p, q, ratio in slide.rows():
        assert ratio == pytest.approx(math.exp(0.5 if int(out) <= 17 else -0.5))
        assert p == pytest.approx(math.tanh(0.25) * math.exp(-abs(int(out) - 17) / 2))
        assert q == pytest.approx(math.tanh(0.25) * math.exp(-abs(int(out) - 18) / 2))
    assert sum(p for p, _ in slide.masses) > 0.98
    assert slide.excess == pytest.approx(0, abs=1e-12)


def test_every_mechanism_with_a_picture_keeps_its_ratio() -> None:
    slides = [
        lab.neighbours(lab.geometric(3, 1), 5, 8),
        lab.neighbours(two_coins(), "yes", "no"),
        lab.neighbours(Exponential(Linf(ONE, SUBSTITUTE), ONE), candidates(1, 0, 0, 1), candidates(0, 1, 1, 2)),
        lab.neighbours(PermuteAndFlip(Linf(ONE, SUBSTITUTE), ONE), (1, 0, 0, 1), (0, 1, 1, 2)),
    ]
    for slide in slides:
        assert slide.delta == 0
        assert 1 < slide.largest_ratio <= math.exp(slide.epsilon) * (1 + 1e-9)
    assert slides[1].largest_ratio == pytest.approx(3)
    for gaussian in (GAUSS, ScalarGaussian(L1(ONE, IN_OUT), Fraction(4), HALF)):
        slide = lab.neighbours(gaussian, 17, 18)
        assert slide.excess <= float(slide.delta)
        assert slide.largest_ratio == pytest.approx(math.exp(11 / 8), rel=1e-9)  # (2 k + 1) / 2v at the last bar, k = 5


@pytest.mark.parametrize(
    "asked",
    [
        lambda: lab.neighbours(GEO, 17, 19),
        lambda: lab.neighbours(GAUSS, 17, 19),
        lambda: lab.neighbours(GEO, "yes", "no"),
        lambda: lab.neighbours(two_coins(), "yes", "perhaps"),
        lambda: lab.neighbours(Laplace(L1(ONE, SUBSTITUTE), ONE, Grid(-2)), 1, 2),
        lambda: lab.neighbours(PermuteAndFlip(Linf(ONE, SUBSTITUTE), ONE), (1, 0), (0, 2)),
        lambda: lab.neighbours(PermuteAndFlip(Linf(ONE, SUBSTITUTE), ONE), (1, 0), (1, 0, 0)),
    ],
)
def test_what_are_no_neighbours_is_refused(asked: Callable[[], object]) -> None:
    with pytest.raises(PublicParameterError):
        asked()


def test_two_coins_are_the_two_lines_of_the_slides() -> None:
    table = lab.two_coins()
    assert [row[0] for row in table.rows()] == ["yes", "no"]
    assert {row[1:] for row in table.rows()} == {(Fraction(3, 4), Fraction(1, 4), Fraction(3))}
    assert str(table) == (
        "P[hear yes | truth yes] / P[hear yes | truth no] = (3/4) / (1/4) = 3\n"
        "P[hear no | truth no] / P[hear no | truth yes]   = (3/4) / (1/4) = 3\n"
        "so e^ε = 3 and ε = ln 3, about 1.0986"
    )
    assert [row[3] for row in lab.coins("1/2", "1/4").rows()] == [5, Fraction(7, 3)]


# ---- odds


def test_bands_at_hand_computed_places() -> None:
    bands = lab.odds(PureDP(ONE), spent=PureDP(Fraction("1.2")), budget=PureDP(Fraction(3)))
    found = {(name, prior): (round(low, 3), round(high, 3)) for name, prior, low, high in bands.rows([0.1, 0.5])}
    assert found == {
        ("this release", 0.1): (0.039, 0.232),
        ("this release", 0.5): (0.269, 0.731),
        ("everything so far", 0.1): (0.032, 0.269),
        ("everything so far", 0.5): (0.231, 0.769),
        ("the whole budget", 0.1): (0.006, 0.691),
        ("the whole budget", 0.5): (0.047, 0.953),
    }


def test_a_certificate_has_the_three_bands() -> None:
    said = [text.get_text() for text in Certificate.of(document()).odds_plot().axes[0].texts]
    assert said[0] == "no change"
    assert "this release and\neverything so far\nε 1\nodds × 2.72 at most\n10 % → 3.92 % to 23.2 %" in said
    assert "the whole budget\n(ε 3, δ 1e-8)\nodds × 20.1 at most\nunless a chance of 1 in 100 million" in said[2]
    assert said[2].endswith("\n10 % → 0.55 % to 69.1 %")


def test_the_words_of_the_axis_follow_the_neighbours() -> None:
    assert lab.odds(PureDP(ONE)).believed == "you took part"
    assert lab.odds(two_coins()).believed == "a guess about you is right"


def test_odds_that_have_no_meaning_are_refused() -> None:
    with pytest.raises(PublicParameterError):
        lab.odds(PureDP(ONE), prior=0.0)
    with pytest.raises(PublicParameterError):
        lab.OddsBands((), "you took part")


def test_labels_keep_their_distance() -> None:
    found = spread([0.5, 0.5, 0.1, 0.95], [0.2, 0.2, 0.2, 0.2], 0, 1)
    assert found == pytest.approx([0.5, 0.3, 0.1, 0.9])
    assert spread([0.0, 0.0], [0.4, 0.2], 0, 1) == pytest.approx([0.4, 0.1])


# ---- trade-off


def test_the_trade_off_of_a_pure_loss_is_two_lines() -> None:
    curve = {alpha: float(beta) for _, alpha, beta in lab.trade_off(PureDP(ONE)).rows()}
    for alpha, beta in curve.items():
        a = float(alpha)
        assert beta == pytest.approx(max(0, 1 - math.e * a, (1 - a) / math.e), abs=1e-9)
    corner = min(curve, key=lambda alpha: abs(float(alpha) - curve[alpha]))
    assert float(corner) == pytest.approx(1 / (1 + math.e), abs=1e-9)


def test_powers_at_the_marked_level() -> None:
    powers = lab.trade_off(PureDP(ONE), PureDP(Fraction(3)), GaussianDP(ONE)).powers
    assert [f"{float(power):.3f}" for power in powers] == ["0.136", "0.953", "0.260"]
    said = [text.get_text() for text in lab.trade_off(PureDP(ONE), level="0.1").plot().axes[0].texts]
    assert "ε 1\nat 10 % finds 28 % at most" in said


def test_a_picture_of_tests_has_one_to_five_losses() -> None:
    with pytest.raises(PublicParameterError):
        lab.trade_off()
    with pytest.raises(PublicParameterError):
        lab.trade_off(*[PureDP(ONE)] * 6)
    with pytest.raises(PublicParameterError):
        lab.trade_off(PureDP(ONE), level=1)


# ---- composition


def test_curves_of_composition_by_hand() -> None:
    made = lab.compose(PureDP(Fraction(1, 10)), times=100, delta="1e-6")
    last = {name: float(epsilon) for name, count, epsilon in made.rows() if count == 100 and epsilon is not None}
    assert made.counts[-1] == 100
    assert len(made.counts) <= 40
    assert last["basic"] == 10
    wanted = 0.1 * math.sqrt(200 * math.log(1e6)) + 100 * 0.1 * math.expm1(0.1)
    assert last["advanced"] == pytest.approx(wanted, rel=1e-9)
    assert last["optimal"] < last["zCDP"] < last["advanced"] < last["basic"]
    assert "own law" not in last  # a bare loss has none


def test_the_own_law_of_a_mechanism_is_never_dearer_than_the_optimal_theorem_for_its_loss() -> None:
    made = lab.compose(lab.geometric(5, "1/10"), times=60, delta="1e-5")
    curves = dict(made.curves)
    for theorem in ("basic", "optimal"):
        for other, own in zip(curves[theorem], curves["own law"], strict=True):
            assert other is not None
            assert own is not None
            assert own <= other * Fraction(101, 100)


def test_a_theorem_that_says_nothing_at_this_delta_is_left_out() -> None:
    made = lab.compose(ApproxDP(HALF, Fraction(1, 10**7)), times=12)
    basic = dict(made.curves)["basic"]
    assert [epsilon is None for epsilon in basic] == [False] * 10 + [True] * 2
    assert {name for name, *_ in made.rows()} >= {"basic", "optimal"}


@pytest.mark.parametrize(("times", "delta"), [(0, "1e-6"), (True, "1e-6"), (1001, "1e-6"), (3, 0), (3, 1)])
def test_compositions_that_have_no_meaning_are_refused(times: int, delta: str) -> None:
    with pytest.raises(PublicParameterError):
        lab.compose(GEO, times=times, delta=delta)


def test_a_group() -> None:
    assert lab.group(GEO, 3) == PureDP(Fraction(3, 2))
    assert lab.group(ZCDP(HALF), 2) == ZCDP(Fraction(2))
