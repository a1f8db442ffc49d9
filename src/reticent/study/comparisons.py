"""Comparisons of the answers of a release: differences, ratios, totals, and many answers at once. Free.

Each takes released numbers alone, so that it works on a release that was read from its file as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reticent.errors import QuestionError, doors
from reticent.statistics.answer import Answer

if TYPE_CHECKING:
    from reticent.statistics.answer import Answer
    from reticent.statistics.comparison import Named
    from reticent.statistics.statistic import Ask, Statistic


class Comparisons(ABC):
    """The verbs that compare answers with a name."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        doors(cls)

    @abstractmethod
    def _by_name(self) -> Mapping[str, Answer]: ...

    def difference(self, one: Named, other: Named, *, of: str | Statistic | Ask | None = None) -> Answer:
        """The first answer less the second, with a 95 % interval that knows what the two have in common. Free.

        Parameters
        ----------
        one, other : str, question or tuple
            An answer with one cell; a cell by its name as it is shown, ``"mean(cost) by ward · north"``, or by its
            answer and keys, ``("mean(cost) by ward", "north")``.
        of : str or question, optional
            The answer whose groups or bins ``one`` and ``other`` then are: ``difference("north", "south", of=...)``.

        Returns
        -------
        Answer
            No reply where a part is none. Its estimand and caveats are those of its parts.

        Raises
        ------
        QuestionError
            A name stands for no cell, for several, or for one without an interval.
        """
        from reticent.statistics import comparison

        first, second = (comparison.one(self._by_name(), name, of) for name in (one, other))
        return comparison.difference(first, second)

    def ratio(self, one: Named, other: Named, *, of: str | Statistic | Ask | None = None) -> Answer:
        """The first answer divided by the second, with a 95 % interval; named as in ``difference``. Free.

        It is no reply where the divisor may be 0.

        Parameters
        ----------
        one, other : str, question or tuple
            An answer with one cell, or a cell by its name or by its answer and keys; the second is the divisor.
        of : str or question, optional
            The answer whose groups or bins ``one`` and ``other`` then are.

        Returns
        -------
        Answer
            A number without a unit, with its 95 % interval.

        Raises
        ------
        QuestionError
            A name stands for no cell, for several, or for one without an interval.
        """
        from reticent.statistics import comparison

        first, second = (comparison.one(self._by_name(), name, of) for name in (one, other))
        return comparison.ratio(first, second)

    def total(self, parts: Sequence[Named] = (), *, of: str | Statistic | Ask | None = None) -> Answer:
        """The sum of answers or cells, with a 95 % interval; named as in ``difference``. Free.

        Parameters
        ----------
        parts : sequence of names
            An answer with several cells stands for all of them.
        of : str or question, optional
            The answer whose groups or bins ``parts`` are; without parts all of its cells.

        Raises
        ------
        QuestionError
            As in ``difference``; nothing is named.
        """
        from reticent.statistics import comparison

        if isinstance(parts, str):
            raise QuestionError('name the parts of a total in a list: ["a", "b"]')
        if not parts and of is not None:
            return comparison.total(comparison.find(self._by_name(), of))
        return comparison.total([part for name in parts for part in comparison.find(self._by_name(), name, of)])

    def compare(self, text: str, *, of: str | Statistic | Ask | None = None) -> Answer:
        """The comparison that a text asks, ``difference(mean(x), mean(y))``, or the cells that it names. Free.

        Parameters
        ----------
        text : str
            Its parts are named as in ``difference``.
        of : str or question, optional
            The answer whose groups or bins the parts are.

        Raises
        ------
        QuestionError
            As in ``difference``; a difference or ratio of other than two.
        """
        from reticent.statistics import comparison

        found = comparison.read_comparison(text, lambda part: comparison.names(self._by_name(), part, of))
        if found is None:
            cells = comparison.find(self._by_name(), text, of)
            return replace(cells[0].answer, cells=tuple(part.cell for part in cells))
        verb, parts = found
        if verb == "total":
            return self.total(parts, of=of)
        if len(parts) != 2:
            raise QuestionError(f"a {verb} is of two answers, got {len(parts)}: {text}")
        return (self.difference if verb == "difference" else self.ratio)(*parts, of=of)

    def against(self, other: Comparisons, text: str, *, apart: bool = False) -> tuple[Answer, ...]:
        """Compare answers of this release with those of another, with 95 % intervals. Free.

        The noises of two releases are independent. Their sampling errors are not where people are in both: intervals
        then allow for the worst that these may have in common.

        Parameters
        ----------
        other : Release
            Another release, of this study or of any other.
        text : str
            The name of an answer or a cell that both have: each cell of this release less that of the other. Or
            ``"ratio(mean(x), mean(x))"`` or a difference, whose second part is of the other release.
        apart : bool
            You say that nobody is in both tables: sampling errors are independent then.

        Returns
        -------
        tuple of Answer
            One for each cell.

        Raises
        ------
        QuestionError
            Two files of one release; a name that stands for nothing; a total.
        """
        from reticent.statistics import comparison
        from reticent.statistics.comparison import ReleasedCell

        if self._told_by() == other._told_by():
            raise QuestionError("These are two copies of one release. Compare its answers in one of them.")
        names = self._told_by()[0], other._told_by()[0]
        names = names if names[0] != names[1] else ("the first", "the second")

        def cells(whose: Comparisons, which: int, part: str) -> list[ReleasedCell]:
            found = comparison.find(whose._by_name(), part)
            people = names[which] if apart else ""
            return [replace(one, release=names[which], people=people) for one in found]

        asked = comparison.read_comparison(
            text, lambda part: any(comparison.names(whose._by_name(), part) for whose in (self, other))
        )
        if asked is not None and (asked[0] == "total" or len(asked[1]) != 2):
            raise QuestionError(f"Of two releases a difference or a ratio is told, of one part each, got {text}")
        verb, (first, second) = ("difference", (text, text)) if asked is None else asked
        here, there = cells(self, 0, first), cells(other, 1, second)
        if asked is not None and len(here) == len(there) == 1:
            pairs = list(zip(here, there, strict=True))
        else:
            by_label = {one.cell.label: one for one in there}
            pairs = [(one, by_label[one.cell.label]) for one in here if one.cell.label in by_label]
        if not pairs:
            raise QuestionError(f"The two releases have no cell of {text} in common.")
        if asked is None:
            return tuple(comparison.between(*pair) for pair in pairs)
        return tuple((comparison.difference if verb == "difference" else comparison.ratio)(*pair) for pair in pairs)

    @abstractmethod
    def _told_by(self) -> tuple[str, str]:
        """The receipt of the release, and the digest of its certificate."""

    def simultaneous(
        self, answers: Sequence[str | Statistic | Ask | Answer] = (), *, level: float = 0.95
    ) -> tuple[Answer, ...]:
        """The answers with wider intervals, which all hold together with probability ``level``. Free.

        Parameters
        ----------
        answers : sequence of names or answers
            Differences and totals of this release can be among them; by default all answers of the release but those
            whose interval is known at 95 % alone.
        level : float

        Raises
        ------
        QuestionError
            An answer that is named has an interval at 95 % alone: a quantile, a variance, a ratio.
        """
        from reticent.statistics import multiple_comparisons

        chosen = self._chosen(answers)
        return multiple_comparisons.simultaneous(
            chosen if answers else list(filter(multiple_comparisons.widens, chosen)), level
        )

    def discoveries(
        self, answers: Sequence[str | Statistic | Ask | Answer] = (), *, rate: float = 0.05, null: float | None = None
    ) -> tuple[str, ...]:
        """The names of the tests that are significant, where a share ``rate`` of those named may be false. Free.

        Parameters
        ----------
        answers : sequence of names or answers
            By default all answers of the release.
        rate : float
            The expected share of false discoveries.
        null : float, optional
            Hold every cell with a known law against this number, and not the tests of the release.

        Returns
        -------
        tuple of str
            Names of the tests, in the order given.

        Raises
        ------
        QuestionError
            There is nothing to be tested.
        """
        from reticent.statistics import multiple_comparisons

        return multiple_comparisons.discoveries(self._chosen(answers), rate=rate, null=null)

    def _chosen(self, answers: Sequence[str | Statistic | Ask | Answer]) -> list[Answer]:
        from reticent.statistics import comparison

        if isinstance(answers, str):
            raise QuestionError('name answers in a list: ["a", "b"]')
        named = self._by_name()
        found = [one if isinstance(one, Answer) else comparison.find(named, one)[0].answer for one in answers]
        return found or list(named.values())


doors(Comparisons)
