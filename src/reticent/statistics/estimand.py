"""Words of estimands: the quantity of a population or table that an answer estimates, from public facts alone.

Each statistic puts its estimand together from these. A step whose method estimates another quantity, or one that is
known only after a draw, names it itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from reticent.data.expression_tree import Application, column_text
from reticent.data.query import Per, groups_of_all
from reticent.data.schema import Category, Person, Schema, value_words
from reticent.privacy.numbers import show

if TYPE_CHECKING:
    from reticent.statistics.context import Setting


CLAUSES: Final = re.compile(r"(.+?)( where .+?)?( by .+)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CommonClause:
    """The filter, and the groups, of several names that all have them: " where age > 20" and " by ward", or nothing."""

    where: str = ""
    by: str = ""

    @classmethod
    def of(cls, names: Sequence[str]) -> CommonClause:
        """Clause that all names share; nothing of a single one, or where two names would be alike without it.

        Parameters
        ----------
        names : sequence of str
            Questions as they are written.

        Returns
        -------
        CommonClause
        """
        found = [match.groups(default="") for match in map(CLAUSES.fullmatch, names) if match]
        wheres, groupings = {where for _, where, _ in found}, {by for _, _, by in found}
        made = cls(wheres.pop() if len(wheres) == 1 else "", groupings.pop() if len(groupings) == 1 else "")
        alike = len({made.without(name) for name in names}) < len(names)
        return cls() if len(names) < 2 or alike else made

    @property
    def line(self) -> tuple[str, str]:
        """The clause as a line of its own."""
        return "every answer", f"{self.where}{self.by}".lstrip()

    def __bool__(self) -> bool:
        return bool(self.where or self.by)

    def without(self, name: str) -> str:
        """A name that leaves the clause out.

        Parameters
        ----------
        name : str
            One of the names that share it.

        Returns
        -------
        str
        """
        return name.removesuffix(self.by).removesuffix(self.where) if self.by else name.replace(self.where, "", 1)

    def beside(self, estimand: str) -> str:
        """An estimand that leaves the clause out.

        Parameters
        ----------
        estimand : str
            Of an answer whose name has it.

        Returns
        -------
        str
        """
        where, by = self.where.removeprefix(" where "), self.by.removeprefix(" by ")
        text = estimand.replace(f", of rows where {where}", "", 1) if where else estimand
        return text.replace(f", in each group of {by}", "", 1) if by else text


def among_groups(setting: Setting) -> str:
    """The part of an estimand that says that each group has its own, and in how many a person counts where in few."""
    keys, person = setting.keys, setting.schema.person
    if keys is None:
        return ""
    declared = setting.schema.columns.get(keys.column)
    constant = declared is not None and declared.constant
    few = person.column is not None and not constant and keys.touch < min(len(keys.among), person.rows)
    reach = f", of which a person counts in {keys.touch} at most" if few else ""
    found = ", whose keys were found privately" if keys.is_found else ""
    if keys.file is not None:
        found = f", of the {len(keys.among):,} in {keys.file.name} (SHA-256 {keys.file.digest[:12]})"
    return f", in each group of {keys.title}{found}{reach}"


def levels_in_words(levels: tuple[Fraction, ...]) -> str:
    """The words for quantiles at these levels."""
    if levels == (Fraction(1, 2),):
        return "median"
    listed = [show(level) for level in levels]
    return f"quantile {listed[0]}" if len(listed) == 1 else f"quantiles {', '.join(listed[:-1])} and {listed[-1]}"


def subject(column: str, per: Per) -> str:
    """The values that a statistic of a column is about."""
    return f"each person's mean of {column}" if per == "person" else column


def cut(column: str, low: Fraction | None, high: Fraction | None, setting: Setting) -> str:
    """The bounds that values are cut to, if any are named or declared.

    Parameters
    ----------
    column : str
    low, high : Fraction or None
        Bounds of the question, in the unit of the column.
    setting : Setting

    Returns
    -------
    str
    """
    found = _ends(column, low, high, setting)
    if found is None:
        return ""
    declared = setting.schema.column(column)
    return f", values cut to [{', '.join(value_words(end, declared) for end in found)}]"


def _ends(
    column: str, low: Fraction | None, high: Fraction | None, setting: Setting
) -> tuple[Fraction, Fraction] | None:
    """The bounds of the question, or those declared; None where there are none."""
    if low is not None and high is not None:
        return low, high
    declared = setting.schema.column(column)
    if isinstance(declared, Category) or declared.low is None or declared.high is None:
        return None
    return Fraction(declared.low), Fraction(declared.high)


def sums_of_kept(setting: Setting) -> bool:
    """Tell if a sum is of the kept rows: where a person can be in several groups, and the total in each would add up.

    The total of a person in each of k groups can reach what r rows can. Together they reach k times that, and the noise
    is k times as wide as that of the r rows which are kept.
    """
    return setting.keys is not None and groups_of_all(setting.schema.person, setting.keys) > 1


def person_totals(column: str, low: Fraction | None, high: Fraction | None, setting: Setting) -> str:
    """The ends of a person's total in a sum: of all their rows, cut to what as many as the cap can reach.

    Parameters
    ----------
    column : str
        Column that is summed.
    low, high : Fraction or None
        Bounds in the question.
    setting : Setting
        Its cap on rows.

    Returns
    -------
    str
        Empty where a person has one row, or nothing has bounds.
    """
    rows, found = setting.schema.person.rows, _ends(column, low, high, setting)
    if rows == 1 or found is None:
        return ""
    least, most = min(Fraction(0), rows * found[0]), max(Fraction(0), rows * found[1])
    group = "" if setting.keys is None else " in a group"
    return f", the total of each person{group} cut to [{show(least)}, {show(most)}]"


def kept(per: Per, person: Person) -> str:
    """The cap on rows where it can change a population value: nothing where a person has one row."""
    return "" if person.column is None or person.rows == 1 else f", of at most {person.rows} rows of each person"


def capped(person: Person, *, drawn: bool = False) -> str:
    """The cap on rows, where persons can have several; ``drawn`` where the answer depends on which are kept."""
    if person.column is None:
        return ""
    return f", at most {person.rows} of each person{', drawn for this release' if drawn and person.rows > 1 else ''}"


def odd_cells(columns: Sequence[str], schema: Schema) -> str:
    """Cells that say nothing: ``a missing or unreadable age, or a missing or unlisted town``."""
    numbers, categories = _by_kind(columns, schema)
    told = (("unreadable", numbers), ("unlisted", categories))
    return ", or ".join(f"a missing or {word} {listed(names, 'or')}" for word, names in told if names)


def whole_cells(columns: Sequence[str], schema: Schema) -> str:
    """Cells that count: ``a readable age and visits and a listed town``."""
    numbers, categories = _by_kind(columns, schema)
    told = (("readable", numbers), ("listed", categories))
    return " and ".join(f"a {word} {listed(names, 'and')}" for word, names in told if names)


def listed(names: Sequence[str], last: str) -> str:
    """Names with commas, and a word before the last: ``age, visits or town``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def _by_kind(columns: Sequence[str], schema: Schema) -> tuple[list[str], list[str]]:
    """Columns of numbers, and those of categories, whose values are listed."""
    categories = [name for name in columns if isinstance(schema.column(name), Category)]
    parts = [part for name in categories for part in _parts(name, schema)]
    return [name for name in columns if name not in categories], list(dict.fromkeys(parts))


def _parts(name: str, schema: Schema) -> tuple[str, ...]:
    """A column, or those whose keys stand side by side in it."""
    match schema.computed.get(name):
        case Application(operation="cross", operands=operands):
            return tuple(map(column_text, operands))
        case _:
            return (name,)
