"""``rt.regress``, ``rt.density``, ``rt.test``: a question for a release, or, beside a study, its release at once.

    rt.regress("y ~ a + b")                             a question
    rt.regress("y ~ a + b", study, epsilon=2)           its answer: study.release([...]) with one question
    rt.test("y ~ g"), rt.test("y ~ g", study, epsilon=1)
    rt.density("x"), rt.density(study, "x", epsilon=1)  the same for a density: study.release_density(...)

A release has a certificate: ``study.release([rt.regress(...)], epsilon=…)`` is the way where it is to be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from reticent.data.schema import Key
from reticent.errors import QuestionError, refusing
from reticent.privacy.numbers import Number
from reticent.statistics import questions
from reticent.statistics.density import DensityOf, OfDensity, Settled
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest, OfTest
from reticent.statistics.specs import Mode, OfRegression, Regression, robust_regression
from reticent.study.study import Study

if TYPE_CHECKING:
    from reticent.statistics.answer import Answer
    from reticent.statistics.density import Growth
    from reticent.study.density_release import DensityRelease

Method: TypeAlias = OfRegression | Literal["robust"]
Columns: TypeAlias = str | Sequence[str]


@overload
def regress(
    formula: str,
    study: None = None,
    *,
    method: Method = "auto",
    blocks: int | None = None,
    reference: Key | Sequence[Key] = (),
    epsilon: Number | None = None,
    mode: Mode = "exact",
    delta: Number | None = None,
    unit: Number | None = None,
) -> Regression: ...


@overload
def regress(
    formula: str,
    study: Study,
    *,
    method: Method = "auto",
    blocks: int | None = None,
    reference: Key | Sequence[Key] = (),
    epsilon: Number | None = None,
    mode: Mode = "exact",
    delta: Number | None = None,
    unit: Number | None = None,
) -> Answer: ...


def regress(
    formula: str,
    study: Study | None = None,
    *,
    method: Method = "auto",
    blocks: int | None = None,
    reference: Key | Sequence[Key] = (),
    epsilon: Number | None = None,
    mode: Mode = "exact",
    delta: Number | None = None,
    unit: Number | None = None,
) -> Regression | Answer:
    """Coefficients of ``"y ~ a + b"``, with intervals; it may give no reply.

    Parameters
    ----------
    formula : str
        Columns of numbers, and on the right categories; ``"y ~ 0 + a"`` leaves the intercept out.
    study : Study, optional
        Where it is given the question is released at once, for ``epsilon``.
    method : "auto", "least_squares", "robust", or one of the robust methods
        "auto" is least squares where every number has public bounds, and else a robust line that needs none; the
        answer names which it estimates. "robust" is one that few rows cannot move and that needs no bounds: "R_H"
        where a ``delta`` is named, else "theil_sen" for one column and "tukey" for more. The others are "R_S",
        "block_medians", "adassp" and "over_beta". "R_S" and "R_H" are 003's.
    blocks : int, optional
        Public number of blocks of rows for "R_S", "R_H" and "block_medians".
    reference : key or keys, optional
        Of categories on the right: from which the coefficients of their other keys are told. By default the first.
    epsilon : number, optional
        Of the release, where there is a study; else a share of its own in the release it is asked in.
    mode, delta
        As for ``median``.
    unit : number, optional
        Public step on which columns are read that have neither bounds nor a resolution.

    Returns
    -------
    Regression or Answer
        A question for ``study.release``; with a study its answer, which may be no reply.

    Raises
    ------
    Refusal
        Before any row is read; nothing was charged.
    Fault
        After the charge; the charge stays.
    """
    asked = questions.regress(
        formula,
        method="auto" if method == "robust" else method,
        blocks=blocks,
        reference=reference,
        epsilon=epsilon if study is None else None,
        mode=mode,
        delta=delta,
        unit=unit,
    )
    if method == "robust":
        meant = robust_regression(len(asked.on), intercept=asked.intercept, delta=delta is not None)
        asked = replace(asked, method=meant)
    if study is None:
        return asked
    return study.release([asked], epsilon=epsilon, delta=delta)[asked.name]


@overload
def density(
    columns: Columns,
    of: None = None,
    *,
    method: OfDensity = "auto",
    cells: int | Literal["auto"] | None = None,
    degree: int | Literal["auto"] | None = None,
    bandwidth: Number | None = None,
    iterations: int | None = None,
    size: int | Growth | None = None,
    settle: Settled = "simplex",
    atoms: Sequence[Number] | str | None = None,
    checks: Number = 0,
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> DensityOf: ...


@overload
def density(
    columns: Study,
    of: Columns,
    *,
    method: OfDensity = "auto",
    cells: int | Literal["auto"] | None = None,
    degree: int | Literal["auto"] | None = None,
    bandwidth: Number | None = None,
    iterations: int | None = None,
    size: int | Growth | None = None,
    settle: Settled = "simplex",
    atoms: Sequence[Number] | str | None = None,
    checks: Number = 0,
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> DensityRelease: ...


def density(
    columns: Columns | Study,
    of: Columns | None = None,
    *,
    method: OfDensity = "auto",
    cells: int | Literal["auto"] | None = None,
    degree: int | Literal["auto"] | None = None,
    bandwidth: Number | None = None,
    iterations: int | None = None,
    size: int | Growth | None = None,
    settle: Settled = "simplex",
    atoms: Sequence[Number] | str | None = None,
    checks: Number = 0,
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> DensityOf | DensityRelease:
    """The law of one record as a whole: a density to plot, to ask for any probability, and to draw records from.

    Parameters
    ----------
    columns : str, sequence of str, or Study
        One to four numeric columns with public bounds; or the study, and then the columns are ``of``.
    of : str or sequence of str, optional
        With a study: it is released at once, for ``epsilon``.
    method, cells, degree, bandwidth, iterations, size, settle, atoms, checks, low, high, epsilon, delta
        As for ``statistics.questions.density``; docs/how-to/densities.md says which method is best when.

    Returns
    -------
    DensityOf or DensityRelease
        A question for ``study.release``; with a study its release, which may be no reply.

    Raises
    ------
    Refusal
        Before any row is read; nothing was charged.
    Fault
        After the charge; the charge stays.
    """
    study = columns if isinstance(columns, Study) else None
    with nullcontext() if study is None else refusing():
        named = of if isinstance(columns, Study) else columns
        if named is None or (study is None and of is not None):
            raise QuestionError('density("x") is a question; density(study, "x", epsilon=…) is released at once')
        asked = questions.density(
            named,
            method=method,
            cells=cells,
            degree=degree,
            bandwidth=bandwidth,
            iterations=iterations,
            size=size,
            settle=settle,
            atoms=atoms,
            checks=checks,
            low=low,
            high=high,
            epsilon=epsilon if study is None else None,
            delta=delta,
        )
        return asked if study is None else study.release_density(asked, epsilon=epsilon, delta=delta)


@overload
def test(
    formula: str,
    study: None = None,
    *,
    kind: OfTest = "auto",
    among: Sequence[Key] = (),
    value: Key | None = None,
    edges: Sequence[Number] = (),
    centre: Number | None = None,
    deviation: Number | None = None,
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    density: Number | None = None,
) -> HypothesisTest: ...


@overload
def test(
    formula: str,
    study: Study,
    *,
    kind: OfTest = "auto",
    among: Sequence[Key] = (),
    value: Key | None = None,
    edges: Sequence[Number] = (),
    centre: Number | None = None,
    deviation: Number | None = None,
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    density: Number | None = None,
) -> Answer: ...


def test(
    formula: str,
    study: Study | None = None,
    *,
    kind: OfTest = "auto",
    among: Sequence[Key] = (),
    value: Key | None = None,
    edges: Sequence[Number] = (),
    centre: Number | None = None,
    deviation: Number | None = None,
    low: Number | None = None,
    high: Number | None = None,
    epsilon: Number | None = None,
    density: Number | None = None,
) -> HypothesisTest | Answer:
    """A test of a hypothesis, with an effect, a p-value that knows the noise, and its power in a plan.

    Parameters
    ----------
    formula : str
        ``"y ~ g"`` compares y between the groups of g, or two columns; ``"y"`` alone is compared with a normal law.
    study : Study, optional
        Where it is given the question is released at once, for ``epsilon``.
    kind : "auto", "means", "proportions", "independence", "ranks", "correlation", "normal" or "density"
        "auto" is what the declared types of the columns leave.
    among : sequence, optional
        Public groups of g, where not all declared ones are meant.
    value : optional
        For "proportions": the value whose share is compared.
    edges : sequence of number, optional
        For "ranks" and "normal": public bins on which y is counted.
    centre, deviation : number, optional
        For "normal": the law meant; by default any normal law.
    low, high : number, optional
        Bounds of y for this question; by default those of the study.
    epsilon : number, optional
        Of the release, where there is a study; else a share of its own in the release it is asked in.
    density : number, optional
        For "density": the number, for each unit of y, that the density at its median is compared with.

    Returns
    -------
    HypothesisTest or Answer
        A question for ``study.release``; with a study its answer: cells for effect, statistic and p-value.

    Raises
    ------
    Refusal
        Before any row is read; nothing was charged.
    Fault
        After the charge; the charge stays.
    """
    asked = questions.test(
        formula,
        kind=kind,
        among=among,
        value=value,
        edges=edges,
        centre=centre,
        deviation=deviation,
        low=low,
        high=high,
        epsilon=epsilon if study is None else None,
        density=density,
    )
    return asked if study is None else study.release([asked], epsilon=epsilon)[asked.name]


test.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it wherever it is imported


__all__ = ["density", "regress", "test"]
