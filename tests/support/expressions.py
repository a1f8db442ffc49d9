"""Made-up expressions: trees of every operation over the columns of a schema, and texts that are almost some."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction

from reticent.calendar import DAY, PERIODS
from reticent.data.expression import OPERATIONS, bind, type_of
from reticent.data.expression_tree import Application, ColumnName, DateLiteral, KeyLiteral, NumberLiteral, Tree
from reticent.data.expression_types import Labels, Numbers, Type
from reticent.data.schema import Category, Column, Integer, Key

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
        steps = {
            name: column.calendar.step
            for name, column in columns.items()
            if isinstance(column, Integer) and column.calendar
        }
        self.days = [name for name, step in steps.items() if step == DAY]
        self.times = [name for name, step in steps.items() if step < DAY]
        self.numeric = [
            name for name, column in columns.items() if not isinstance(column, Category) and name not in steps
        ]
        self.keyed = {name: column.among for name, column in columns.items() if isinstance(column, Category)}

    def pick(self, *among: str) -> str:
        return self.chance.choice(among)

    def constant(self) -> NumberLiteral:
        return NumberLiteral(Fraction(self.pick(*NUMBERS)))

    def date(self, depth: int, times: bool = False) -> Tree:
        """A tree of dates, or of times."""
        if times or depth <= 0 or self.chance.random() < 0.4:
            return ColumnName(self.chance.choice(self.times if times else self.days))
        word = self.pick("trunc", "least", "greatest", "coalesce", "case", "clamp")
        x = self.date(depth - 1)
        match word:
            case "trunc":
                return Application(word, (self.moment(depth), KeyLiteral(self.pick(*PERIODS))))
            case "clamp":
                return Application(word, (x, KeyLiteral("2019-06-30"), KeyLiteral("2024-02-29")))
            case "case":
                return Application(word, (self.truth(depth - 1), x, self.date(depth - 1)))
            case _:
                return Application(word, (x, self.day()))

    def moment(self, depth: int) -> Tree:
        return self.date(depth - 1, times=bool(self.times) and self.chance.random() < 0.5)

    def day(self) -> DateLiteral:
        return DateLiteral(self.chance.choice((-719_162, -1, 0, 18_321, 18_322, 19_782, 20_088, 2_932_896)), DAY)

    def of_dates(self, depth: int) -> Tree:
        """A number made of dates."""
        word = self.pick("year", "quarter", "month", "week", "weekday", "day", "hour", "days", "hours", "age")
        if word in ("days", "hours"):
            times = bool(self.times) and self.chance.random() < 0.5
            return Application(word, (Application("-", (self.date(depth - 1, times), self.date(depth - 1, times))),))
        if word == "age":
            return Application(word, (self.moment(depth), self.moment(depth)))
        return Application(
            word, (ColumnName(self.chance.choice(self.times)) if word == "hour" else self.moment(depth),)
        )

    def number(self, depth: int) -> Tree:
        if self.days and self.times and self.chance.random() < 0.3:
            return self.of_dates(depth)
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
        if self.days and self.chance.random() < 0.2:
            return Application(self.pick("=", "!=", "<", "<=", ">", ">=", "in"), (self.date(depth - 1), self.day()))
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
