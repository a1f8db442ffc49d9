"""A question answered by one plan on one column (or on rows), per group: from a plan to a step.

A plan has its guarantee before rows are read and draws one group's numbers. Asked by group, it is made for adding or
removing one row and run on every group by itself: the groups are a partition that nobody looked for, and what one row
costs is lifted to a person at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from reticent.data.order_statistics import RankWindows
from reticent.data.query import Query, Ranks
from reticent.data.query_result import QueryResult
from reticent.entropy import Entropy
from reticent.outcome import Estimate, Outcome
from reticent.privacy import compose
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.statistics.answer import CLIPPED, Answer, Cell, Label
from reticent.statistics.context import NO_WORK, ExpectedAccuracy, Setting, StepWork, of_persons
from reticent.statistics.possible import Ends, nearest
from reticent.statistics.public_facts import of_dates

D = TypeVar("D")
D_co = TypeVar("D_co", covariant=True)
D_contra = TypeVar("D_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class GroupResult:
    """The numbers of one group, one for each label of the plan, and what they say about themselves.

    ``words`` and ``estimand`` may depend on what was drawn and on public numbers, and on nothing else. An estimand
    that is known only after the draw, such as a mean of values cut to released bounds, goes before the step's.
    ``label`` is the public name of the group that the words are about; empty where they name none.
    """

    outcomes: tuple[Outcome[Estimate], ...]
    words: tuple[str, ...] = ()
    estimand: str = ""
    label: str = ""


class GroupPlan(Protocol[D_contra]):
    """Draw from the data of one group."""

    @property
    def guarantee(self) -> Guarantee: ...

    def draw(self, data: D_contra, entropy: Entropy) -> GroupResult: ...

    def expected(self, people: int) -> ExpectedAccuracy: ...


class GroupReader(Protocol[D_co]):
    """Reader of the part of a result that a plan uses: the data of each group, in order."""

    def __call__(self, result: QueryResult) -> Sequence[D_co]: ...


@dataclass(frozen=True, slots=True)
class PlannedStep(Generic[D]):
    """A plan as a step. ``rows`` is the most values one person has over all groups together; it lifts by group.

    ``possible`` are the public ends of what the numbers can be, where one law says it of all of them.
    """

    name: str
    query: Query
    read: GroupReader[D]
    plan: GroupPlan[D]
    setting: Setting
    rows: int
    labels: tuple[Label, ...]
    caveats: tuple[str, ...] = ()
    estimand: str = ""
    possible: Ends | None = None

    @property
    def queries(self) -> tuple[Query, ...]:
        """The query, with the windows of ranks that the plan looks at, if it tells of any.

        By group each would ask its own further questions of all rows, so all values are read.
        """
        windows: RankWindows | None = getattr(self.plan, "windows", None)
        if windows is None or not isinstance(self.query, Ranks) or (windows.scanned and self.query.keys is not None):
            return (self.query,)
        return (replace(self.query, windows=windows),)

    @property
    def work(self) -> StepWork:
        """Work of the plan, if it tells of any."""
        work: StepWork = getattr(self.plan, "work", NO_WORK)
        return work

    @property
    def guarantee(self) -> Guarantee:
        keys, near = self.setting.keys, self.setting.neighbours
        if keys is None:
            return replace(self.plan.guarantee, label=self.name)
        row = Adjacency("add_remove", unit="row")
        every = compose.across([self.plan.guarantee] * len(keys.among), neighbours=row, label="all groups")
        return compose.of_person(every, near, rows=self.rows, label=self.name)

    def answer(self, results: Sequence[QueryResult], entropy: Entropy) -> Answer:
        (result,) = results
        drawn = [self.plan.draw(data, entropy) for data in self.read(result)]
        found = [outcome for group in drawn for outcome in group.outcomes]
        outcomes = [nearest(outcome, self.possible) for outcome in found]
        cells = tuple(Cell(label, outcome) for label, outcome in zip(self.labels, outcomes, strict=True))
        words = (*said_once(drawn), *([CLIPPED] if outcomes != found else []))
        estimands = dict.fromkeys(group.estimand for group in drawn if group.estimand)
        return Answer(self.name, cells, (*self.caveats, *words), estimand="; ".join(estimands))

    def expected(self, people: int) -> ExpectedAccuracy:
        groups = 1 if self.setting.keys is None else len(self.setting.keys.among)
        person = self.setting.schema.person
        column = getattr(self.query, "column", "")

        def expected(values: int) -> ExpectedAccuracy:
            return of_dates(self.plan.expected(max(values // groups, 1)), column, self.setting)

        return of_persons(expected, people, self.rows, person)


def said_once(drawn: Sequence[GroupResult]) -> tuple[str, ...]:
    """The words of groups, each text once: behind the names of its groups, unless every group says it."""
    found: dict[str, list[str]] = {}
    for group in drawn:
        for text in dict.fromkeys(group.words):
            found.setdefault(text, []).append(group.label)
    every = [group.label for group in drawn]
    return tuple(f"{_named(labels, every)}{text}" for text, labels in found.items())


def _named(labels: Sequence[str], every: Sequence[str]) -> str:
    """Some of these groups before their words: the fewer of those meant and those not meant; empty for all."""
    rest = [label for label in every if label not in labels]
    if not rest or not all(labels):
        return ""
    return f"all but {', '.join(rest)}: " if len(rest) < len(labels) else f"{', '.join(labels)}: "
