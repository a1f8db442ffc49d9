"""Trees of expressions: names of columns, public numbers, keys, and operations on them.

A schema holds trees, and ``expression`` gives them their types and meanings over the columns of a schema.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

Key: TypeAlias = str | int | bool


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
