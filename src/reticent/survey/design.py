"""Designs as people hold them: the value of ``design_record``, with its methods.

Each method is one call of a function in a file below, which takes the value. ``designs`` makes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reticent.entropy import system
from reticent.errors import doors
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import Number
from reticent.survey import (
    cards,
    description,
    design_file,
    device,
    estimate,
    form,
    methods,
    rehearsal,
    shuffle,
    variance,
)
from reticent.survey.design_record import DesignRecord, Truth
from reticent.survey.rehearsal import SurveyRehearsal
from reticent.survey.result import Result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Design(DesignRecord):
    """One question asked through coins. Make one with ``survey.two_coins`` and its sisters, or ``survey.read``.

    Attributes
    ----------
    question : str
    method : str
        How the coins are worded: ``two_coins``, ``warner``, ``kary`` and so on.
    among : tuple of str
        The answers allowed, in order; ("yes", "no") for a yes-no question, empty for a number.
    mechanism : Mechanism
        One of ``reticent.mechanisms``, every probability a Fraction.
    low, high : Fraction or None
        The range of a number.

    Guarantee
    ---------
    That of ``mechanism``: any answer of one respondent against any other, in the local model. No ledger is charged:
    what the survey team holds is randomized already, and any number of analyses of it costs nothing more.
    """

    def distribution(self, truth: Truth) -> dict[str, Fraction]:
        """The probability of each token, given the truth; for at most 65,536 tokens."""
        return device.distribution(self, truth)

    def recipe(self) -> dict[str, object]:
        """Recipe by which a device draws by itself, in integers that JSON holds as text; see docs/theory/local.md."""
        return device.recipe(self)

    def say(self) -> str:
        """The coins in plain words, for respondents and for a report."""
        return description.say(self)

    def randomize(self, truth: Truth) -> str:
        """The token to send for one truth, with the operating system's coins.

        Raises
        ------
        PublicParameterError
            For a truth that is not on the list or not in the range; nothing is drawn, nothing is sent.
        """
        return device.one(self, truth, system())

    def randomize_many(self, truths: Sequence[Truth] | NDArray[np.generic]) -> NDArray[np.generic]:
        """One randomized answer for each truth, with the operating system's coins.

        Parameters
        ----------
        truths : array or sequence of shape (n,)
            Labels; or, as integers where the labels are none, places in ``among``; or numbers in the range.

        Returns
        -------
        array
            Labels for yes-no and k-ary designs; 0 and 1 of shape (n, k) for unary and subset; integers else. What
            ``estimate`` takes.
        """
        return device.many(self, truths, system())

    def design_effect(self, share: float | None = None) -> float:
        """Variance of the estimate over that of asking directly, for a true share; of a number, for its spread.

        Parameters
        ----------
        share : float
            In (0, 1), the share of an answer. For a number: the standard deviation of the truths, in its units.
        """
        return variance.design_effect(self, share)

    def people_for(self, margin: float, *, share: float | None = None, level: float = 0.95) -> int:
        """Number of answers that give the half-width ``margin``; at the worst share, unless ``share`` is named.

        Parameters
        ----------
        margin : float
            Half-width of the interval: a share such as 0.02, or the units of a number.
        share : float, optional
            The expected share, in [0, 1]; for a number its expected standard deviation. By default the worst case.
        level : float
            Coverage of the interval, in (0, 1).

        Returns
        -------
        int
            Number of answers, >= 1.

        Raises
        ------
        PublicParameterError
            A number out of its range, or a margin that no survey reaches.
        """
        return variance.people_for(self, margin, share=share, level=level)

    def simulate(
        self, people: int, *, share: Number | Sequence[Number] = (), runs: int | None = None, level: float = 0.95
    ) -> SurveyRehearsal:
        """Ask made-up people, again and again: how wide intervals are with so many, and how often they hold the truth.

        Parameters
        ----------
        people : int
            1 to 10 million.
        share : number, or one number for each answer
            Their true shares, in [0, 1]; of a yes-no question that of yes, by default 0.3. None for a number.
        runs : int, optional
            Number of surveys, by default 400, or fewer where that would take long.
        level : float
            Coverage of the intervals, in (0, 1).

        Returns
        -------
        SurveyRehearsal
            Widths beside those of asking openly. Nobody is asked, and the same call gives the same numbers.

        Raises
        ------
        PublicParameterError
            Shares that are no law, or numbers out of range.
        """
        shares = share if isinstance(share, Sequence) and not isinstance(share, str) else (share,)
        return rehearsal.simulate(self, people, shares, runs=runs, level=level)

    def estimate(
        self,
        answers: Sequence[object] | Mapping[str, int] | NDArray[np.generic],
        *,
        groups: Mapping[str, Sequence[object]] | None = None,
        interval: Literal["wilson", "exact"] = "wilson",
        level: float = 0.95,
    ) -> Result:
        """The population share of each answer, or the mean, from randomized answers.

        Parameters
        ----------
        answers : sequence of tokens, array of ``randomize_many``, or mapping of tokens to counts
            None and empty text are counted as no answer; what the design cannot say is counted and left out.
        groups : mapping of name to one value per answer
            For ``Result.by``.
        interval : str
            "wilson", or "exact": at least ``level`` for every share and size.
        level : float
            Coverage of each interval, in (0, 1).

        Returns
        -------
        Result
            Shares in [0, 1], or a mean in the unit of the question, with intervals.

        Raises
        ------
        PublicParameterError
            No answers, groups of another length, or a level out of its range.
        """
        return estimate.of_answers(self, answers, groups=groups or {}, interval=estimate.offered(interval), level=level)

    def estimate_table(
        self,
        path: str | Path,
        column: str,
        *,
        table: str | None = None,
        groups: Sequence[str] = (),
        respondent: str | None = None,
        code: str | None = None,
        interval: Literal["wilson", "exact"] = "wilson",
        level: float = 0.95,
    ) -> Result:
        """Estimate from a column of a CSV, Parquet or DuckDB file, counted in the engine.

        Parameters
        ----------
        path : path
            ``*.csv``, ``*.parquet`` or ``*.duckdb`` (then name the ``table``).
        column : str
            The column of randomized answers.
        table : str, optional
            The table of a DuckDB file.
        groups : sequence of str
            Columns for ``Result.by``.
        respondent : str, optional
            The column that says who answered: somebody who answered twice is refused.
        code : str, optional
            The column that holds ``Design.code``: answers to another design are refused.
        interval : str
            "wilson", or "exact": at least ``level`` for every share and size.
        level : float
            Coverage of each interval, in (0, 1).

        Returns
        -------
        Result
            Shares in [0, 1], or a mean in the unit of the question, with intervals.

        Raises
        ------
        PublicParameterError
            What ``estimate`` refuses; a file, table or column that is not there.
        """
        return estimate.of_table(
            self,
            Path(path),
            column,
            table=table,
            groups=tuple(groups),
            respondent=respondent,
            code=code,
            interval=estimate.offered(interval),
            level=level,
        )

    def shuffled(self, people: int, delta: Number, *, shuffler: str) -> Guarantee:
        """Central guarantee if only the counts of ``people`` answers are seen, and a shuffler is trusted.

        Parameters
        ----------
        people : int
            Number of shuffled answers, >= 2.
        delta : number
            Delta of the guarantee, in (0, 1).
        shuffler : str
            Who shuffles; the guarantee names them as trusted.

        Returns
        -------
        Guarantee
            An (epsilon, delta) for one replaced answer.

        Raises
        ------
        PublicParameterError
            Where a condition of the theorem fails (docs/theory/amplification.md).
        """
        return shuffle.guarantee(self, people, delta, shuffler)

    def at(self, epsilon: Number) -> Design:
        """The same question and method at another epsilon."""
        return methods.at(self, epsilon)

    def form(
        self,
        path: str | Path,
        post: str | None = None,
        *,
        ask: Mapping[str, Sequence[str]] | None = None,
        words: str | Path | None = None,
    ) -> Path:
        """Write a page that asks the question and draws in the browser: ``reticent.survey.form``.

        Parameters
        ----------
        path : str or Path
            The HTML file to write; one that is there is replaced.
        post : str, optional
            An https:// address that takes an answer by POST as JSON; by default the page only offers a file and a code.
        ask : mapping of str to sequences of str, optional
            Questions whose answers are sent as they are, for subgroups.
        words : str or Path, optional
            A file with the words of the page: a language, consent, contact (``reticent.survey.form_words``).

        Returns
        -------
        Path
            The file written.
        """
        return form.form(self, path, post, ask=ask, words=words)

    def cards(self, path: str | Path) -> Path:
        """Write a card with a spinner, for asking without a device: ``reticent.survey.cards``."""
        return cards.cards(self, path)

    def save(self, path: str | Path) -> Path:
        """Write the design to a new ``*.survey.toml`` file, with its fingerprint."""
        return design_file.save(self, Path(path))

    def __str__(self) -> str:
        return f"{self.question}\n{self.say()}"


doors(Design)
