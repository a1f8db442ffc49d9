"""Expressions over the cells of one row: the condition of a filter, and the content of a computed column.

    text --expression_text.read--> Tree --bind(tree, columns)--> Tree of a Type --OPERATIONS--> Cell

A tree is made of names of columns, numbers, keys, and operations (``expression_tree``). ``OPERATIONS`` is their one
table: what each takes and gives, and its meaning. ``engines/formulas.py`` says it to an engine; tests compare the two.

Total: no cell makes an operation fail, overflow or warn. A number is a finite double. A cell beyond the declared bounds
of its column counts as the nearer bound. Of a column without bounds an infinite cell is missing, and so is any result
that is not finite. Every operation on a missing cell is missing, except ``is missing``, ``coalesce``, ``case`` and the
logic of Kleene: ``false and missing`` is false.

Stability. A cell of the result depends on the cells of its own row and on public constants alone
(docs/proofs/transformations.md).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeAlias, assert_never

from reticent import calendar
from reticent.data import expression_types as kinds
from reticent.data.expression_tree import (
    Application,
    ColumnName,
    DateLiteral,
    KeyLiteral,
    NumberLiteral,
    Tree,
    key_text,
    nearest_double,
    quoted,
    refusal,
)
from reticent.data.expression_types import Dates, Labels, Numbers, Spans, Type, cross_text, cut_labels
from reticent.data.format import exact, exact_key, is_text, nearest
from reticent.data.schema import EXACT_DOUBLE, Category, Column, Integer, Key, Real
from reticent.errors import PublicParameterError, first_of

Cell: TypeAlias = float | str | bool | None  # of a category the text of its key
Bound: TypeAlias = tuple[Tree, Type]
DEEPEST: Final = 40  # levels of a tree: beyond it is a slip, or a way to stop a machine
WIDEST: Final = 2_000  # nodes of a tree


# --- operations -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table of operations.

    Attributes
    ----------
    gives : str
        The result in words, for the reference page.
    least, most : int
        How many operands; ``most`` None for any number.
    kind : callable
        From the types of the operands to that of the result; it refuses operands that do not fit.
    meaning : callable
        From the operands' cells to the result's.
    strict : bool
        A missing operand makes the result missing, and ``meaning`` is not asked.
    takes : callable
        From bound operands to those that the operation works on: a literal beside a category becomes its key.
    in_pairs : bool
        More than two operands are worked out two by two.
    """

    gives: str
    least: int
    most: int | None
    kind: Callable[[Sequence[Type]], Type]
    meaning: Callable[[Sequence[Cell]], Cell]
    strict: bool = True
    takes: Callable[[Sequence[Bound]], list[Bound]] = list
    in_pairs: bool = False


# --- meanings ---------------------------------------------------------------------------------------------------------


def finite(x: float) -> float | None:
    """A number, or missing where it is not finite."""
    return x if math.isfinite(x) else None


def _number(cell: Cell) -> float:
    assert isinstance(cell, float)
    return cell


def _arithmetic(by: Callable[..., float]) -> Callable[[Sequence[Cell]], Cell]:
    return lambda cells: finite(by(*map(_number, cells)))


def _comparison(by: Callable[..., bool]) -> Callable[[Sequence[Cell]], Cell]:
    return lambda cells: by(*cells)


def _floor(x: float, step: float) -> float:
    ratio = x / step
    return math.floor(ratio) * step if math.isfinite(ratio) else math.inf


def _log(x: float) -> float:
    return math.log(x) if x > 0 else math.inf


def _sqrt(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.inf


def _kleene(*, absorbing: bool) -> Callable[[Sequence[Cell]], Cell]:
    def meaning(cells: Sequence[Cell]) -> Cell:
        if absorbing in cells:
            return absorbing
        return None if None in cells else not absorbing

    return meaning


def _first(cells: Sequence[Cell]) -> Cell:
    return next((cell for cell in cells if cell is not None), None)


def _pick(cells: Sequence[Cell]) -> Cell:
    pairs = zip(cells[:-1:2], cells[1:-1:2], strict=True)
    return next((value for condition, value in pairs if condition is True), cells[-1])


def _mapped(cells: Sequence[Cell]) -> Cell:
    return dict(zip(cells[1::2], cells[2::2], strict=True)).get(cells[0])


def _class(cells: Sequence[Cell]) -> Cell:
    x, *edges = map(_number, cells)
    keys = cut_labels([Fraction(edge) for edge in edges])
    last = len(keys) - 1
    return next(
        (
            key
            for place, key in enumerate(keys)
            if edges[place] <= x < edges[place + 1] or (place == last and x == edges[-1])
        ),
        None,
    )


def _side_by_side(cells: Sequence[Cell]) -> Cell:
    texts = [str(int(cell)) if isinstance(cell, float) else key_text(cell) for cell in cells if cell is not None]
    return texts[0] if len(texts) == 1 else ", ".join(map(cross_text, texts))


def _date_key(cells: Sequence[Cell]) -> Cell:
    return calendar.text(_number(cells[0]), calendar.DAY)


def _date_part(name: str) -> Callable[[Sequence[Cell]], Cell]:
    return lambda cells: float(calendar.part(name, _number(cells[0]), int(_number(cells[1]))))


def _truncated(cells: Sequence[Cell]) -> Cell:
    number, period, step = cells
    return float(calendar.truncated(_number(number), int(_number(step)), str(period)))


def _spanned(size: int) -> Callable[[Sequence[Cell]], Cell]:
    return lambda cells: _number(cells[0]) * _number(cells[1]) / size


def _age(cells: Sequence[Cell]) -> Cell:
    born, at, born_step, at_step = map(_number, cells)
    return float(calendar.age(born, int(born_step), at, int(at_step)))


# --- operands ---------------------------------------------------------------------------------------------------------


def as_condition(found: Bound) -> Bound:
    """A bound tree as a condition: of a category of true and false the key true."""
    match found:
        case (tree, Labels(among=(bool(), *_) as among)) if not isinstance(tree, KeyLiteral):
            true = KeyLiteral(True)
            return Application("=", (tree, true)), kinds.equality([Labels(among), Labels((True,))])
        case _:
            return found


def _as_conditions(found: Sequence[Bound]) -> list[Bound]:
    return [as_condition(one) for one in found]


def _as_list(found: Sequence[Bound]) -> list[Bound]:
    """Operands of ``in``: a value and a public list, of a category its keys."""
    listed = _or_dates(_as_keys)(found)
    if not all(isinstance(one, KeyLiteral | NumberLiteral | DateLiteral) for one, _ in listed[1:]):
        raise refusal("in takes a public list of values; of columns write x = y or x = z.")
    return listed


def as_dates(found: Sequence[Bound]) -> list[Bound]:
    """Operands beside a date: a literal becomes one of its resolution."""
    steps = [kind.step for one, kind in found if isinstance(kind, Dates) and not isinstance(one, DateLiteral)]
    if not steps:
        return [*found]
    return [_date(one, kind, steps[0]) for one, kind in found]


def _date(one: Tree, kind: Type, step: int) -> Bound:
    """A literal as a date of a resolution; what is no literal as it stands."""
    match one:
        case DateLiteral(count=count, step=own):
            text = calendar.text(count, own)
        case KeyLiteral(key=str(text)):
            pass
        case _:
            return one, kind
    try:
        place = calendar.count(text, step)
    except PublicParameterError as error:
        raise refusal(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None
    return DateLiteral(place, step), Dates(place, place, step)


def as_date_key(found: Bound) -> Bound:
    """A date as the key that is its text; a text shows the date alone, since ``bind`` makes its key again."""
    tree, kind = found
    return Application("date key", (tree,)), kinds.date_labels([kind])


def _as_parts(found: Sequence[Bound]) -> list[Bound]:
    return [as_date_key(one) if isinstance(one[1], Dates) else one for one in found]


def _or_dates(takes: Callable[[Sequence[Bound]], list[Bound]]) -> Callable[[Sequence[Bound]], list[Bound]]:
    """The rule of other operands where none is a date."""

    def rule(found: Sequence[Bound]) -> list[Bound]:
        dated = any(isinstance(kind, Dates) and not isinstance(one, DateLiteral) for one, kind in found)
        return as_dates(found) if dated else takes(found)

    return rule


def _with_steps(name: str, least: int, dates: int) -> Callable[[Sequence[Bound]], list[Bound]]:
    """Operands of a function of dates: behind those that are written stand the steps of its dates, in seconds."""

    def rule(found: Sequence[Bound]) -> list[Bound]:
        written = [*found[:least]]
        steps = [kind.step for _, kind in written[:dates] if isinstance(kind, Dates | Spans)]
        literals: list[Bound] = [
            (NumberLiteral(Fraction(step)), Numbers(Fraction(step), Fraction(step), whole=True)) for step in steps
        ]
        if len(found) > least and [*found[least:]] != literals:
            raise refusal(f"{name} takes {least} operand{'' if least == 1 else 's'}, got {len(found)}.")
        return [*written, *literals]

    return rule


def _as_cases(found: Sequence[Bound]) -> list[Bound]:
    """Operands of ``case``: conditions and values in turn, and what else."""
    if len(found) % 2 == 0:
        raise refusal("case takes conditions, a value after each, and one value for all other rows.")
    *values, other = _or_dates(_as_values)([*found[1:-1:2], found[-1]])
    pairs = zip(_as_conditions(found[:-1:2]), values, strict=True)
    return [*(part for pair in pairs for part in pair), other]


def _as_keys(found: Sequence[Bound]) -> list[Bound]:
    """Operands beside a category: its keys, each of which must be listed."""
    lists = [kind.among for one, kind in found if isinstance(kind, Labels) and not isinstance(one, KeyLiteral)]
    if not lists:
        if any(isinstance(one, KeyLiteral) for one, _ in found) and any(isinstance(kind, Numbers) for _, kind in found):
            raise refusal("A number is compared with a number, which stands without quotes.")
        return [*found]
    among = lists[0]
    return [
        (one, kind) if isinstance(kind, Labels) and not isinstance(one, KeyLiteral) else _key(one, among)
        for one, kind in found
    ]


def _as_pairs(found: Sequence[Bound]) -> list[Bound]:
    """Operands of ``recode``: keys of its category, and new keys, of which a number is one as well."""
    match found[0]:
        case (_, Labels(among=among)):
            old = [_key(one, among) for one, _ in found[1::2]]
        case _:
            raise refusal("recode takes a category; of numbers say cut or case.")
    if len({*(one for one, _ in old)}) < len(old):
        raise refusal("recode names a key twice.")
    new = [_key(one, (int(one.value),)) if isinstance(one, NumberLiteral) else (one, kind) for one, kind in found[2::2]]
    return [found[0], *(part for pair in zip(old, new, strict=False) for part in pair), *new[len(old) :]]


def _as_values(found: Sequence[Bound]) -> list[Bound]:
    """Values of which one is taken: beside integer keys a number is such a key."""
    if not any(isinstance(kind, Labels) and type(kind.among[0]) is int for _, kind in found):
        return [*found]
    return [_key(one, (int(one.value),)) if isinstance(one, NumberLiteral) else (one, kind) for one, kind in found]


def _key(one: Tree, among: Sequence[Key]) -> Bound:
    """A literal as a key of the list."""
    match one:
        case KeyLiteral(key=key):
            pass
        case DateLiteral(count=count, step=step):
            key = calendar.text(count, step)
        case NumberLiteral(value=value) if value.denominator == 1:
            key = int(value)
        case _:
            raise refusal("A category is compared with its keys, in quotes, or with another category.")
    if type(among[0]) is bool and key in ("true", "false"):
        key = key == "true"
    if key not in among or type(key) is not type(among[0]):
        near = nearest(str(key), map(key_text, among))
        hint = f" Did you mean {near}?" if near else ""
        quotes = "" if isinstance(among[0], str) else " They stand without quotes."
        raise refusal(f"{key!r} is not among the listed keys: {first_of(map(key_text, among))}.{hint}{quotes}")
    return KeyLiteral(key), Labels((key,))


# --- the table --------------------------------------------------------------------------------------------------------


def _part_of(name: str, gives: str) -> Operation:
    return Operation(gives, 1, 2, kinds.date_part(name), _date_part(name), takes=_with_steps(name, 1, 1))


OPERATIONS: Final[Mapping[str, Operation]] = {
    "+": Operation("the sum", 2, 2, kinds.corners(lambda a, b: a + b, "+"), _arithmetic(lambda a, b: a + b)),
    "-": Operation(
        "the difference", 2, 2, kinds.corners(lambda a, b: a - b, "-"), _arithmetic(lambda a, b: a - b), takes=as_dates
    ),
    "*": Operation("the product", 2, 2, kinds.corners(lambda a, b: a * b, "*"), _arithmetic(lambda a, b: a * b)),
    "/": Operation("the quotient by a public number", 2, 2, kinds.divided, _arithmetic(lambda a, b: a / b)),
    "abs": Operation("the absolute value", 1, 1, kinds.absolute, _arithmetic(abs)),
    "least": Operation(
        "the least of several numbers",
        2,
        None,
        kinds.extreme(min, "least"),
        _arithmetic(min),
        takes=as_dates,
        in_pairs=True,
    ),
    "greatest": Operation(
        "the greatest of several numbers",
        2,
        None,
        kinds.extreme(max, "greatest"),
        _arithmetic(max),
        takes=as_dates,
        in_pairs=True,
    ),
    "clamp": Operation(
        "the number moved to the nearer of two public bounds",
        3,
        3,
        kinds.clamped,
        _arithmetic(lambda x, a, b: min(max(x, a), b)),
        takes=as_dates,
    ),
    "floor": Operation("the next multiple of a public number, downwards", 2, 2, kinds.floored, _arithmetic(_floor)),
    "log": Operation("the natural logarithm; missing unless above 0", 1, 1, kinds.logged, _arithmetic(_log)),
    "sqrt": Operation("the square root; missing below 0", 1, 1, kinds.rooted, _arithmetic(_sqrt)),
    "=": Operation("equal", 2, 2, kinds.equality, _comparison(operator.eq), takes=_or_dates(_as_keys)),
    "!=": Operation("not equal", 2, 2, kinds.inequality, _comparison(operator.ne), takes=_or_dates(_as_keys)),
    "<": Operation("below", 2, 2, kinds.ordered("<", kinds.below), _comparison(operator.lt), takes=as_dates),
    "<=": Operation("at most", 2, 2, kinds.ordered("<=", kinds.at_most), _comparison(operator.le), takes=as_dates),
    ">": Operation(
        "above", 2, 2, kinds.ordered(">", lambda a, b: kinds.below(b, a)), _comparison(operator.gt), takes=as_dates
    ),
    ">=": Operation(
        "at least",
        2,
        2,
        kinds.ordered(">=", lambda a, b: kinds.at_most(b, a)),
        _comparison(operator.ge),
        takes=as_dates,
    ),
    "in": Operation(
        "equal to one of a public list", 2, None, kinds.membership, lambda cells: cells[0] in cells[1:], takes=_as_list
    ),
    "and": Operation(
        "every condition", 2, None, kinds.conjunction, _kleene(absorbing=False), strict=False, takes=_as_conditions
    ),
    "or": Operation(
        "one condition or more", 2, None, kinds.disjunction, _kleene(absorbing=True), strict=False, takes=_as_conditions
    ),
    "not": Operation("the opposite condition", 1, 1, kinds.negation, lambda cells: not cells[0], takes=_as_conditions),
    "is missing": Operation("no readable value", 1, 1, kinds.lack, lambda cells: cells[0] is None, strict=False),
    "coalesce": Operation(
        "the first value that is not missing",
        1,
        None,
        kinds.coalesced,
        _first,
        strict=False,
        takes=_or_dates(_as_values),
    ),
    "case": Operation(
        "the value of the first true condition, or another", 3, None, kinds.choice, _pick, strict=False, takes=_as_cases
    ),
    "recode": Operation("a key for each listed key; others missing", 3, None, kinds.recoded, _mapped, takes=_as_pairs),
    "lower": Operation(
        "the key in lower case",
        1,
        1,
        lambda types: kinds.text_map(types, "lower", str.lower),
        lambda cells: str(cells[0]).lower(),
    ),
    "trim": Operation(
        "the key without blanks around it",
        1,
        1,
        lambda types: kinds.text_map(types, "trim", str.strip),
        lambda cells: str(cells[0]).strip(),
    ),
    "left": Operation(
        "the first characters of the key", 2, 2, kinds.beginning, lambda cells: str(cells[0])[: int(_number(cells[1]))]
    ),
    "cut": Operation("the class between public edges; outside them missing", 3, None, kinds.classes, _class),
    "cross": Operation("the keys side by side, as one key", 1, None, kinds.crossed, _side_by_side, takes=_as_parts),
    "date key": Operation("the date as a key", 1, 1, kinds.date_labels, _date_key),
    **{name: _part_of(name, gives) for name, gives in calendar.DATE_PARTS.items()},
    "trunc": Operation(
        "the first day of the week, month, quarter or year",
        2,
        3,
        kinds.truncated,
        _truncated,
        takes=_with_steps("trunc", 2, 1),
    ),
    **{
        name: Operation(
            f"the {name} of a difference of two dates",
            1,
            2,
            kinds.spanned(name, size),
            _spanned(size),
            takes=_with_steps(name, 1, 1),
        )
        for name, size in calendar.SPANS.items()
    },
    "age": Operation(
        "completed years from one date to another", 2, 4, kinds.completed_years, _age, takes=_with_steps("age", 2, 2)
    ),
}


# --- binding and evaluating -------------------------------------------------------------------------------------------


def bind(tree: Tree, columns: Mapping[str, Column]) -> Bound:
    """The tree over declared columns, with its type; a number is the shortest text of its double, or a key.

    Raises
    ------
    QuestionError
        An unknown column or key, operands that do not fit, a tree that is too deep or too wide.
    """
    return _bound(cleaned(tree), columns)


def kind_of(tree: Tree, columns: Mapping[str, Column]) -> Type:
    """The type of a tree that was bound before."""
    return _bound(tree, columns)[1]


def cleaned(tree: object) -> Tree:
    """The same tree of plain texts, integers and fractions: nothing of a caller's class runs beside private values.

    Raises
    ------
    QuestionError
        What is no tree; one that is too deep or too wide; a key that cannot be written as UTF-8 text.
    """
    left = WIDEST

    def clean(part: object, depth: int) -> Tree:
        nonlocal left
        left -= 1
        if left < 0:
            raise refusal(f"An expression has at most {WIDEST:,} parts.")
        if depth > DEEPEST:
            raise refusal(f"An expression has at most {DEEPEST} levels.")
        if type(part) is ColumnName and isinstance(part.column, str):
            return ColumnName(exact(part.column))
        if type(part) is NumberLiteral and type(part.value) is Fraction:
            return part
        if (
            type(part) is DateLiteral
            and type(part.count) is type(part.step) is int
            and calendar.exists(part.count, part.step)
        ):
            return part
        if type(part) is KeyLiteral and isinstance(part.key, str | int):
            key = exact_key(part.key)
            if isinstance(key, str) and not is_text(key):
                raise refusal("A text of an expression cannot be written as UTF-8.")
            return KeyLiteral(key)  # type: ignore[arg-type]  # plain now
        if type(part) is Application and isinstance(part.operation, str) and type(part.operands) is tuple:
            operation = exact(part.operation)
            if operation in OPERATIONS:
                return Application(operation, tuple(clean(one, depth + 1) for one in part.operands))
        raise refusal('A condition is text, such as "age >= 65", or made of rt.col("age").')

    return clean(tree, 0)


def _bound(tree: Tree, columns: Mapping[str, Column]) -> Bound:
    match tree:
        case ColumnName(column=column):
            return tree, type_of(_column(column, columns))
        case KeyLiteral(key=key):
            return tree, Labels((key,))
        case DateLiteral(count=count, step=step):
            return tree, Dates(count, count, step)
        case NumberLiteral(value=number):
            double = nearest_double(number)
            nearest = Fraction(double)
            kind = Numbers(nearest, nearest, nearest.denominator == 1 and abs(nearest) <= EXACT_DOUBLE)
            return NumberLiteral(Fraction(repr(double))), kind
        case Application(operation=name, operands=operands):
            operation = OPERATIONS[name]
            if len(operands) < operation.least or (operation.most is not None and len(operands) > operation.most):
                raise refusal(f"{name} takes {_count(operation)}, got {len(operands)}.")
            found = operation.takes([_bound(one, columns) for one in operands])
            if operation.in_pairs:
                return _in_pairs(name, found)
            return Application(name, tuple(one for one, _ in found)), operation.kind([kind for _, kind in found])
        case _:
            assert_never(tree)


def _in_pairs(name: str, found: Sequence[Bound]) -> Bound:
    """An operation on several numbers as one on pairs, so that no operand stands in a statement more than thrice."""
    if len(found) > 2:
        half = len(found) // 2
        parts = (found[:half], found[half:])
        found = [part[0] if len(part) == 1 else _in_pairs(name, part) for part in parts]
    return Application(name, tuple(one for one, _ in found)), OPERATIONS[name].kind([kind for _, kind in found])


def _count(operation: Operation) -> str:
    least, most = operation.least, operation.most
    return f"{least} or more operands" if most is None else "1 operand" if most == 1 else f"{most} operands"


def _column(name: str, columns: Mapping[str, Column]) -> Column:
    if name in columns:
        return columns[name]
    near = nearest(name, columns)
    hint = f" Did you mean {quoted(near)}?" if near else ""
    if of := [one for one, column in columns.items() if isinstance(column, Category) and name in column.among]:
        raise refusal(
            f"There is no column '{name}'. The text of {first_of(of)} stands in quotes: {of[0]} = \"{name}\"."
        )
    raise refusal(f"There is no column '{name}'.{hint} A text stands in quotes. Declared columns: {first_of(columns)}.")


def type_of(column: Column) -> Type:
    """The type of a column's cells."""
    match column:
        case Category(among=among):
            return Labels(among)
        case Integer(low=None) | Integer(high=None):
            return Numbers()
        case Integer(low=low, high=high, calendar=dated, among=among):
            assert low is not None
            assert high is not None
            if dated is not None:
                return Dates(low, high, dated.step)
            numbers = Numbers(Fraction(low), Fraction(high), whole=True)
            return replace(numbers, step=among.step) if isinstance(among, range) else replace(numbers, among=among)
        case Real(low=low, high=high):
            return Numbers() if low is None or high is None else Numbers(Fraction(float(low)), Fraction(float(high)))
        case _:
            assert_never(column)
