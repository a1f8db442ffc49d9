"""Questionnaires as people hold them: the value of ``questionnaire_record``, with its methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reticent.entropy import system
from reticent.survey import design_file, form, questionnaire_record
from reticent.survey.design import Design
from reticent.survey.design_record import Truth
from reticent.survey.questionnaire_record import QuestionnaireRecord


@dataclass(frozen=True, slots=True)
class Questionnaire(QuestionnaireRecord):
    """Designs that one respondent answers, in order. Make one with ``survey.several``."""

    designs: tuple[Design, ...]

    def randomize(self, truths: Mapping[str, Truth]) -> dict[str, str]:
        """One token for each question; all truths are checked before a coin is tossed, so nothing is sent by halves."""
        return questionnaire_record.randomize(self, truths, system())

    def say(self) -> str:
        """Every question's coins, and what all answers tell together."""
        return questionnaire_record.say(self)

    def form(
        self,
        path: str | Path,
        post: str | None = None,
        *,
        ask: Mapping[str, Sequence[str]] | None = None,
        words: str | Path | None = None,
    ) -> Path:
        """Write a page that asks all questions and draws in the browser: ``reticent.survey.form``.

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

    def save(self, path: str | Path) -> Path:
        """Write a new ``*.survey.toml`` file, with a fingerprint over all questions."""
        return design_file.save(self, Path(path))
