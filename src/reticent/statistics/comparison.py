"""Comparisons of released numbers: differences, ratios and totals with 95 % intervals, and many cells at once.

    read_comparison(text)      the verb and the parts of ``difference(a, b)``, whose names may have commas
    find(answers, name)        the cells that a name stands for, with what tells how they depend on one another
    difference, ratio, total   an answer about several cells
    simultaneous               the same answers with intervals that hold together
    discoveries                the tests, or cells, that differ from nothing at a stated rate of false discoveries

All of it is post-processing of released numbers and costs nothing. Derivations: docs/theory/comparisons.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Final, TypeAlias

from reticent.data.expression_tree import divided
from reticent.data.format import nearest
from reticent.data.schema import Key
from reticent.errors import QuestionError, Refusal, first_of
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.statistics.answer import CLIPPED, DRAWN, SEPARATOR, Answer, Cell, key_words, label_words, meant
from reticent.statistics.counts.count import Count
from reticent.statistics.counts.histogram import Histogram
from reticent.statistics.counts.total import Sum
from reticent.statistics.error_law import ErrorLaw, combined
from reticent.statistics.grammar import parse, spelt
from reticent.statistics.intervals import ALLOWED, COVERS, LEVEL, ONE_END, SPANNING
from reticent.statistics.moments.proportion import Proportion
from reticent.statistics.statistic import Ask, Statistic

Named: TypeAlias = "str | Statistic | Ask | tuple[str | Statistic | Ask | Key, ...]"

COMPARISON: Final = re.compile(r"^(difference|total|ratio)\((.+)\)$", re.DOTALL)
LEAST_LEVEL: Final = 0.5  # a bound on probabilities below it is no interval
SLIP: Final = 1e-5  # of a half-width: rounding between two ways to compute one
DOUBLINGS: Final = 40
SAFE: Final = (
    "how the sampling errors of these answers go together was not released: the interval allows for the worst that "
    "their variances allow"
)
UNION: Final = (
    "an interval of a part is known at 95 % alone: the ends are those of the parts together, and hold with the level "
    "that is stated whatever the parts have in common"
)
APART: Final = "an interval of a part is known at 95 % alone: half-widths of independent parts add as their squares"
OTHER_COLUMNS: Final = "the two answers are of different columns, and a difference needs one unit"
UNLIKE: Final = "the two releases do not estimate the same"
MOST_GROUPS: Final = 500  # groups of a total whose errors are added one by one, each looked at beside all others
NO_RATIO: Final = "no reply: the interval of the divisor has 0 in it"


@dataclass(frozen=True, slots=True)
class ReleasedCell:
    """One cell of an answer, with its place in the release.

    ``release`` names the release where cells of two are compared, ``people`` the people where these are others.
    """

    answer: Answer
    cell: Cell
    release: str = ""
    people: str = ""

    @property
    def name(self) -> str:
        return title(self.answer, self.cell) + (f" of {self.release}" if self.release else "")

    @property
    def estimand(self) -> str:
        """The quantity that the cell estimates, with its group or bin."""
        text, left = self.answer.estimand or self.answer.name, list[tuple[str, Key]]()
        for column, key in self.cell.label:
            general, own = f", in each group of {column}", f", in {column} {key_words(key)}"
            if general in text:
                text = text.replace(general, own)
            else:
                left.append((column, key))
        return f"{text} ({label_words(replace(self.cell, label=tuple(left)))})" if left else text


def title(answer: Answer, cell: Cell) -> str:
    """The name of a cell: ``mean(cost) by ward, sex · north · f``."""
    return SEPARATOR.join(filter(None, (answer.name, cell.where)))


# --- names ------------------------------------------------------------------------------------------------------------


def read_comparison(text: str, known: Callable[[str], bool]) -> tuple[str, tuple[str, ...]] | None:
    """The verb and the parts of a text such as ``difference(mean(x), mean(y))``; None where it is no comparison.

    A comma may part two names or stand in one, as in ``mean(x) by a, b · north, f``. Parts that ``known`` takes for
    names decide: as many of them as can be, or two of a difference and a ratio. Without such parts every comma parts.
    """
    found = COMPARISON.match(text.strip())
    if found is None:
        return None
    verb, pieces = found[1], _split(found[2])
    parts = _joined(pieces, known, len(pieces) if verb == "total" else min(2, len(pieces)))
    return verb, tuple(piece.strip() for piece in parts or pieces)


def _split(text: str) -> tuple[str, ...]:
    """The pieces between commas, none of which stands in brackets."""
    pieces, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            pieces.append(text[start:place])
            start = place + 1
    return (*pieces, text[start:])


def _joined(pieces: Sequence[str], known: Callable[[str], bool], most: int) -> tuple[str, ...]:
    """At most ``most`` known names that the pieces make up together, as many as can be; none where they make up none.

    ``best[k]`` has the names that the first pieces make up, by their number.
    """
    best: list[dict[int, tuple[str, ...]]] = [{0: ()}]
    for end in range(1, len(pieces) + 1):
        made: dict[int, tuple[str, ...]] = {}
        for start in range(end):
            name = ",".join(pieces[start:end])
            if best[start] and known(name.strip()):
                made |= {count + 1: (*names, name) for count, names in best[start].items() if count < most}
        best.append(made)
    return best[-1].get(max(best[-1], default=0), ())


def find(
    answers: Mapping[str, Answer], named: Named, of: str | Statistic | Ask | None = None
) -> tuple[ReleasedCell, ...]:
    """The cells that a name stands for.

    Parameters
    ----------
    answers : mapping of names to Answer
    named : str, question, or tuple
        The name of an answer stands for all of its cells. One cell is named as it is shown, ``mean(x) by g · a``, or by
        a tuple, ``("mean(x) by g", "a")``. With ``of`` its keys are enough, ``"a"``.
    of : str or question, optional
        The answer whose groups or bins are named.

    Returns
    -------
    tuple of ReleasedCell
        The cells, in the order of the answer.

    Raises
    ------
    QuestionError
        No answer or no cell has this name.
    """
    if of is not None:
        keys = named if isinstance(named, tuple) else (named,)
        return _cells(_answer(answers, of), keys)
    if isinstance(named, tuple):
        if not named:
            raise QuestionError("Name an answer, with the keys of its cell after it.")
        first, *rest = named
        return _cells(_answer(answers, first), rest)
    if isinstance(named, str) and named not in answers:
        for answer in answers.values():
            start = answer.name + SEPARATOR
            found = [cell for cell in answer if named.startswith(start) and named.removeprefix(start) in cell.spellings]
            if found:
                return tuple(ReleasedCell(answer, cell) for cell in found)
    return _cells(_answer(answers, named), ())


def names(answers: Mapping[str, Answer], text: str, of: str | Statistic | Ask | None = None) -> bool:
    """Tell if a text names an answer or cells of one, as ``find`` reads it.

    Parameters
    ----------
    answers : mapping of name to Answer
    text : str
        A name of an answer or a cell, perhaps.
    of : str or question, optional
        The answer whose groups or bins are named.

    Returns
    -------
    bool
    """
    try:
        return bool(find(answers, text, of))
    except QuestionError:
        return False


def one(answers: Mapping[str, Answer], named: Named, of: str | Statistic | Ask | None = None) -> ReleasedCell:
    """The only cell that a name stands for.

    Parameters
    ----------
    answers : mapping of name to Answer
    named : str, question or tuple
        An answer with one cell, or a cell by its name or by its answer and keys.
    of : str or question, optional
        The answer whose groups or bins ``named`` is one of.

    Returns
    -------
    ReleasedCell

    Raises
    ------
    QuestionError
        It stands for none or for several.
    """
    found = find(answers, named, of)
    if len(found) != 1:
        shown = first_of((part.cell.where for part in found), 6)
        whole = found[0].name if of is None else found[0].cell.where
        raise QuestionError(
            f'{found[0].answer.name} has {len(found)} cells: {shown}. Name one of them, such as "{whole}".'
        )
    return found[0]


def _answer(answers: Mapping[str, Answer], named: object) -> Answer:
    if isinstance(named, Statistic | Ask):
        text = spelt(named.name, answers)
    elif isinstance(named, str):
        text = spelt(named, answers)
    else:
        raise QuestionError(f"an answer is named by text or by its question, got {named!r}")
    if text not in answers:
        hint = meant(text, answers) or nearest(text, answers)
        hint = f" Did you mean {hint}?" if hint else ""
        raise QuestionError(f"This release has no answer '{named}'.{hint} It has: {first_of(answers)}.")
    return answers[text]


def _cells(answer: Answer, keys: Sequence[object]) -> tuple[ReleasedCell, ...]:
    return tuple(ReleasedCell(answer, cell) for cell in answer[tuple(map(str, keys))])


# --- dependence -------------------------------------------------------------------------------------------------------


def apart(one: ReleasedCell, other: ReleasedCell) -> bool:
    """Tell if the two cells are of different people: of different groups of one column, each person in one of them."""
    if one.people != other.people:
        return True
    if one.release != other.release:
        return False
    if not (one.answer.apart and other.answer.apart):
        return False
    here, there = question_of(one.answer.name), question_of(other.answer.name)
    if here is None or there is None or here.groups != there.groups or not isinstance(here.groups, str):
        return False
    first, second = dict(one.cell.label), dict(other.cell.label)
    names = [here.groups] if here.groups in first else divided(here.groups)
    if not {*names} <= first.keys() & second.keys():  # a margin has rows of several groups
        return False
    return [first.get(name) for name in names] != [second.get(name) for name in names]


def covariance(one: ReleasedCell, other: ReleasedCell) -> float | None:
    """Covariance of the sampling errors of two cells with known laws; None where it is not known.

    It is 0 where a cell is a number of this table, and for different people. Shares of two values of one category have
    that of their counts. A group and all have the variance of the group times its share of the people.
    """
    first, second = one.cell.error, other.cell.error
    if first is None or second is None or first.sampling is None or second.sampling is None or apart(one, other):
        return 0.0
    if one.release != other.release:
        return None
    here, there = question_of(one.answer.name), question_of(other.answer.name)
    if here is None or there is None or here.unit != there.unit or not (first.size and second.size):
        return None
    if here.condition != there.condition:
        return None
    if here.statistic == there.statistic and (here.groups is None) != (there.groups is None):
        group, whole = (first, second) if there.groups is None else (second, first)
        assert group.sampling is not None
        return max(group.sampling.estimate, 0.0) * min(group.size / whole.size, 1.0)
    shares = isinstance(here.statistic, Proportion) and isinstance(there.statistic, Proportion)
    same_rows = here.statistic.columns == there.statistic.columns and here.groups == there.groups
    if shares and same_rows and here.statistic != there.statistic and one.cell.label == other.cell.label:
        return -max(first.value, 0.0) * max(second.value, 0.0) / (0.5 * (first.size + second.size))
    return None


@lru_cache(maxsize=256)
def question_of(name: str) -> Ask | None:
    """The question of an answer; None for one of an extension, whose words are not known here."""
    try:
        return parse(name)
    except Refusal:
        return None


# --- comparisons ------------------------------------------------------------------------------------------------------


def difference(one: ReleasedCell, other: ReleasedCell) -> Answer:
    """The first cell less the second."""
    found = _linear(
        f"difference({one.name}, {other.name})", f"{one.estimand}, less {other.estimand}", (1.0, -1.0), (one, other)
    )
    here, there = question_of(one.answer.name), question_of(other.answer.name)
    if here is None or there is None or here.statistic.columns == there.statistic.columns:
        return found
    if here.statistic.axis == there.statistic.axis == "share":  # of whatever column, a share has one unit
        return found
    sides = "; ".join(", ".join(asked.statistic.columns) or "no column" for asked in (here, there))
    return replace(found, caveats=(*found.caveats, f"{OTHER_COLUMNS}: {sides}"))


def between(one: ReleasedCell, other: ReleasedCell) -> Answer:
    """The first cell less the second, of another release, under the label that both have."""
    found = difference(one, other)
    if one.estimand != other.estimand:
        found = replace(found, caveats=(*found.caveats, f"{UNLIKE}: {one.estimand}; {other.estimand}"))
    return found


def total(parts: Sequence[ReleasedCell]) -> Answer:
    """The sum of cells.

    Raises
    ------
    QuestionError
        There are none, or one stands there twice.
    """
    if not parts:
        raise QuestionError("A total needs at least one answer.")
    names = [part.name for part in parts]
    whole = {part.answer.name for part in parts}
    if len(whole) == 1 and len(parts) == len(parts[0].answer.cells):
        shown = parts[0].answer.name
        estimand = f"sum over all {len(parts)} cells of {parts[0].answer.estimand or shown}"
    else:
        shown = ", ".join(names)
        estimand = "sum of " + "; ".join(part.estimand for part in parts)
    return _linear(f"total({shown})", estimand, (1.0,) * len(parts), parts)


def ratio(one: ReleasedCell, other: ReleasedCell) -> Answer:
    """The first cell divided by the second, by the method of Fieller; no reply where the divisor may be 0."""
    _distinct((one, other))
    name, estimand = f"ratio({one.name}, {other.name})", f"{one.estimand}, divided by {other.estimand}"
    return quotient(name, estimand, Terms(((1.0, one),)), Terms(((1.0, other),)))


@dataclass(frozen=True, slots=True)
class Terms:
    """A weighted sum of cells, with a public constant."""

    cells: tuple[tuple[float, ReleasedCell], ...]
    constant: float = 0.0


def weighted(name: str, estimand: str, terms: Terms) -> Answer:
    """A weighted sum of cells, each named once, plus a public constant, under a name of the caller's.

    Parameters
    ----------
    name : str
        Name of the answer.
    estimand : str
        Words for what it estimates.
    terms : Terms
        Weights, cells and the constant.

    Returns
    -------
    Answer
        Answer of one cell, with an interval where the law of the errors is known.
    """
    found = _linear(name, estimand, [weight for weight, _ in terms.cells], [part for _, part in terms.cells])
    if not terms.constant:
        return found
    (cell,) = found.cells
    if not isinstance(cell.outcome, Reply):
        return found
    e, moved = cell.outcome.value, terms.constant
    estimate = replace(e, value=e.value + moved, low=e.low + moved, high=e.high + moved)
    law = None if cell.error is None else replace(cell.error, value=cell.error.value + moved)
    return replace(found, cells=(Cell(cell.label, Reply(estimate), law),))


def quotient(name: str, estimand: str, above: Terms, below: Terms) -> Answer:
    """One weighted sum divided by another, which may share cells; no reply where the divisor may be 0.

    Parameters
    ----------
    name : str
        Name of the answer.
    estimand : str
        Words for what it estimates.
    above, below : Terms
        Dividend and divisor.

    Returns
    -------
    Answer
        Answer of one cell.
    """
    parts = tuple({part.name: part for _, part in (*above.cells, *below.cells)}.values())
    _distinct(parts)
    if not _replied(parts):
        return _result(name, estimand, parts, NO_REPLY, ())
    laws = [part.cell.error for part in parts]
    known = [law for law in laws if law is not None]
    if len(known) < len(laws):
        return _result(name, estimand, parts, *_corners(weighted(name, "", above), weighted(name, "", below)))
    over, under = (
        [sum(weight for weight, one in terms.cells if one.name == part.name) for part in parts]
        for terms in (above, below)
    )
    pairs = {(i, j): covariance(parts[i], parts[j]) for i, j in combinations(range(len(parts)), 2)}

    def law(at: float) -> ErrorLaw:
        """The law of the dividend less ``at`` times the divisor."""
        found = combined([a - at * b for a, b in zip(over, under, strict=True)], known, pairs)
        return replace(found, value=found.value + above.constant - at * below.constant)

    divisor = combined(under, known, pairs)
    divisor = replace(divisor, value=divisor.value + below.constant)
    if abs(divisor.value) <= max(divisor.half_width(), replace(divisor, step=0.0).half_width() + 0.5 * divisor.step):
        return _result(name, estimand, parts, NO_REPLY, (NO_RATIO,))
    centre = law(0.0).value / divisor.value

    def outside(at: float) -> bool:
        found = law(at)
        return abs(found.value) > found.half_width()

    near, scale = law(centre), abs(divisor.value)
    usual = near.half_width() / scale
    low, high = (_edge(centre, direction * usual, outside) for direction in (-1.0, 1.0))
    if not math.isfinite(high - low):
        return _result(name, estimand, parts, NO_REPLY, (NO_RATIO,))
    estimate = Estimate(centre, low, high, near.noise / scale, near.sampled / scale)
    return _result(name, estimand, parts, Reply(estimate), (SAFE,) if None in pairs.values() else ())


def _edge(centre: float, usual: float, outside: Callable[[float], bool]) -> float:
    """The end of an interval about ``centre``, which is near ``usual`` off it; infinite where it is not found."""
    if usual == 0.0:
        return centre
    inner, outer = 0.0, 1.0
    for _ in range(DOUBLINGS):
        if outside(centre + outer * usual):
            break
        inner, outer = outer, 2.0 * outer
    else:
        return math.copysign(math.inf, usual)
    for _ in range(18):
        middle = 0.5 * (inner + outer)
        inner, outer = (inner, middle) if outside(centre + middle * usual) else (middle, outer)
    return centre + outer * usual


def _linear(name: str, estimand: str, weights: Sequence[float], parts: Sequence[ReleasedCell]) -> Answer:
    _distinct(parts)
    if not _replied(parts):
        return _result(name, estimand, parts, NO_REPLY, ())
    added = _summands(weights, parts)
    known = [(w, part, law) for w, part in added if (law := part.cell.error) is not None]
    open_ones = [(w, part) for w, part in added if part.cell.error is None]
    found: list[tuple[Estimate, Sequence[ReleasedCell]]] = []
    notes: tuple[str, ...] = ()
    law = None
    if known:
        pairs = {(i, j): covariance(known[i][1], known[j][1]) for i, j in combinations(range(len(known)), 2)}
        law = combined([w for w, _, _ in known], [law for _, _, law in known], pairs)
        notes = (SAFE,) if None in pairs.values() else ()
        notes += (DRAWN,) if any(part.cell.moved for _, part, _ in known) else ()
        radius = law.half_width()
        together = Estimate(law.value, law.value - radius, law.value + radius, law.noise, law.sampled)
        if not open_ones:
            return _result(name, estimand, parts, Reply(together), notes, law)
        found.append((together, [part for _, part, _ in known]))
    found += [(_times(w, estimate_of(part)), [part]) for w, part in open_ones]
    return _result(name, estimand, parts, *_added(found, notes))


def _summands(weights: Sequence[float], parts: Sequence[ReleasedCell]) -> list[tuple[float, ReleasedCell]]:
    """The terms of a sum, a total of groups as the groups that it adds up: these have laws, and share no noise."""
    found: dict[str, tuple[float, ReleasedCell]] = {}
    for weight, part in zip(weights, parts, strict=True):
        for one in _groups_of(part):
            found[one.name] = (found.get(one.name, (0.0, one))[0] + weight, one)
    return list(found.values())


def _groups_of(part: ReleasedCell) -> list[ReleasedCell]:
    """The cells that a total of counts or sums adds up; the cell itself if it is none."""
    asked, label = question_of(part.answer.name), part.cell.label
    if asked is None or not asked.totals or not isinstance(asked.statistic, Count | Sum | Histogram):
        return [part]
    if len(label) == len(part.answer.cells[0].label):
        return [part]
    inner = [cell for cell in part.answer.body if {*label} <= {*cell.label}]
    known = len(inner) <= MOST_GROUPS and all(cell.error is not None for cell in inner)
    return [replace(part, cell=cell) for cell in inner] if known else [part]


def _added(
    terms: Sequence[tuple[Estimate, Sequence[ReleasedCell]]], notes: tuple[str, ...]
) -> tuple[Outcome[Estimate], tuple[str, ...]]:
    """The sum of estimates whose laws are not all known, with the words that say how its interval was made.

    Half-widths add as their squares where errors are about normal. Among ties, and where an end is a bound, a quantile
    may lie anywhere in its interval: then the ends of the parts are added.
    """
    independent = all(
        apart(one, other) for (_, here), (_, there) in combinations(terms, 2) for one in here for other in there
    ) and not any(_lies_anywhere(part) for _, parts in terms for part in parts)
    estimates = [estimate for estimate, _ in terms]
    value = sum(e.value for e in estimates)
    below, above = [e.value - e.low for e in estimates], [e.high - e.value for e in estimates]
    noise, sampling = [e.noise for e in estimates], [e.sampling for e in estimates]
    if independent:
        whole = Estimate(
            value,
            value - math.hypot(*below),
            value + math.hypot(*above),
            math.hypot(*noise),
            math.hypot(*sampling),
        )
        return Reply(whole), (*notes, APART)
    level = 1.0 - sum(1.0 - e.level for e in estimates)
    if level < LEAST_LEVEL:
        raise QuestionError(
            f"{len(estimates)} intervals that are known at 95 % alone say too little together: their total would hold "
            f"with probability {max(level, 0.0):.2g}. Take fewer of them."
        )
    whole = Estimate(value, value - sum(below), value + sum(above), sum(noise), sum(sampling), round(level, 6))
    return Reply(whole), (*notes, UNION)


def _lies_anywhere(part: ReleasedCell) -> bool:
    """Tell if the quantity of a cell may lie anywhere in its interval, whatever its value is."""
    return any(text.endswith((ALLOWED + COVERS, ONE_END, SPANNING)) for text in part.answer.caveats)


def _corners(one: Answer, other: Answer) -> tuple[Outcome[Estimate], tuple[str, ...]]:
    """The ratio of two estimates from the ends of their intervals."""
    above, below = one.estimate, other.estimate
    if below.low <= 0.0 <= below.high:
        return NO_REPLY, (NO_RATIO,)
    ends = [a / b for a in (above.low, above.high) for b in (below.low, below.high)]
    value = above.value / below.value
    noise = (above.noise + abs(value) * below.noise) / abs(below.value)
    sampling = (above.sampling + abs(value) * below.sampling) / abs(below.value)
    level = round(above.level + below.level - 1.0, 6)
    return Reply(Estimate(value, min(ends), max(ends), noise, sampling, level)), (UNION,)


def _distinct(parts: Sequence[ReleasedCell]) -> None:
    names = [part.name for part in parts]
    for part in parts:
        if names.count(part.name) > 1:
            raise QuestionError(f"{part.name} is named twice. Name each once.")
        if not part.answer.has_interval(part.cell):
            raise QuestionError(f"{part.name} has no interval, so nothing that is made of it has one.")


def _replied(parts: Sequence[ReleasedCell]) -> bool:
    return all(isinstance(part.cell.outcome, Reply) for part in parts)


def estimate_of(part: ReleasedCell) -> Estimate:
    assert isinstance(part.cell.outcome, Reply)  # looked at before
    return part.cell.outcome.value


def _times(weight: float, e: Estimate) -> Estimate:
    low, high = sorted((weight * e.low, weight * e.high))
    size = abs(weight)
    return Estimate(weight * e.value, low, high, size * e.noise, size * e.sampling, e.level)


def _result(
    name: str,
    estimand: str,
    parts: Sequence[ReleasedCell],
    outcome: Outcome[Estimate],
    notes: Iterable[str],
    law: ErrorLaw | None = None,
) -> Answer:
    """The answer, with the caveats of its parts: what clipping or caps changed in them, they change in it."""
    end = COVERS if isinstance(outcome, Reply) and outcome.value.level < LEVEL else ""
    own = dict.fromkeys(t.removesuffix(end) for p in parts for t in p.answer.caveats if law is None or t != CLIPPED)
    return Answer(name, (Cell((), outcome, law),), (*own, *notes), estimand=estimand)


# --- many at once -----------------------------------------------------------------------------------------------------
