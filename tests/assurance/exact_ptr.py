"""Propose-test-release, and statistics by smooth sensitivity, on all tiny tables: from the rows to the answer.

A question is prepared as a study prepares it, and its step answers every table of a few rows over a few integers; all
neighbours are compared. An ``exact_gate.Gate`` lists what the mechanisms let out. Under substitution n is public, under
add/remove it is declared or bought; for a bought one the ranks follow from a noisy n, so the program of every noisy n
runs on tables of every size. Epsilon is large, so that thresholds are within the reach of so few rows.

The squares that a trimmed mean buys for its interval have 2**20 steps a row: there the integers handed over are
compared, for every answer (``gated``). Tables are put in order here and not read by the engine; one in ``EVERY`` is
read by it, too, and must be the same (all of them in the deep report).

The column ``free`` has no bounds, so its magnitude is bought first. It is drawn among the usual binades (all in
the deep report), and each goes on to an answer in steps of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations, combinations_with_replacement
from typing import Any, Final, TypeAlias, TypeVarTuple, cast

import numpy as np

from reticent.data.candidates import FINEST, Cells, cells_of, prior
from reticent.data.order_statistics import Needs, Order, RunLength, fetched
from reticent.data.query import OrderedValues, Ranks
from reticent.data.query_result import Counts, QueryResult, content
from reticent.data.schema import Person, Schema, integer, real
from reticent.data.table import open_table
from reticent.entropy import Entropy
from reticent.errors import CheckError, PublicParameterError, QuestionError
from reticent.exact.rounding import exp_down
from reticent.privacy.adjacency import Kind
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.loss import ApproxDP, Loss, PureDP, words
from reticent.statistics.column_step import GroupResult, PlannedStep
from reticent.statistics.context import ExpectedAccuracy, Setting, Step
from reticent.statistics.options import PTR
from reticent.statistics.prepare import prepare
from reticent.statistics.quantiles.median import Median
from reticent.statistics.ranks import placed
from reticent.statistics.robust.answers import MechanismReport
from reticent.statistics.robust.plans import CountedPlan, MagnitudePlan
from reticent.statistics.robust.scale import Scale
from reticent.statistics.robust.trimmed_mean import TrimmedMean
from reticent.statistics.statistic import Statistic
from tests.assurance.claims import UNSEEN, Line, compared
from tests.assurance.exact_gate import Gate, through_gate
from tests.assurance.laws import Law, form
from tests.assurance.pipelines import KEY

Column: TypeAlias = tuple[int, ...]
Given = TypeVarTuple("Given")

MOST: Final = 15  # the bound of the column; as a width it is the last of its bin
EVERY: Final = 20
FEW: Final = (0, MOST)
SOME: Final = (0, 7, MOST)  # widths in one bin, as far apart as a bin is wide, and in others
NEAR: Final = (0, 2, MOST)  # values as far apart as the width proposed, and further
MIDDLE: Final = (Fraction(1, 2),)
FINE: Final = UNSEEN / 16  # of what may be left unseen
USUAL: Final = prior(FINEST)


@dataclass(frozen=True, slots=True)
class Case:
    """A question, what it may cost, and the tables: all columns of ``sizes`` values of ``grid``.

    ``n`` is the public number of values, declared under add/remove; None where it is bought. ``rows`` is the most of
    one person. ``among`` has the binades that a magnitude is drawn from.
    """

    asked: Statistic
    kind: Kind
    n: int | None
    sizes: tuple[int, ...]
    epsilon: Fraction
    grid: Column = FEW
    rows: int = 1
    delta: Fraction = Fraction(1, 2)
    among: Cells = USUAL


def median(width: int | None = None) -> Median:
    """M, with a width given or bought."""
    return Median("x", method="M", ptr=PTR(width=width))


SMOOTH: Final = Median("x", method="smooth")
STABLE: Final = Scale("x", method="stable")
SIZED: Final = Scale("free", method="stable")
TRIMMED: Final = TrimmedMean("x", Fraction(1, 3), method="TM")  # of six values, the least that have a safe width
SMOOTH_MEAN: Final = TrimmedMean("x", Fraction(1, 5), method="smooth")


TWICE: Final = Case(median(2), "add_remove", None, (5, 6), Fraction(56), rows=2)


def cases(*, deep: bool = False) -> Iterator[Case]:
    """Both adjacencies with five values, then with a bought number of values."""
    few = SOME if deep else FEW
    both: tuple[tuple[Kind, Column], ...] = (("substitute", (5,)), ("add_remove", (4, 5, 6) if deep else (5, 6)))
    for kind, sizes in both:
        grid = (0, 1, 7, MOST) if deep else SOME if kind == "substitute" else few
        for asked in (Scale("x"), STABLE):
            yield Case(asked, kind, 5, sizes, Fraction(16), grid)
        yield Case(median(2), kind, 5, sizes, Fraction(16), NEAR if grid is SOME else grid)
        yield Case(median(), kind, 5, sizes, Fraction(24), few)
        yield Case(TRIMMED, kind, 6, tuple(size + 1 for size in sizes), Fraction(24), few)
        for smooth in (SMOOTH, SMOOTH_MEAN):
            yield Case(smooth, kind, 5, sizes, Fraction(2), SOME)
        among = cells_of(real(), "free") if deep else USUAL
        yield Case(SIZED, kind, 5, sizes[:2], Fraction(24), FEW, among=among)
    for bought in (STABLE, *((median(2), Scale("x"), TRIMMED) if deep else ())):
        yield Case(bought, "add_remove", None, (4, 5, 6) if deep else (5, 6), Fraction(56), few)
    if deep:
        yield TWICE


def lines(*, deep: bool = False) -> Iterator[Line]:
    """A line for each case."""
    for case in cases(deep=deep):
        yield verified(case, every=1 if deep else EVERY)


def verified(case: Case, *, every: int = EVERY) -> Line:
    """The line of one case, over all neighbours among its tables."""
    step, schema = prepared(case)
    columns = [column for size in case.sizes for column in combinations_with_replacement(case.grid, size)]
    found = [held(column, step) for column in columns]
    for column, one in list(zip(columns, found, strict=True))[::every]:
        if content(one) != content(read(column, step, schema)):
            raise CheckError("the engine reads a table otherwise than it is put in order here")
    pairs = list(apart(columns, case))
    sizes = f"{min(case.sizes)} to {max(case.sizes)} values" if len(case.sizes) > 1 else f"{case.sizes[0]} values"
    how = "bought" if case.n is None else "public" if case.kind == "substitute" else "declared"
    return judged(f"{step.name} ({case.kind}, {sizes}, n {how})", step, found, pairs)


def apart(columns: Sequence[Column], case: Case) -> Iterator[tuple[int, int]]:
    """Pairs that differ in one person: who has another value, or who came with up to ``rows`` of them."""
    held = [Counter(column) for column in columns]
    for i, j in combinations(range(len(columns)), 2):
        gone, come = (held[i] - held[j]).total(), (held[j] - held[i]).total()
        added = min(gone, come) == 0 and 0 < gone + come <= case.rows
        if (gone, come) == (1, 1) if case.kind == "substitute" else added:
            yield i, j


def prepared(case: Case) -> tuple[Step, Schema]:
    """The step of a case as a release has it; a bought n has its plans kept, which depend on that number alone."""
    people = case.n if case.kind == "add_remove" else None
    person = Person(case.kind, None if case.rows == 1 else "who", case.rows, people)
    schema = Schema({"x": integer(0, MOST, missing=0), "free": real(missing=0)}, person)
    step: Any = prepare(case.asked, Setting(schema, case.n, None, case.delta), case.epsilon)
    if isinstance(step, PlannedStep) and isinstance(step.plan, CountedPlan | MagnitudePlan):
        step = replace(step, plan=replace(cast(Any, step.plan), make=kept(step.plan.make)))
    if isinstance(step, PlannedStep) and isinstance(step.plan, MagnitudePlan):
        step = replace(step, plan=replace(step.plan, cells=case.among))
    return step, schema


@dataclass(frozen=True)
class Stated:
    """A plan whose guarantee is derived once."""

    made: MechanismReport

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.made.guarantee

    @property
    def needs(self) -> Needs | None:
        return self.made.needs

    def draw(self, data: Order, entropy: Entropy) -> GroupResult:
        return self.made.draw(data, entropy)

    def expected(self) -> ExpectedAccuracy:
        return self.made.expected()


def kept(make: Callable[[*Given], MechanismReport]) -> Callable[[*Given], MechanismReport]:
    """The same plans, each made once: for a number of values, and for a unit where that is bought."""

    @cache
    def tried(*given: *Given) -> MechanismReport | QuestionError | PublicParameterError:
        try:
            return Stated(make(*given))
        except (QuestionError, PublicParameterError) as refusal:
            return refusal

    def made(*given: *Given) -> MechanismReport:
        found = tried(*given)
        if isinstance(found, QuestionError | PublicParameterError):
            raise found
        return found

    return made


def held(column: Column, step: Step) -> QueryResult:
    """A column in order, as a step reads it: as it is, or by fine cell."""
    (query,) = step.queries
    if isinstance(query, Ranks):
        cells = candidates(step)
        places, many = np.unique(cells.index(np.array(column, np.float64)), return_counts=True)
        return QueryResult(ranks=(Counts(places, many.astype(np.int64)),))
    assert isinstance(query, OrderedValues)
    low, high = query.within or (-MOST, MOST)
    values, counts = np.unique(np.clip(np.array(column, np.int64), int(low), int(high)), return_counts=True)
    inside = RunLength(values, counts.astype(np.int64))
    return QueryResult(orders=(inside if query.needs is None else fetched(inside, query.needs),))


def candidates(step: Step) -> Cells:
    """The cells of a step that buys a magnitude."""
    assert isinstance(step, PlannedStep)
    assert isinstance(step.plan, MagnitudePlan)
    return step.plan.cells


def read(column: Column, step: Step, schema: Schema) -> QueryResult:
    """The same column, read by the engine."""
    import pyarrow as pa

    who = [f"p{place // schema.person.rows}" for place in range(len(column))]
    values = pa.array(column[::-1], pa.float64())
    data = {"x": values, "free": values, "who": pa.array(who, pa.string())}
    if schema.person.column is None:
        del data["who"]
    (found,) = open_table(pa.table(data), schema).run(step.queries, KEY)
    if found.ranks:
        (counts,) = found.ranks
        return QueryResult(ranks=(placed(cells_of(real(), "free"), candidates(step), counts),))
    return found


def judged(name: str, step: Step, found: Sequence[QueryResult], pairs: Sequence[tuple[int, int]]) -> Line:
    """What the answers and the integers handed to wide noise lose together."""
    loss = step.guarantee.loss
    assert isinstance(loss, ApproxDP | PureDP)
    least = FINE * exp_down(-loss.epsilon, 64)
    laws, handed = zip(*(law_of_answers(step, one, least) for one in found), strict=True)
    cost, within = wide(handed, pairs)
    rest: Loss = replace(loss, epsilon=loss.epsilon - cost)
    what = "all draws" if not cost else f"all draws but squares: integers handed to noise compared, ε {cost} of it"
    line = compared(name, laws, pairs, rest, what=what)
    return replace(line, claim=words(loss), verdict=line.verdict if within else "refuted")


Handed: TypeAlias = dict[Hashable, tuple[tuple[Any, Column], ...]]


def law_of_answers(step: Step, one: QueryResult, least: Fraction) -> tuple[Law, Handed]:
    """The law of the answer to one table, and what wide noise was handed on the way to each answer."""
    handed: Handed = {}
    if getattr(step, "possible", None) is not None:
        step = replace(cast(Any, step), possible=None)  # more is told where the nearest possible value hides nothing

    def answer(entropy: Gate) -> object:
        entropy.handed.clear()
        given = form(step.answer((one,), entropy))
        now = tuple(entropy.handed)
        if handed.setdefault(given, now) != now:
            raise CheckError("one answer hands several numbers to wide noise")
        return given

    return through_gate(answer, least=least), handed


def wide(handed: Sequence[Handed], pairs: Sequence[tuple[int, int]]) -> tuple[Fraction, bool]:
    """What wide noise claims, and whether no answer's integers move further between neighbours."""
    calls = {tuple(mechanism for mechanism, _ in some) for table in handed for some in table.values()}
    claimed = max((sum((m.epsilon for m in made), Fraction(0)) for made in calls), default=Fraction(0))
    for i, j in pairs:
        for answer in handed[i].keys() & handed[j].keys():
            here, there = handed[i][answer], handed[j][answer]
            if [m for m, _ in here] != [m for m, _ in there]:
                return claimed, False
            moved = sum(
                (
                    sum(abs(x - y) for x, y in zip(a, b, strict=True)) / mechanism.scale
                    for (mechanism, a), (_, b) in zip(here, there, strict=True)
                ),
                Fraction(0),
            )
            if moved > claimed:
                return claimed, False
    return claimed, True
