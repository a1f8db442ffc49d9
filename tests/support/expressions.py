"""Made-up expressions: trees of every operation over the columns of a schema, and texts that are almost some."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction

from reticent.data.expression import OPERATIONS, bind, type_of
from reticent.data.expression_tree import Application, ColumnName, KeyLiteral, NumberLiteral, Tree
from reticent.data.expression_types import Labels, Numbers, Type
from reticent.data.schema import Category, Column, Key

NUMBERS = ("0", "1", "2", "-3", "0.5", "0.1", "7", "100", "1e-9", "1e150", "9007199254740993")
WORDS = (
    "and",
    "or",
    "not",
    "in",
    "between",
    "is",
    "missing",
    "case",
    "when",
    "then",
    "else",
    "end",
    "true",
    "where",
    "by",
)
SIGNS = (
    "(",
    ")",
    ",",
    "+",
    "-",
    "*",
    "/",
    "<",
    "<=",
    "=",
    "==",
    "!=",
    "<>",
    ">",
    ">=",
    ":",
    "`",
    '"',
    "'",
    "\\",
    ".",
    "é",
    "\x00",
)


class Maker:
    """Trees and texts by a fixed stream."""

    def __init__(self, columns: Mapping[str, Column], chance: random.Random) -> None:
        self.columns, self.chance = columns, chance
        self.numeric = [name for name, column in columns.items() if not isinstance(column, Category)]
        self.keyed = {name: column.among for name, column in columns.items() if isinstance(column, Category)}

    def pick(self, *among: str) -> str:
        return self.chance.choice(among)

    def constant(self) -> NumberLiteral:
        return NumberLiteral(Fraction(self.pick(*NUMBERS)))

    def number(self, depth: int) -> Tree:
        if depth <= 0 or self.chance.random() < 0.2:
            return ColumnName(self.chance.choice(self.numeric)) if self.chance.random() < 0.7 else self.constant()
        word = self.pick(
            "+", "-", "*", "/", "abs", "least", "greatest", "clamp", "floor", "log", "sqrt", "coalesce", "case"
        )
        x = self.number(depth - 1)
        match word:
            case "/" | "floor":
                return Application(word, (x, NumberLiteral(abs(self.constant().value) + 1)))
            case "clamp":
                low = self.constant().value
                return Application(word, (x, NumberLiteral(low), NumberLiteral(low + 5)))
            case "abs" | "log" | "sqrt":
                return Application(word, (x,))
            case "least" | "greatest" | "coalesce":
                return Application(word, (x, *(self.number(depth - 1) for _ in range(self.chance.randint(1, 2)))))
            case "case":
                return Application(word, (self.truth(depth - 1), x, self.number(depth - 1)))
            case _:
                return Application(word, (x, self.number(depth - 1)))

    def truth(self, depth: int) -> Tree:
        word = self.pick(
            "=", "!=", "<", "<=", ">", ">=", "in", "and", "or", "not", "is missing", "keys", "keys", "case"
        )
        match word:
            case "and" | "or" if depth > 0:
                return Application(word, tuple(self.truth(depth - 1) for _ in range(self.chance.randint(2, 3))))
            case "not" if depth > 0:
                return Application(word, (self.truth(depth - 1),))
            case "case" if depth > 0:
                return Application(word, (self.truth(depth - 1), self.truth(depth - 1), self.truth(depth - 1)))
            case "is missing":
                return Application(
                    word, (self.number(depth - 1) if self.chance.random() < 0.5 else self.label(depth - 1)[0],)
                )
            case "in":
                return Application(
                    word, (self.number(depth - 1), *(self.constant() for _ in range(self.chance.randint(1, 3))))
                )
            case "keys":
                tree, keys = self.label(depth - 1)
                some = tuple(KeyLiteral(self.chance.choice(keys)) for _ in range(self.chance.randint(1, 3)))
                return (
                    Application("in", (tree, *some))
                    if len(some) > 1
                    else Application(self.pick("=", "!="), (tree, *some))
                )
            case "=" | "!=" | "<" | "<=" | ">" | ">=":
                return Application(word, (self.number(depth - 1), self.number(depth - 1)))
            case _:
                return Application("<", (self.number(depth - 1), self.number(depth - 1)))

    def label(self, depth: int) -> tuple[Tree, tuple[Key, ...]]:
        """A tree of keys, and the keys that it may have."""
        name = self.chance.choice([*self.keyed])
        tree, keys = ColumnName(name), self.keyed[name]
        if depth <= 0 or self.chance.random() < 0.4:
            return tree, keys
        word = self.pick("recode", "lower", "trim", "left", "cut", "coalesce", "case", "cross")
        text = isinstance(keys[0], str)
        match word:
            case "recode":
                old = self.chance.sample(keys, self.chance.randint(1, len(keys)))
                new = [self.pick("north", "south", "-") for _ in old]
                pairs = tuple(KeyLiteral(key) for pair in zip(old, new, strict=True) for key in pair)
                return Application(word, (tree, *pairs)), tuple(dict.fromkeys(new))
            case "lower" | "trim" if text:
                found = Application(word, (tree,))
                kind = OPERATIONS[word].kind([type_of(self.columns[name])])
            case "left" if text:
                found = Application(word, (tree, NumberLiteral(Fraction(self.chance.randint(1, 2)))))
                kind = OPERATIONS[word].kind([type_of(self.columns[name]), _kind(found.operands[1])])
            case "cut":
                edges = sorted({self.constant().value for _ in range(4)} | {Fraction(0), Fraction(50)})
                found = Application(word, (self.number(depth - 1), *map(NumberLiteral, edges)))
                kind = OPERATIONS[word].kind([Numbers(), *map(_kind, found.operands[1:])])
            case "cross":
                other = self.chance.choice([*self.keyed])
                found = Application(word, (tree, ColumnName(other)))
                kind = OPERATIONS[word].kind([type_of(self.columns[name]), type_of(self.columns[other])])
            case "case":
                found = Application(word, (self.truth(depth - 1), tree, tree))
                kind = Labels(keys)
            case _:
                found = Application("coalesce", (tree, KeyLiteral(self.chance.choice(keys))))
                kind = Labels(keys)
        assert isinstance(kind, Labels)
        return found, kind.among

    def noise(self) -> str:
        """A text of tokens in no order."""
        names = [*self.columns, "nobody"]
        pools = (names, NUMBERS, WORDS, SIGNS, [*OPERATIONS])
        return " ".join(self.chance.choice(self.chance.choice(pools)) for _ in range(self.chance.randint(1, 14)))


def _kind(tree: Tree) -> Type:
    return bind(tree, {})[1]
