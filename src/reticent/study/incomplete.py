"""Shares of incomplete rows beside the answers of one release: which are bought, for how much, and where they stand.

    settle --beside(asked, amounts)--> Beside --draw--> answers --stand(answers, told)--> answers with their shares

One share is bought for the same columns, of one part in twenty of the share of each answer it stands beside. It is left
out where it would be known to no better than one row in ten, which public facts decide, and the plan says so. A share
that is asked for by itself is not bought again, and none is bought that an answer's own noisy count tells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

from reticent.data.schema import Person, Schema
from reticent.statistics.answer import Answer, IncompleteRows
from reticent.statistics.asked import IncompleteShare
from reticent.statistics.incomplete import WIDEST, IncompleteStep, among, odd_columns, told_by, words

if TYPE_CHECKING:
    from reticent.statistics.setting import Expected
    from reticent.study.asking import Asked

SHARE: Final = Fraction(1, 20)  # of an answer's share of the loss
ASSUMED: Final = 10_000  # people assumed where their number is not public

Columns = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """The shares beside the answers of a release.

    ``columns`` has, for each answer, those that can hold odd cells; ``steps`` are bought; of ``left_out`` none is told.
    """

    schema: Schema
    columns: tuple[Columns, ...] = ()
    steps: tuple[IncompleteStep, ...] = ()
    left_out: tuple[Columns, ...] = ()

    def estimand(self, place: int, of_step: str) -> str:
        """The estimand of an answer, with the rows that count."""
        if place >= len(self.columns) or not of_step:
            return of_step
        return of_step + among(self.columns[place], self.schema)

    def expected(self, place: int, of_step: Expected) -> Expected:
        """The expectation of an answer; where its share is left out, the note says so."""
        if place >= len(self.columns) or self.columns[place] not in self.left_out:
            return of_step
        said = words(IncompleteRows(self.columns[place], None), self.schema)
        return replace(of_step, note="; ".join(text for text in (of_step.note, said) if text))

    def caveats(self, answers: Sequence[Answer], told: Sequence[Answer]) -> tuple[str, ...]:
        """The words of every share, each once."""
        found = (self._share(columns, answers, told) for columns in dict.fromkeys(self.columns) if columns)
        return tuple(words(share, self.schema) for share in found)

    def stand(self, answers: Sequence[Answer], told: Sequence[Answer]) -> tuple[Answer, ...]:
        """The answers, each with the share of incomplete rows beside it; ``told`` are those of the shares."""
        return tuple(
            self._with(answer, self._share(columns, answers, told)) if columns else answer
            for answer, columns in zip(answers, chain(self.columns, repeat(())), strict=False)
        )

    def _share(self, columns: Columns, answers: Sequence[Answer], told: Sequence[Answer]) -> IncompleteRows:
        if columns in self.left_out:
            return IncompleteRows(columns, None)
        for answer in answers:
            if answer.incomplete is not None and answer.incomplete.columns == columns:
                return answer.incomplete  # told by the answer's own noisy number of values
        name = IncompleteShare(columns).name
        return IncompleteRows(columns, next(answer.outcome for answer in (*told, *answers) if answer.name == name))

    def _with(self, answer: Answer, share: IncompleteRows) -> Answer:
        estimand = answer.estimand + among(share.columns, self.schema) if answer.estimand else ""
        caveats = (*answer.caveats, words(share, self.schema))
        return replace(answer, estimand=estimand, incomplete=share, caveats=caveats)


def beside(
    asked: Sequence[Asked],
    amounts: Sequence[Fraction],
    step: Callable[[IncompleteShare, Fraction], IncompleteStep],
    schema: Schema,
    units: int | None,
) -> tuple[Beside, tuple[Fraction, ...]]:
    """The shares to buy, and what each answer sets aside for its own.

    Parameters
    ----------
    amounts : sequence of Fraction
        What each answer may cost, in epsilon or rho.
    step : function
        Prepares a share for an amount.
    units : int or None
        The public number of persons.
    """
    columns = tuple(odd_columns(item.statistic, item.keys, schema) for item in asked)
    asked_for = {item.statistic.columns for item in asked if isinstance(item.statistic, IncompleteShare)}
    free = {one for item, one in zip(asked, columns, strict=True) if told_by(item.statistic, item.keys, schema, units)}
    steps, left_out = [], []
    for of in dict.fromkeys(one for one in columns if one and one not in asked_for | free):
        amount = SHARE * sum((paid for paid, one in zip(amounts, columns, strict=True) if one == of), Fraction(0))
        made = step(IncompleteShare(of), amount)
        width = made.expected(ASSUMED if units is None else units).noise
        if width is None or width > WIDEST:
            left_out.append(of)
        else:
            steps.append(made)
    bought = {made.columns for made in steps}
    aside = tuple(SHARE * paid if one in bought else Fraction(0) for paid, one in zip(amounts, columns, strict=True))
    return Beside(schema, columns, tuple(steps), tuple(left_out)), aside


NO_SHARES: Final = Beside(Schema({}, Person("add_remove")))
