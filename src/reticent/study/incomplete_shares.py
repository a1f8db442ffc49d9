"""Shares of incomplete rows beside the answers of one release: which are bought, for how much, and where they stand.

    settle --beside(asked, amounts)--> ReleaseShares --draw--> answers --stand(answers, told)--> answers and shares

One share is bought for the same columns, of one part in twenty of the share of each answer it stands beside. None is
bought where another number tells it: the requested share itself, or an earlier release of the same declared snapshot.
Beside the number of rows, an answer's noisy number of values or the sum of its cells does. A share is left out if it
would be known to no better than one row in ten. Public facts decide that, and the plan says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

from reticent.certificate.snapshot import NOTHING, EarlierShares, Snapshot, recorded
from reticent.data.query import Query
from reticent.data.schema import Person, Schema
from reticent.outcome import Reply
from reticent.statistics.answer import Answer, IncompleteRows, ValueCount
from reticent.statistics.counts.incomplete_share import (
    IncompleteShare,
    IncompleteStep,
    among,
    counts_complete,
    odd_among,
    odd_columns,
    public_rows,
    scant,
    share_by_count,
    told_by,
    words,
)
from reticent.statistics.public_facts import odd_cells
from reticent.statistics.shares import ASSUMED, SHARE, WIDEST, idle, in_short

if TYPE_CHECKING:
    from reticent.data.query_result import QueryResult
    from reticent.entropy import Entropy
    from reticent.statistics.context import ExpectedAccuracy
    from reticent.statistics.statistic import Ask

Columns = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReleaseRowCount:
    """The number of rows of a release: public, or the noisy answer at ``place`` with noise of ``scale``."""

    public: int | None = None
    place: int | None = None
    scale: Fraction = Fraction(0)

    @property
    def known(self) -> bool:
        """True if there is such a number."""
        return self.public is not None or self.place is not None

    @property
    def noise(self) -> Fraction | None:
        """The scale of the noise of a number that is bought; None where none is."""
        return None if self.place is None or self.public is not None else self.scale

    def of(self, answers: Sequence[Answer]) -> float | None:
        """The number, where there is one."""
        if self.public is not None:
            return float(self.public)
        if self.place is None or not isinstance(answers[self.place].outcome, Reply):
            return None
        return answers[self.place].value


@dataclass(frozen=True, slots=True)
class ReleaseShares:
    """The shares beside the answers of a release.

    ``columns`` has, for each answer, those that can hold odd cells; ``steps`` are bought; of ``left_out`` none is told.
    ``tellers`` are the places of answers that tell a number of complete rows, and by ``rows`` the share. ``earlier``
    shares are shown again. ``snapshot`` names the rows of the shares, if one is declared. ``asked_for`` has the columns
    of each answer that is itself a share.
    """

    schema: Schema
    columns: tuple[Columns, ...] = ()
    steps: tuple[IncompleteStep, ...] = ()
    left_out: tuple[Columns, ...] = ()
    tellers: tuple[int, ...] = ()
    rows: ReleaseRowCount = ReleaseRowCount()
    earlier: tuple[IncompleteRows, ...] = ()
    snapshot: Snapshot | None = None
    asked_for: tuple[Columns, ...] = ()

    def estimand(self, place: int, of_step: str) -> str:
        """The estimand of an answer, with the rows that count."""
        if place >= len(self.columns) or not of_step:
            return of_step
        return of_step + among(self.columns[place], self.schema)

    def expected(self, place: int, of_step: ExpectedAccuracy) -> ExpectedAccuracy:
        """The expectation of an answer; the note says where its share is left out, free, or of an earlier release."""
        if place >= len(self.columns):
            return of_step
        columns = self.columns[place]
        told = IncompleteRows(columns, None) if columns in self.left_out else self._earlier(columns)
        text = "" if told is None else in_short(words(told, self.schema))
        if (
            not text
            and self.rows.known
            and place in self.tellers
            and all(step.columns != columns for step in self.steps)
        ):
            text = f"tells at no charge the share of rows with {odd_cells(columns, self.schema)}"
        note = "; ".join(part for part in (of_step.note, text) if part)
        return replace(of_step, note=note)

    def draw(
        self, found: Mapping[Query, QueryResult], answers: Sequence[Answer], entropy: Entropy
    ) -> tuple[Answer, ...]:
        """The shares that are bought, with the number of rows where the release buys that as well.

        Parameters
        ----------
        found : mapping of Query to QueryResult
            Exact integers of each query.
        answers : sequence of Answer
            Answers of the release that were drawn before.
        entropy : Entropy

        Returns
        -------
        tuple of Answer
        """
        rows = self.rows.of(answers)
        return tuple(step.answer_by([found[query] for query in step.queries], entropy, rows) for step in self.steps)

    def caveats(self, answers: Sequence[Answer], told: Sequence[Answer]) -> tuple[str, ...]:
        """The words of every share, each once."""
        found = (self._share(columns, answers, told) for columns in dict.fromkeys(self.columns) if columns)
        return tuple(self._words(share, answers) for share in found if not idle(share.outcome))

    def stand(self, answers: Sequence[Answer], told: Sequence[Answer]) -> tuple[Answer, ...]:
        """The answers, each with the share of incomplete rows beside it; ``told`` are those of the shares."""
        return tuple(
            replace(
                self._with(answer, self._share(columns, answers, told), answers) if columns else answer,
                values=None,
            )
            for answer, columns in zip(answers, chain(self.columns, repeat(())), strict=False)
        )

    def recorded(self, answers: Sequence[Answer]) -> str | None:
        """Record of the shares in finished answers for the ledger; None if no snapshot is declared."""
        if self.snapshot is None:
            return None
        found = {answer.incomplete.columns: answer.incomplete for answer in answers if answer.incomplete is not None}
        for answer, columns in zip(answers, self.asked_for, strict=False):
            if columns:
                found[columns] = self.snapshot.marked(IncompleteRows(columns, answer.outcome))
        return recorded(list(found.values()))

    def _earlier(self, columns: Columns) -> IncompleteRows | None:
        return next((share for share in self.earlier if share.columns == columns), None)

    def _share(self, columns: Columns, answers: Sequence[Answer], told: Sequence[Answer]) -> IncompleteRows:
        found = self._told(columns, answers, told)
        return found if self.snapshot is None or found.origin else self.snapshot.marked(found)

    def _told(self, columns: Columns, answers: Sequence[Answer], told: Sequence[Answer]) -> IncompleteRows:
        """The share with the least wide interval of those that were released; every width is public."""
        if columns in self.left_out:
            return IncompleteRows(columns, None)
        return min(self._all_told(columns, answers, told), key=_width)

    def _all_told(
        self, columns: Columns, answers: Sequence[Answer], told: Sequence[Answer]
    ) -> Iterator[IncompleteRows]:
        """The share of an earlier release, the free one, the one that was bought, and the one that was asked for."""
        earlier = self._earlier(columns)
        if earlier is not None:
            yield earlier
        rows = self.rows.of(answers)
        complete = self._complete(columns, answers)
        if complete is not None and rows is not None:
            yield share_by_count(columns, complete, rows, float(self.rows.noise or 0))
        bought = zip((step.columns for step in self.steps), told, strict=True)
        asked_for = zip(self.asked_for, answers, strict=False)
        yield from (IncompleteRows(columns, found.outcome) for of, found in (*bought, *asked_for) if of == columns)

    def _complete(self, columns: Columns, answers: Sequence[Answer]) -> ValueCount | None:
        """The least noisy number of rows that lack nothing of these columns, where an answer tells one."""
        found = (answers[place].values for place in self.tellers if self.columns[place] == columns)
        told = (one for one in found if one is not None)
        return min(told, key=lambda one: sum(scale * scale for scale in one.scales), default=None)

    def _words(self, share: IncompleteRows, answers: Sequence[Answer]) -> str:
        return words(share, self.schema) + scant(share, self._complete(share.columns, answers), self.schema)

    def _with(self, answer: Answer, share: IncompleteRows, answers: Sequence[Answer]) -> Answer:
        estimand = answer.estimand + among(share.columns, self.schema) if answer.estimand else ""
        told = () if idle(share.outcome) else (self._words(share, answers),)
        caveats = (*answer.caveats, *told)
        return replace(answer, estimand=estimand, incomplete=share, caveats=caveats)


def _width(share: IncompleteRows) -> float:
    """Length of the interval of a share; infinite where there is none."""
    return share.outcome.value.high - share.outcome.value.low if isinstance(share.outcome, Reply) else math.inf


def place_of_count(asked: Sequence[Ask]) -> int | None:
    """The place of a question for the number of all rows, with the noise that shares allow for."""
    all_rows = (item.keys is None and item.weighed_by is None and item.statistic.name == "count" for item in asked)
    found = (place for place, plain in enumerate(all_rows) if plain)
    return next(found, None)


def _asked_for(asked: Sequence[Ask], schema: Schema) -> tuple[Columns, ...]:
    """For each question that is itself a share its columns that can hold odd cells; none for others."""
    return tuple(
        odd_among(item.statistic.of, schema) if isinstance(item.statistic, IncompleteShare) else () for item in asked
    )


def due(asked: Sequence[Ask], schema: Schema, units: int | None, known: EarlierShares) -> tuple[bool, ...]:
    """Answers, as flags, beside which stands a share that nothing else tells: it is bought, or left out.

    Parameters
    ----------
    asked : sequence of Ask
    schema : Schema
    units : int or None
        The public number of persons.
    known : EarlierShares
        Shares that earlier releases told.

    Returns
    -------
    tuple of bool
        A flag for each question.
    """
    counted = place_of_count(asked) is not None
    columns = tuple(odd_columns(item, schema) for item in asked)
    told = {*_asked_for(asked, schema)}
    told |= {
        one
        for item, one in zip(asked, columns, strict=True)
        if told_by(item, schema, units, counted=counted) or known.share(one) is not None
    }
    return tuple(bool(one) and one not in told for one in columns)


def _supposed(schema: Schema) -> int:
    """Persons that a share is planned for where their number is private: those declared, if any are.

    A filter, a household or a join makes the number private, and leaves at most those.
    """
    return schema.person.people or ASSUMED


def beside(
    asked: Sequence[Ask],
    amounts: Sequence[Fraction],
    step: Callable[[IncompleteShare, Fraction], IncompleteStep],
    schema: Schema,
    units: int | None,
    rows: Fraction | None = None,
    known: EarlierShares = NOTHING,
) -> tuple[ReleaseShares, tuple[Fraction, ...]]:
    """The shares to buy, and what each answer sets aside for its own.

    Parameters
    ----------
    asked : sequence of Ask
        Questions of the release.
    amounts : sequence of Fraction
        What each answer may cost, in epsilon or rho.
    step : function
        Prepares a share for an amount.
    schema : Schema
        Schema of the study.
    units : int or None
        The public number of persons.
    rows : Fraction or None
        The scale of the noise of the number of rows, where that is asked for.
    known : Known
        What earlier releases told.

    Returns
    -------
    tuple of ReleaseShares and tuple of Fraction
        Shares, and the amount set aside by each answer.
    """
    columns = tuple(odd_columns(item, schema) for item in asked)
    wanting = due(asked, schema, units, known)
    steps, left_out = [], []
    for of in dict.fromkeys(one for one, wants in zip(columns, wanting, strict=True) if wants):
        amount = SHARE * sum((paid for paid, one in zip(amounts, columns, strict=True) if one == of), Fraction(0))
        made = step(IncompleteShare(of), amount)
        width = made.as_declared.expected(_supposed(schema) if units is None else units).noise
        if width is None or width > WIDEST:
            left_out.append(of)
        else:
            steps.append(made)
    bought = {made.columns for made in steps}
    aside = tuple(SHARE * paid if one in bought else Fraction(0) for paid, one in zip(amounts, columns, strict=True))
    place = place_of_count(asked)
    number = ReleaseRowCount(public_rows(schema, units), place, rows or Fraction(0))
    tellers = tuple(at for at, item in enumerate(asked) if columns[at] and counts_complete(item, schema))
    asked_for = _asked_for(asked, schema)
    shown_again = tuple(known.share(of) for of in dict.fromkeys(columns) if of and of not in asked_for)
    return (
        ReleaseShares(
            schema,
            columns,
            tuple(steps),
            tuple(left_out),
            tellers,
            number,
            tuple(share for share in shown_again if share is not None),
            known.snapshot,
            asked_for,
        ),
        aside,
    )


NO_SHARES: Final = ReleaseShares(Schema({}, Person("add_remove")))
