"""The attack gallery: every known way to lose privacy as a few lines of code, refuted; and ours, which is not.

    gallery()                the exhibits, in the order of their classes
    gallery()[0].attack()    one attack: what was claimed, what was found, by which tool, in how many seconds
    print(run_gallery())     all of them with ours beside them, in about half a minute

The classes are those of the page docs/theory/gallery.md, which also lists what cannot be shown here. Exhibits that need
the clock of a quiet machine are left out of a run unless asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tests.assurance.broken import accounts, laws, noise, pipelines
from tests.assurance.broken.exhibit import AnyExhibit, Effort, Result


@dataclass(frozen=True, slots=True)
class Attacked:
    """One exhibit after the attack: what became of the broken one, and of ours."""

    exhibit: AnyExhibit
    broken: Result
    ours: Result

    @property
    def told_apart(self) -> bool:
        """True if the broken one was refuted and ours was not."""
        return self.broken.refuted and not self.ours.refuted


@dataclass(frozen=True, slots=True)
class Tour:
    """All exhibits that were attacked; ``str`` is the table, two lines each."""

    attacked: tuple[Attacked, ...]

    def rows(self) -> tuple[tuple[str, str, str, str, str, str], ...]:
        """(class, broken, claimed, found, tool, what was found of ours)."""
        return tuple(
            (
                one.broken.failure,
                one.broken.name,
                one.broken.claimed,
                one.broken.found.words,
                one.broken.tool,
                f"{one.ours.name}: {one.ours.found.words}",
            )
            for one in self.attacked
        )

    @property
    def seconds(self) -> float:
        return sum(one.broken.seconds + one.ours.seconds for one in self.attacked)

    def __str__(self) -> str:
        lines = [f"{one.broken}\n{one.ours}" for one in self.attacked]
        refuted = sum(one.broken.refuted for one in self.attacked)
        held = sum(not one.ours.refuted for one in self.attacked)
        total = len(self.attacked)
        return "\n".join(
            [*lines, f"{refuted} of {total} broken refuted, {held} of {total} of ours withstood, {self.seconds:.0f} s"]
        )


def gallery() -> tuple[AnyExhibit, ...]:
    """Every exhibit, by class."""
    shown = (*noise.EXHIBITS, *pipelines.EXHIBITS, *laws.EXHIBITS, *accounts.EXHIBITS)
    return tuple(sorted(shown, key=lambda exhibit: (exhibit.failure[0], int(exhibit.failure[1:]))))


def run_gallery(effort: Effort | None = None, *, machine: Literal["busy", "quiet"] = "busy") -> Tour:
    """Attack everything broken, and ours in the same way.

    Parameters
    ----------
    effort : Effort, optional
        By default 20,000 draws a side from replayed coins, so that the table repeats but for its seconds.
    machine : "busy" | "quiet"
        On a quiet one the attacks by a real clock are made as well; what they find does not repeat.
    """
    chosen = [exhibit for exhibit in gallery() if machine == "quiet" or not exhibit.machine]
    return Tour(tuple(Attacked(one, one.attack(effort), one.withstand(effort)) for one in chosen))
