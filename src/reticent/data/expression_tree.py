"""Trees of expressions: names of columns, public numbers, keys, operations on them, and the text that says a tree.

A schema holds trees, and ``expression`` gives them their types and meanings over the columns of a schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, assert_never

from reticent import calendar
from reticent.calendar import DATE_PARTS, SPANS
from reticent.errors import QuestionError
from reticent.privacy.numbers import show

Key: TypeAlias = str | int | bool

LARGEST: Final = Fraction(10) ** 300  # so that every public number, and what is computed from it, is a normal double
MOST_CELLS: Final = 100_000  # groups of a product: a count of so many takes 16 s and 0.7 GB
STEPS: Final = 1_000  # edges of a range
COMPARING: Final = ("=", "!=", "<", "<=", ">", ">=")
DATE_OTHERWISE: Final = re.compile(
    r"(?<![\w.])(?:[0-9]{1,2}([./])[0-9]{1,2}\1[0-9]{2,4}|[0-9]{4}([./])[0-9]{1,2}\2[0-9]{1,2})(?!\w)"
)
_PIECE: Final = re.compile(
    r"""(?<!\w)"(?:[^"\\]|\\.)*"|(?<!\w)'(?:[^'\\]|\\.)*'|`[^`]*`|.""", re.DOTALL
)  # an apostrophe within a word is no quote


def key_text(key: Key) -> str:
    """The canonical text of a public key."""
    return ("true" if key else "false") if isinstance(key, bool) else str(key)


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column."""

    column: str


@dataclass(frozen=True, slots=True)
class NumberLiteral:
    """A public number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class DateLiteral:
    """A public date or time: ``count`` steps of ``step`` seconds since 1970."""

    count: int
    step: int


@dataclass(frozen=True, slots=True)
class KeyLiteral:
    """A public key of a category."""

    key: Key

    def __hash__(self) -> int:
        return hash((type(self.key), self.key))

    def __eq__(self, other: object) -> bool:  # the keys 1 and True are equal and are not the same
        return isinstance(other, KeyLiteral) and type(other.key) is type(self.key) and other.key == self.key


@dataclass(frozen=True, slots=True)
class Application:
    """An operation of ``OPERATIONS`` on trees."""

    operation: str
    operands: tuple[Tree, ...]


Tree: TypeAlias = ColumnName | NumberLiteral | DateLiteral | KeyLiteral | Application


WORDS: Final = frozenset("and or not in is missing between case when then else end true false where by".split())  # noqa: SIM905


def renamed(tree: Tree, name_of: Callable[[str], str]) -> Tree:
    """The same tree with other names of columns."""
    match tree:
        case ColumnName(column=column):
            return ColumnName(name_of(column))
        case Application(operation=operation, operands=operands):
            return Application(operation, tuple(renamed(one, name_of) for one in operands))
        case _:
            return tree


def quoted(column: str) -> str:
    """The name of a column as an expression writes it: between backticks unless it is one plain word, or two."""
    words = column.split(".")
    plain = len(words) <= 2 and all(
        word.isidentifier() and word.isascii() and word.lower() not in WORDS for word in words
    )
    return column if plain else "`{}`".format(column.replace("`", "``"))


def joined(word: str, *trees: Tree) -> Tree:
    """Trees joined by ``and`` or ``or``, without brackets where one is joined by the same word already."""
    parts: list[Tree] = []
    for tree in trees:
        parts += tree.operands if isinstance(tree, Application) and tree.operation == word else [tree]
    return Application(word, tuple(parts))


def columns_of(tree: Tree) -> tuple[str, ...]:
    """The columns that a tree reads, each once, in the order they are named."""
    match tree:
        case ColumnName(column=column):
            return (column,)
        case Application(operands=operands):
            return tuple(dict.fromkeys(column for one in operands for column in columns_of(one)))
        case _:
            return ()


def refusal(words: str) -> QuestionError:
    """The refusal of an expression, before anything is charged."""
    return QuestionError(f"{words} Nothing was charged.")


def nearest_double(number: Fraction) -> float:
    """The double that a public number stands for.

    Raises
    ------
    QuestionError
        A number too large for a double.
    """
    if abs(number) > LARGEST:
        raise refusal("A number of an expression lies within 1e300 of zero.")
    return float(number)


def number_text(number: Fraction) -> str:
    """The text of a public number: what was written, or the shortest text of the same double."""
    text = show(number)
    return text if "/" not in text and len(text) <= 17 else repr(nearest_double(number))


# --- text ----------------------------------------------------------------------------------------------------------

_TIGHT: Final = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys((*COMPARING, "in", "is missing"), 4),
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
}
_ATOM: Final = 9
_DATED: Final = {**dict.fromkeys((*DATE_PARTS, *SPANS), 1), "trunc": 2, "age": 2}  # operands that are written


def divided(text: str, sign: str = ",") -> list[str]:
    """The parts of a text between signs that stand outside brackets and quotes."""
    found, depth = [""], 0
    for match in _PIECE.finditer(text):
        piece = match.group()
        depth += (piece in ("(", "[")) - (piece in (")", "]"))
        if piece == sign and depth <= 0:
            found.append("")
        else:
            found[-1] += piece
    return [part.strip() for part in found]


def column_text(given: str | Tree) -> str:
    """The text by which a question names a column or an expression in its place.

    A name stands as it is. An equation stands in brackets: without them it would be taken for an option.
    """
    if isinstance(given, str):
        return given
    if isinstance(given, ColumnName):
        return given.column
    text = write(given)
    return f"({text})" if isinstance(given, Application) and given.operation == "=" else text


def write(tree: Tree) -> str:
    """The text that ``read`` reads as this tree."""
    return _written(tree)[0]


def _written(tree: Tree) -> tuple[str, int]:
    """The text of a tree, and how tightly it holds together."""
    match tree:
        case ColumnName(column=column):
            return quoted(column), _ATOM
        case NumberLiteral(value=value):
            text = number_text(value)
            return text, _ATOM if value >= 0 else 7
        case DateLiteral(count=count, step=step):
            return calendar.text(count, step), _ATOM
        case KeyLiteral(key=key):
            return key_word(key), _ATOM
        case Application(operation=name, operands=operands):
            return _call_text(name, operands)
        case _:
            assert_never(tree)


def _negated(tree: Tree) -> tuple[str, int]:
    """The text of what does not hold; ``is not missing`` and ``not in`` are said as people say them."""
    match tree:
        case Application(operation="is missing", operands=(one,)):
            return f"{_within(one, 5)} is not missing", _TIGHT["is missing"]
        case Application(operation="in", operands=operands):
            return f"{_within(operands[0], 5)} not in {_listed(operands)}", _TIGHT["in"]
        case _:
            return f"not {_within(tree, _TIGHT['not'])}", _TIGHT["not"]


def _listed(operands: tuple[Tree, ...]) -> str:
    """The list behind ``in``."""
    return f"({', '.join(_within(one, 5) for one in operands[1:])})"


def _call_text(name: str, operands: tuple[Tree, ...]) -> tuple[str, int]:
    tight = _TIGHT.get(name, _ATOM)
    match name:
        case "not":
            return _negated(operands[0])
        case "is missing":
            return f"{_within(operands[0], 5)} is missing", tight
        case "in":
            return f"{_within(operands[0], 5)} in {_listed(operands)}", tight
        case "case":
            *pairs, other = map(write, operands)
            whens = " ".join(f"when {when} then {then}" for when, then in zip(pairs[::2], pairs[1::2], strict=True))
            return f"case {whens} else {other} end", _ATOM
        case "recode":
            first, *parts = (_within(one, 5) for one in operands)
            pairs = [f"{old} = {new}" for old, new in zip(parts[::2], parts[1::2], strict=True)]
            return f"recode({', '.join([first, *pairs])})", _ATOM
        case "floor" if operands[1:] == (NumberLiteral(Fraction(1)),):
            return f"floor({write(operands[0])})", _ATOM
        case "cut" if (edges := _range_text(operands[1:])) is not None:
            return f"cut({write(operands[0])}, {edges})", _ATOM
        case _ if name in _DATED:  # the steps of its dates, which stand behind, are bound again
            return f"{name}({', '.join(map(write, operands[: _DATED[name]]))})", _ATOM
        case "date key":
            return _written(operands[0])
        case "and" | "or":
            return f" {name} ".join(_within(one, tight + 1) for one in operands), tight
        case _ if name in _TIGHT:
            left, right = operands
            comparing = name in COMPARING
            return f"{_within(left, tight + comparing)} {name} {_within(right, tight + 1)}", tight
        case _:
            return f"{name}({', '.join(map(write, operands))})", _ATOM


def _range_text(operands: Sequence[Tree]) -> str | None:
    """Edges at one distance as ``low:high:step``, where that says the same; None where they are few or uneven."""
    edges = [one.value for one in operands if isinstance(one, NumberLiteral)]
    if len(edges) < max(4, len(operands)):
        return None
    texts = [number_text(value) for value in (edges[0], edges[-1], edges[1] - edges[0])]
    low, high, step = map(Fraction, texts)
    return ":".join(texts) if step > 0 and edges_of(low, high, step) == edges else None


def _within(tree: Tree, tight: int) -> str:
    text, own = _written(tree)
    return text if own >= tight else f"({text})"


def key_word(key: Key) -> str:
    """A key as an expression writes it."""
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(key)
    escaped = key.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def edges_of(low: Fraction, high: Fraction, step: Fraction) -> list[Fraction]:
    """The edges from low to high in steps, the last of which may be shorter.

    Parameters
    ----------
    low, high, step : Fraction

    Returns
    -------
    list of Fraction
        None of them where there would be more than ``STEPS``.
    """
    if not low < high or (high - low) / step > STEPS:
        return []
    return [*(low + place * step for place in range(((high - low) / step).__ceil__())), high]


# --- days that a comparison cuts in two -------------------------------------------------------------------------------

MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


def day_doubts(trees: Iterable[Tree]) -> list[str]:
    """Words about each comparison with 00:00 of a day that cuts that day in two.

    Parameters
    ----------
    trees : iterable of Tree
        Bound to a schema, so that a literal has the step of what it is compared with.

    Returns
    -------
    list of str
        Each once. What compares with ``<`` and ``>=`` takes days whole and has none.
    """
    return list(dict.fromkeys(words for tree in trees for words in _doubts_of(tree)))


def _doubts_of(tree: Tree) -> Iterator[str]:
    match tree:
        case Application(operation="in", operands=(x, *listed)):
            for one in listed:
                yield from _doubts_of(Application("=", (x, one)))
        case Application(operation=sign, operands=(DateLiteral() as moment, x)) if sign in MIRRORED:
            yield from _doubts_of(Application(MIRRORED[sign], (x, moment)))
        case Application(operation=sign, operands=(x, DateLiteral() as moment)) if sign in MIRRORED and _day_of(moment):
            day, after = _day_of(moment), _day_of(DateLiteral(moment.count + calendar.DAY // moment.step, moment.step))
            if sign == "<=":
                yield f"{write(x)} <= {day} leaves out {day} after 00:00: for the whole day write {write(x)} < {after}"
            elif sign == ">":
                yield f"{write(x)} > {day} takes {day} after 00:00: for later days write {write(x)} >= {after}"
            elif sign in ("=", "!="):
                whole = f'trunc({write(x)}, "day") {sign} {day}'
                yield f"{write(x)} {sign} {day} is about 00:00 alone: for the whole day write {whole}"
        case Application(operands=operands):
            for one in operands:
                yield from _doubts_of(one)
        case _:
            return


def _day_of(moment: DateLiteral) -> str:
    """The day that a time of step below a day begins; empty for another time."""
    if moment.step == calendar.DAY or moment.count * moment.step % calendar.DAY:
        return ""
    return calendar.text(moment.count * moment.step // calendar.DAY, calendar.DAY)
