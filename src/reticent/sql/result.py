"""Rows of a SELECT, computed from the answers of its release. Free: no row of the study is read for them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from reticent.data.format import plain
from reticent.data.schema import Key
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.sql.output import GroupKey, IntervalEnd, Output, Quotient, TotalFlag, WeightedSum, names_of
from reticent.sql.statement import NO_REPLY as NO_REPLY_COLUMN
from reticent.sql.statement import ReleasedCondition, SelectStatement
from reticent.statistics.answer import Answer, Cell, Label, head_level, printed
from reticent.statistics.comparison import ReleasedCell, Terms, quotient, weighted

CHOSEN: Final = (
    "rows were chosen or sorted by released numbers: of chosen rows alone the intervals hold less often than stated"
)
TOTAL: Final = "total"
COMPARES: Final[Mapping[str, Callable[[object, object], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,  # type: ignore[dict-item]  # of two numbers, or two texts
    "<=": operator.le,  # type: ignore[dict-item]
    ">": operator.gt,  # type: ignore[dict-item]
    ">=": operator.ge,  # type: ignore[dict-item]
}

Value: TypeAlias = Key | float | Answer | None  # of an end None where there is no reply


@dataclass(frozen=True, slots=True)
class SelectedRow:
    """One row of a result: the label of its group, and a value for each output."""

    label: Label
    values: tuple[Value, ...]


def rows_of(statement: SelectStatement, answers: Mapping[str, Answer]) -> tuple[SelectedRow, ...]:
    """The rows of a statement, chosen, sorted and cut as it says.

    Parameters
    ----------
    statement : SelectStatement
    answers : mapping of str to Answer
        The answers of its questions by name.
    """
    first = answers[statement.asks[0].name]
    labels: Sequence[Label] = _labels(statement, first) if statement.groups else [()]
    cells = {name: {cell.label: ReleasedCell(answer, cell) for cell in answer} for name, answer in answers.items()}
    columns = [name for name, _ in labels[0]]
    rows = [_Row(label, cells, columns) for label in labels]
    if statement.having is not None:
        rows = [row for row in rows if row.holds(statement.having)]
    for output, descending in reversed(statement.order):
        rows = _sorted(rows, output, descending=descending)
    if statement.limit is not None:
        rows = rows[: statement.limit]
    return tuple(SelectedRow(row.label, tuple(row.value(output) for _, output in statement.outputs)) for row in rows)


def _labels(statement: SelectStatement, answer: Answer) -> list[Label]:
    """The labels of the groups, then those of the totals that the statement lists, which lack what is summed."""
    columns = [name for name, _ in answer.cells[0].label]
    listed = [[columns[place] for place in places] for places in statement.sets]
    found = [cell.label for cell in answer if [name for name, _ in cell.label] in listed]
    return sorted(found, key=lambda label: listed.index([name for name, _ in label]))


def _sorted(rows: Sequence[_Row], output: Output, *, descending: bool) -> list[_Row]:
    """The rows in the order of an output, those without a reply last."""
    told = [(value, row) for row in rows if (value := _plain(row.value(output))) is not None]
    told.sort(key=lambda pair: pair[0], reverse=descending)
    return [*(row for _, row in told), *(row for row in rows if _plain(row.value(output)) is None)]


class _Row:
    """The released numbers of one group, each worked out once."""

    def __init__(self, label: Label, cells: Mapping[str, Mapping[Label, ReleasedCell]], columns: Sequence[str]) -> None:
        self.label = label
        self.keys = [dict(label).get(name) for name in columns]
        self.cells = cells
        self.values: dict[Output, Value] = {}

    def value(self, output: Output) -> Value:
        if output not in self.values:
            self.values[output] = self._made(output)
        return self.values[output]

    def _made(self, output: Output) -> Value:
        match output:
            case GroupKey(place=place):
                return self.keys[place]
            case TotalFlag(place=place):
                return int(self.keys[place] is None)
            case IntervalEnd(of=of, end=end):
                found = self.value(of)
                assert isinstance(found, Answer)
                match found.outcome:
                    case Reply(estimate):
                        return float(getattr(estimate, end))
                    case _:
                        return None
            case WeightedSum(weights=((one, weight),), constant=constant) if weight == 1 and not constant:
                part = self._cell(one)
                return Answer(one, (Cell((), part.cell.outcome, part.cell.error),), part.answer.caveats)
            case WeightedSum():
                return weighted("", "", self._terms(output))
            case Quotient(above=above, below=below):
                return quotient("", "", self._terms(above), self._terms(below))

    def holds(self, choice: ReleasedCondition) -> bool:
        """True if a condition is true of the released numbers; what is no reply fulfils none."""
        return self._truth(choice) is True

    def _truth(self, choice: ReleasedCondition) -> bool | None:
        """The truth by the logic of SQL, None where a part is no reply."""
        if choice.word in COMPARES:
            one, other = (self._compared(part) for part in choice.operands)
            if one is None or other is None:
                return None
            if isinstance(one, str) != isinstance(other, str):
                return False
            return COMPARES[choice.word](one, other)
        found = [self._truth(part) for part in choice.operands if isinstance(part, ReleasedCondition)]
        if choice.word == "not":
            return None if found[0] is None else not found[0]
        decides = choice.word == "or"
        if decides in found:
            return decides
        return None if None in found else not decides

    def _compared(self, part: ReleasedCondition | Output | str) -> Key | float | None:
        if isinstance(part, str):
            return part
        assert not isinstance(part, ReleasedCondition)
        return _plain(self.value(part))

    def _terms(self, found: WeightedSum) -> Terms:
        cells = tuple((float(weight), self._cell(name)) for name, weight in found.weights)
        return Terms(cells, float(found.constant))

    def _cell(self, name: str) -> ReleasedCell:
        return self.cells[name][self.label]


def _plain(value: Value) -> Key | float | None:
    """A value to be compared: of an answer its estimate."""
    if not isinstance(value, Answer):
        return value
    match value.outcome:
        case Reply(estimate):
            return estimate.value
        case _:
            return None


# --- forms ------------------------------------------------------------------------------------------------------------


def columns_of(statement: SelectStatement, rows: Sequence[SelectedRow]) -> dict[str, list[object]]:
    """The columns of a data frame: of each number its value and the ends of its interval.

    Where a number is no reply its three cells are null, and ``no_reply`` names it.
    """
    found: dict[str, list[object]] = {}
    for place, (name, output) in enumerate(statement.outputs):
        values = [row.values[place] for row in rows]
        if isinstance(output, GroupKey | TotalFlag | IntervalEnd):
            found[name] = [*values]
            continue
        outcomes = [_outcome(value) for value in values]
        for column, field in zip(names_of(name, output), ("value", "low", "high"), strict=True):
            found[column] = [
                getattr(outcome.value, field) if isinstance(outcome, Reply) else None for outcome in outcomes
            ]
    found[NO_REPLY_COLUMN] = [", ".join(_lacking(statement, row)) for row in rows]
    return found


def _outcome(value: Value) -> Outcome[Estimate]:
    return value.outcome if isinstance(value, Answer) else NO_REPLY


def _lacking(statement: SelectStatement, row: SelectedRow) -> Iterator[str]:
    for (name, output), value in zip(statement.outputs, row.values, strict=True):
        if _plain(value) is None and not isinstance(output, GroupKey):
            yield name


def texts_of(statement: SelectStatement, rows: Sequence[SelectedRow]) -> tuple[tuple[str, ...], ...]:
    """The rows as people read them: each number with its interval, ``total`` for a group that is summed over."""
    keys = [isinstance(output, GroupKey) for _, output in statement.outputs]
    return tuple(
        tuple(TOTAL if key and value is None else _text(value) for value, key in zip(row.values, keys, strict=True))
        for row in rows
    )


def heads_of(statement: SelectStatement, rows: Sequence[SelectedRow]) -> tuple[str, ...]:
    """The names of the columns, of numbers with the level of their intervals: ``visits (95 %)``."""
    return tuple(
        plain(f"{name}{_level(row.values[place] for row in rows)}") for place, (name, _) in enumerate(statement.outputs)
    )


def _level(values: Iterable[Value]) -> str:
    """The level that the intervals of a column hold with, if there are any; the least, where they differ."""
    answers = (value for value in values if isinstance(value, Answer) and value.has_interval(value.cells[0]))
    levels = [answer.estimate.level for answer in answers if isinstance(answer.outcome, Reply)]
    return f" ({100 * min(levels):g} %)" if levels else ""


def _text(value: Value) -> str:
    match value:
        case Answer(cells=(cell,)):
            text = printed(cell, bare=value.bare, level=head_level([value]))  # the head of the column has the level
            return "no reply" if text is None else f"{text.value} ({text.interval})"
        case None:
            return "no reply"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.4g}"
        case _:
            return plain(str(value))
