"""Tallies of a column in a file: counted in the engine, checked for other designs and for people who answered twice."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from reticent.data import tally as engine
from reticent.errors import SpecError
from reticent.mechanisms.subset_selection import Subset
from reticent.mechanisms.unary_encoding import Unary
from reticent.survey.design_record import DesignRecord
from reticent.survey.tally import ReportTally, of_counts


def tallies(
    design: DesignRecord,
    path: Path,
    column: str,
    *,
    table: str | None,
    groups: tuple[str, ...],
    respondent: str | None,
    code: str | None,
) -> tuple[ReportTally, dict[str, dict[str, ReportTally]]]:
    """The tally of the whole column, and of each group of each column named.

    Parameters
    ----------
    design : DesignRecord
    path : Path
        A CSV, Parquet or DuckDB file.
    column : str
        Column of the randomized answers.
    table : str or None
        Table of a DuckDB file.
    groups : tuple of str
        Columns of subgroups.
    respondent : str or None
        Column that says who answered.
    code : str or None
        Column that holds ``Design.code``.

    Returns
    -------
    pair of ReportTally, and dict of column to dict of group to ReportTally

    Raises
    ------
    SpecError
        For answers to another design, and for respondents who answered more than once.
    """
    with engine.opened(path, column, table=table) as answers:
        if code is not None:
            _check_code(design, answers.distinct(code))
        if respondent is not None and (twice := answers.repeated(respondent)):
            raise SpecError(
                f"{twice:,} respondents answered more than once: each further answer costs them another ε, and would "
                "count twice. Keep one answer of each, chosen without looking at the answers."
            )
        return _by(design, answers, None)[""], {name: _by(design, answers, name) for name in groups}


def _check_code(design: DesignRecord, codes: list[str]) -> None:
    if codes == [design.code]:
        return
    if len(codes) > 1:
        raise SpecError(
            "answers to several designs stand in this file: they were randomized with different coins, and cannot be "
            f"read as one. Keep those of code {design.code}."
        )
    raise SpecError(f"these answers are to another design: their code is not {design.code}")


def _by(design: DesignRecord, answers: engine.Column, group: str | None) -> dict[str, ReportTally]:
    made = design.mechanism
    if isinstance(made, Unary | Subset) and made.size > engine.PIECE:  # shorter ones have few different tokens
        chosen = made.chosen if isinstance(made, Subset) else None
        return {
            key: ReportTally(sums[0], np.array(sums[1:], np.int64), missing, off)
            for key, missing, off, sums in answers.bits(made.size, chosen, group)
        } or {"": of_counts(design, {})}
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for key, token, times in answers.counts(group):
        counts[key][token] = times
    return {key: of_counts(design, found) for key, found in counts.items()} or {"": of_counts(design, {})}
