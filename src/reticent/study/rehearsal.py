"""Rehearsal: the release's own code on made-up rows, from a stream that repeats itself.

The rows are drawn from the schema alone, so a rehearsal is about nobody and may be run as often as one likes. Its
stream is a ``Replayed``, a type a release does not accept; its answers carry no certificate and cannot be saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reticent.data.made_up_rows import made_up
from reticent.data.schema import Schema, flat
from reticent.data.table import open_table
from reticent.entropy import Replayed
from reticent.errors import QuestionError, first_of
from reticent.privacy.explain import sentence
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.answer import Answer
from reticent.study.allocation import PreparedRelease
from reticent.study.release import draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STREAM: Final = b"rehearsal"  # public: made-up rows need no secret
MOST_PEOPLE: Final = 100_000  # that are made up where nobody says how many


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal(Mapping[str, Answer]):
    """Answers about rows made up for ``people`` persons, by name, with the guarantee the real release would have."""

    answers: tuple[Answer, ...]
    caveats: tuple[str, ...]
    guarantee: Guarantee
    people: int

    def __getitem__(self, name: str) -> Answer:
        for answer in self.answers:
            if answer.name == name:
                return answer
        raise QuestionError(f"This rehearsal has no answer '{name}'. It has: {first_of(self)}.")

    def __iter__(self) -> Iterator[str]:
        return iter([answer.name for answer in self.answers])

    def __len__(self) -> int:
        return len(self.answers)

    def plot(self) -> Figure:
        """The made-up answers as ``release.plot`` draws real ones, without the units of their columns."""
        from reticent.certificate.render.figure import figure_of
        from reticent.certificate.render.panels import panels_of

        return figure_of(panels_of(self.answers, {}))

    def __repr__(self) -> str:
        lines = [f"made-up rows for {self.people:,} people; your file was not read and nothing was charged"]
        lines += [str(answer) for answer in self.answers]
        lines += [f"note       {caveat}" for caveat in self.caveats]
        lines.append(f"guarantee  {sentence(self.guarantee.loss, self.guarantee.adjacency)}")
        return "\n".join(lines)


def rehearse(prepared: PreparedRelease, schema: Schema, people: int) -> Rehearsal:
    """Run ``prepared`` on rows made up for ``people`` persons.

    Parameters
    ----------
    prepared : PreparedRelease
    schema : Schema
    people : int
        Number of made-up persons.

    Returns
    -------
    Rehearsal
    """
    stream, schema = Replayed(STREAM), flat(schema)
    table = open_table(made_up(schema, people, stream, "usual"), schema)
    answers, caveats = draw(prepared, table, stream, lambda stage: None)
    return Rehearsal(answers, caveats, prepared.guarantee, people)
