"""Trees of expressions: names of columns, public numbers, keys, and operations on them.

A schema holds trees, and ``expression`` gives them their types and meanings over the columns of a schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

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
