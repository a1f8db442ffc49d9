"""``proportion(g, value=1)``: the share of one value of a category, or of whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import attrs

from reticent.data.expression_tree import key_text
from reticent.data.format import section
from reticent.data.schema import Category, Column, Integer, Key, Schema
from reticent.errors import QuestionError, first_of, in_list
from reticent.statistics.public_facts import kept
from reticent.statistics.statistic import Dice, OfColumn, Statistic

if TYPE_CHECKING:
    from reticent.statistics.context import Setting, Step


def bare(text: str) -> str:
    """The text of a value without the quotes it may stand in."""
    return text.strip("\"'")


OF_VALUE: Final = {"build": lambda texts: bare(texts["value"]), "show": str}


@attrs.frozen
class Proportion(OfColumn):
    """The share of one value of a category, or of whole numbers, among the rows where it is not missing.

    Parameters
    ----------
    column : str
    value : key, optional
        By default True or "yes", where the category has one of them, and 1 beside 0 alone. The answer's name says
        which.
    """

    verb: ClassVar[str] = "proportion"
    axis: ClassVar[str] = "share"
    declines: ClassVar[str] = "where the noisy number of values is too small to divide by"
    synonyms: ClassVar[tuple[str, ...]] = ("share", "prop")
    settles: ClassVar[tuple[str, ...]] = ("value",)
    positions: ClassVar[tuple[str, ...]] = ("column", "value")
    examples: ClassVar[tuple[str, ...]] = ("proportion(g, value=a)",)

    value: Key | None = attrs.field(default=None, metadata=OF_VALUE)

    @property
    def takes_weight(self) -> bool:
        return True

    @property
    def counts_values(self) -> bool:
        return True

    def estimand(self, setting: Setting) -> str:
        value = key_text(self.value_in(setting.schema.column(self.column)))
        return f"population share of {self.column} = {value}{kept('row', setting.schema.person)}"

    def settled(self, schema: Schema) -> Proportion:
        declared = schema.columns.get(self.column)
        listed = isinstance(declared, Category) or (isinstance(declared, Integer) and declared.calendar is None)
        if self.value is not None or declared is None or not listed:
            return self
        return attrs.evolve(self, value=in_letters(self.value_in(declared)))

    def value_in(self, declared: Column) -> Key:
        """The value whose share is asked for, as its declaration spells it.

        Raises
        ------
        QuestionError
            A column of neither kind; a value that is not declared, or none where several could be meant.
        """
        if isinstance(declared, Integer) and declared.calendar is None:
            return _whole(self, declared)
        if not isinstance(declared, Category):
            raise QuestionError(
                f'{self.name} needs a category or whole numbers: {section(self.column)} kind = "category", '
                "among = [...]. Nothing was charged."
            )
        return chosen_of(declared.among, self.value, self)

    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        from reticent.statistics.moments import proportion_step

        return proportion_step.prepare(self, setting, epsilon)

    @classmethod
    def made_up(cls, dice: Dice) -> Proportion:
        return cls(dice.pick(("g", "h", "b")), value=dice.pick((None, "a", "1", "True")))


def chosen_of(among: Sequence[Key], value: Key | None, asked: Statistic) -> Key:
    """The listed value that is named, in any letters; without one True or "yes", or 1 beside 0 alone.

    Parameters
    ----------
    among : sequence of key
        The public values.
    value : key or None
    asked : Statistic
        The question, for the message: its option is ``value``.

    Returns
    -------
    key

    Raises
    ------
    QuestionError
        A value that is not listed, or none where several could be meant.
    """
    words = [str(key).lower() for key in among]
    listed = first_of(map(in_list, among))
    if value is not None:
        named = str(value)
        by_spelling = [key for key in among if key == value or str(key) == named]
        by_letters = [key for key, word in zip(among, words, strict=True) if word == named.lower()]
        if by_spelling or len(by_letters) == 1:
            return (by_spelling or by_letters)[0]
        raise QuestionError(f"'{value}' is not one of the values of {asked.columns[0]}: {listed}. Nothing was charged.")
    usual = ("true", "yes", "1") if sorted(words) == ["0", "1"] else ("true", "yes")
    found = [key for key, word in zip(among, words, strict=True) if word in usual]
    if len(found) != 1:
        raise QuestionError(f"Which share? {_open(asked)} with one of: {listed}. Nothing was charged.")
    return found[0]


def in_letters(key: Key) -> Key:
    """The value as names of answers spell it: true and false in small letters, as a study file and labels do."""
    return key_text(key) if isinstance(key, bool) else key


def listed_in(declared: Column) -> tuple[Key, ...]:
    """The public values of a category, and of whole numbers that are declared to be 0 or 1; else none."""
    match declared:
        case Category(among=among):
            return among
        case Integer(low=0, high=1, calendar=None):
            return (0, 1)
        case _:
            return ()


def _whole(asked: Proportion, declared: Integer) -> int:
    """The whole number whose share is asked for; without one 1, where the column is declared to be 0 or 1."""
    low, high = declared.low, declared.high
    if asked.value is None and (low, high) == (0, 1):
        return 1
    ends = "" if low is None or high is None else f" between {low} and {high}"
    if asked.value is None:
        raise QuestionError(f"Which share? {_open(asked)} with a whole number{ends}. Nothing was charged.")
    text = str(asked.value)
    whole = text.isascii() and text.removeprefix("-").isdecimal()
    if not whole or not (low is None or high is None or low <= int(text) <= high):
        raise QuestionError(f"'{asked.value}' is no whole number{ends}, as {asked.column} has. Nothing was charged.")
    return int(text)


def _open(asked: Statistic) -> str:
    """The text of a question with its value left open."""
    return attrs.evolve(asked, value="…").name  # type: ignore[call-arg]  # a share of one value
