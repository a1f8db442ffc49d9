"""Paths on private rows neither warn nor overflow, so no setting of a caller's shows a row in a warning or a fault.

Every plan, fit and session of the audits runs on made-up rows while warnings and all errors of floating-point numbers
are exceptions. Nothing here is random but the noise of real releases, of which none can fail by chance.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import pytest

import reticent as rt
from reticent.conformance import built_in_plans
from reticent.conformance.couplings import PaddedTable, QueryRunner, filling
from reticent.conformance.neighbours import families
from reticent.conformance.reader_replay import engine
from reticent.conformance.replay import _deals
from reticent.conformance.tape import STYLES, Tape, recorded
from reticent.data.schema import Schema
from reticent.learning.fit import fit_release
from reticent.statistics.answer import Answer
from reticent.statistics.context import Step
from reticent.study import release
from reticent.study.allocation import PreparedRelease
from reticent.study.formulas import Question
from tests.assurance import fits, models, session_replay
from tests.assurance.fits import Fit
from tests.assurance.session_replay import Talk

FITS = {fit.name: fit for fit in models.built_in()}
TALKS = {talk.name: talk for talk in session_replay.built_in()}
WILD = {"x": [1e-300, 5e-324, 0.0, 1.0] * 60, "y": [0.0, 1.0, 1.0, float("nan")] * 60}
WRONG = ("warns", "overflows", "underflows", "divides", "is no number")
ASKED = (
    rt.mean("x"),
    rt.variance("x"),
    rt.iqr("x"),
    rt.test("x ~ y", kind="correlation"),
    rt.density("x", method="bernstein"),
    rt.density("x"),
)


@pytest.fixture
def strict() -> Iterator[None]:
    """Everything a caller can ask to be told of floating-point numbers and warnings, as errors."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="a session does not tell")  # of the declaration, before the charge
        yield


Tables: TypeAlias = Callable[[Schema], list[QueryRunner]]


@pytest.fixture(scope="module")
def tables() -> Iterator[Tables]:
    """Made-up rows over a schema, at ends of its bounds; those of one schema are opened once."""
    known: dict[str, list[QueryRunner]] = {}
    with engine() as opened:

        def held(schema: Schema) -> list[QueryRunner]:
            if repr(schema) not in known:
                every: list[Fit | Talk] = [*FITS.values(), *TALKS.values()]
                of = next(one for one in every if one.schema == schema)
                made = models.tables(of)
                known[repr(schema)] = [opened(made, place) for place in (0, len(made.tables) - 1)]
            return known[repr(schema)]

        yield held


def loud(wrong: str) -> None:
    """What a statistic that is not quiet would do."""
    one = np.ones(1)
    match wrong:
        case "warns":
            warnings.warn("of a row", RuntimeWarning, stacklevel=1)
        case "overflows":
            one * 1e308 * 10
        case "underflows":
            one * 5e-324 * 0.1
        case "divides":
            one / 0.0
        case _:
            one * np.inf - np.inf


def drawn(plans: Iterator[tuple[str, PreparedRelease, Schema]], most: int) -> None:
    """Draw each plan on two tables of each of ``most`` families, whose first are the ends of the bounds."""
    with engine() as opened:
        for _, plan, schema in plans:
            for nth, made in enumerate(islice(families(schema, "quiet"), most)):
                for place in (0, len(made.tables) - 1):
                    rows: Any = opened(made, place)
                    rows = PaddedTable(rows, filling(plan)) if _deals(plan) else rows
                    release.draw(plan, rows, recorded(Tape(STYLES[nth % len(STYLES)], nth, 0)), lambda stage: None)


def test_some_statistics(strict: None) -> None:
    drawn(islice(built_in_plans.built_in(), 2), 2)


@pytest.mark.wide
@pytest.mark.loop(1)
@pytest.mark.parametrize(
    ("plans", "most"), [(built_in_plans.built_in, 4), (built_in_plans.robust, 1), (built_in_plans.robust, 4)]
)
def test_all_statistics(
    plans: Callable[[], Iterator[tuple[str, PreparedRelease, Schema]]], most: int, strict: None
) -> None:
    drawn(plans(), most)


@pytest.mark.loop(18)
@pytest.mark.parametrize("name", FITS)
def test_fits(name: str, tables: Tables, strict: None) -> None:
    fit = FITS[name]
    for nth, rows in enumerate(tables(fit.schema)):
        done = fits.fitted(fit, rows, Tape(STYLES[nth], nth, 0))
        assert done.raised is None
        assert [text for text in done.warned if "how many rows lack" not in text] == []  # said before the charge


@pytest.mark.parametrize("name", TALKS)
def test_sessions(name: str, tables: Tables, strict: None) -> None:
    talk = TALKS[name]
    for nth, rows in enumerate(tables(talk.schema)):
        assert session_replay.ran(talk, rows, Tape(STYLES[nth], nth, 0)).raised is None


@pytest.mark.parametrize("asked", ASKED, ids=[one.name for one in ASKED])
def test_releases_of_the_smallest_numbers(asked: Question, strict: None) -> None:
    study = rt.study(WILD, adjacency="add_remove", columns={"x": rt.real(0, 1), "y": rt.real(0, 1)}, budget=9)
    study.release([asked], epsilon=Fraction(1, 2))  # a reply or none, and no fault
    assert [line.state for line in study.ledger.releases()] == ["committed"]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_statistic_that_is_not_quiet_is_noticed(monkeypatch: pytest.MonkeyPatch, strict: None, wrong: str) -> None:
    honest = release.answered

    def answered(step: Step, answer: Answer) -> Answer:
        loud(wrong)
        return honest(step, answer)

    monkeypatch.setattr(release, "answered", answered)
    with pytest.raises((FloatingPointError, RuntimeWarning)):
        drawn(islice(built_in_plans.built_in(), 1), 1)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_fit_that_is_not_quiet_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tables: Tables, strict: None, wrong: str
) -> None:
    fit, honest = next(fit for fit in FITS.values() if fit.name.startswith("GaussianNB, ")), fit_release._certified

    def certified(*given: Any) -> Any:
        loud(wrong)
        return honest(*given)

    monkeypatch.setattr(fit_release, "_certified", certified)
    done = fits.fitted(fit, tables(fit.schema)[0], Tape())
    assert done.raised is not None or done.warned != ()


def test_a_release_leaves_the_settings_of_other_threads_alone() -> None:
    """Another thread is warned while rows are read, and the filters are never another list."""
    study = rt.study(WILD, adjacency="add_remove", columns={"x": rt.real(0, 1), "y": rt.real(0, 1)}, budget=9)
    seen: list[object] = []
    told: list[str] = []

    def other() -> None:
        try:
            warnings.warn("of another thread", stacklevel=1)
        except UserWarning as warning:
            told.append(str(warning))

    def stage(name: str) -> None:
        seen.append(list(warnings.filters))
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(10)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        replace(study, on_stage=stage).release([rt.mean("x")], epsilon=Fraction(1, 2))
    assert len(told) == len(seen) >= 3
    assert all(filters == before for filters in seen)
