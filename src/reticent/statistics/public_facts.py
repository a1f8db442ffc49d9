"""Public facts about a question: bounds, candidates, what a row moves, labels, caveats, and words of its estimand.

No row is read. An estimand is the quantity of a population or table that an answer estimates, from public facts alone.
Each statistic puts its estimand together from these words. A step whose method estimates another quantity, or one that
is known only after a draw, names it itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from reticent.data.expression_tree import Application, column_text
from reticent.data.format import section
from reticent.data.query import Keys, Per, PresentValues, Query, Tally, groups_of_all, stability
from reticent.data.schema import Category, Column, Integer, Person, Schema, boundless, value_words
from reticent.errors import QuestionError, first_of
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.numbers import about, show
from reticent.privacy.sensitivity import L1
from reticent.statistics.answer import Label
from reticent.statistics.context import EVEN, OFF_MIDDLE, Setting
from reticent.statistics.statistic import TOTALS, Statistic

if TYPE_CHECKING:
    from reticent.statistics.context import ExpectedAccuracy

SEPARATELY: Final = "by separate exponential mechanisms"
DATES: Final = "dates that lie evenly in the range"
FARTHEST: Final = Fraction(10**100)
STANDING: Final = r'(?<![\w."=])%s(?![\w"(]|\.\w)'  # a column that is no statistic, key, or part of another name


def name_of(text: str, setting: Setting) -> str:
    """The name of an answer without groups: the question's text, with its filter."""
    text = text if setting.weight is None else f"{text} weight {setting.weight}"
    return f"{text} where {setting.where}" if setting.where else text


def title(asked: Statistic, setting: Setting) -> str:
    """The name of an answer: the question's text, with its unit of analysis, its filter and its groups."""
    text = name_of(asked.text(setting.per), setting)
    return text if setting.keys is None else f"{text} by {setting.keys.clause}{TOTALS if setting.totals else ''}"


class TooFewValues(QuestionError):
    """A refusal of values that are too few at an epsilon; ``prepare`` adds the least epsilon that would do.

    Parameters
    ----------
    reason : str
        A sentence.
    remedies : sequence of str, optional
        What would help beside a larger epsilon.
    enough : pair of Fraction, optional
        An epsilon that would do, and the one that the question has.
    """

    def __init__(
        self, reason: str, remedies: Sequence[str] = (), enough: tuple[Fraction, Fraction] | None = None
    ) -> None:
        more = "A larger ε"
        if enough is not None:
            more = f"ε {show(enough[0])} for this question (it has {about(enough[1])})"
        super().__init__(f"{reason} {listed([more, *remedies], 'or')} helps. Nothing was charged.")
        self.reason, self.remedies = reason, remedies


def of_dates(expected: ExpectedAccuracy, column: str, setting: Setting) -> ExpectedAccuracy:
    """The expectation with dates of a typical column even between their bounds: orders and visits come all the time.

    Parameters
    ----------
    expected : ExpectedAccuracy
    column : str
    setting : Setting

    Returns
    -------
    ExpectedAccuracy
        As it is where the column has no dates, or no shape of a typical column.
    """
    declared = setting.schema.columns.get(column)
    if not isinstance(declared, Integer) or declared.calendar is None or not expected.typical.endswith(OFF_MIDDLE):
        return expected
    if all(shape != EVEN for shape, *_ in expected.others):
        return expected
    return replace(
        expected, typical=EVEN, note=expected.note.replace("a standard deviation of 1/8 of the range", DATES)
    )


def refuse_far(name: str, *numbers: Fraction) -> None:
    """Refuse public numbers whose squares doubles do not hold: intervals are made of variances."""
    if any(abs(number) > FARTHEST for number in numbers):
        raise QuestionError(f"{name}: its public numbers must lie within 1e100 of zero. Nothing was charged.")


def remedies(setting: Setting, *, has_bounds: bool, extreme: bool = False) -> list[str]:
    """Remedies where values are too few, beside a larger epsilon: ``fewer groups``, and what else would.

    Parameters
    ----------
    setting : Setting
        Public circumstances: groups and number of persons.
    has_bounds : bool
        True where bounds are known, so that nobody has to be told to look for them.
    extreme : bool
        True for a level other than one half.

    Returns
    -------
    list of str
    """
    return remedies_of(unbounded=not has_bounds, grouped=setting.keys is not None, extreme=extreme)


def remedies_of(
    *, unbounded: Sequence[str] | bool, grouped: bool, extreme: bool = False, questions: int = 1, rows: int = 1
) -> list[str]:
    """Remedies beside a larger epsilon, in words.

    Parameters
    ----------
    unbounded : sequence of str, or bool
        Columns whose bounds nobody declared; or True where some column has none.
    grouped : bool
        True where a question has groups.
    extreme : bool
        True for a level other than one half.
    questions : int
        Number of questions that share the epsilon.
    rows : int
        Most rows kept of a person.

    Returns
    -------
    list of str
    """
    listed = unbounded if isinstance(unbounded, Sequence) else ()
    bounds = f" ({', '.join(f'{section(name)} low = …, high = …' for name in listed)})" if listed else ""
    told = {
        "fewer groups": grouped,
        f"bounds known without the file{bounds}": bool(unbounded),
        "a level nearer the middle": extreme,
        "fewer questions for the same ε": questions > 1,
        f"a smaller cap on rows, rows = {{ at_most = …, ceiling = {rows} }}": rows > 1,
        "more people": True,
    }
    return [words for words, holds in told.items() if holds]


def labels(keys: Keys | None, inner: tuple[Label, ...] = ((),)) -> tuple[Label, ...]:
    if keys is None:
        return inner
    return tuple((*group, *label) for group in keys.labels for label in inner)


def stands_in(column: Column) -> bool:
    """Tell if a public value replaces every unreadable cell of the column, so that no row lacks one."""
    return column.stand_in is not None


def may_be_incomplete(columns: Iterable[Column]) -> bool:
    """Tell if a row may lack a value of one of these columns, so that complete rows may be fewer than all."""
    return not all(stands_in(column) for column in columns)


def stability_of(query: Query, setting: Setting, *, stands_in: bool = False) -> Fraction:
    """The L1 stability of all integers of a query together.

    Parameters
    ----------
    query : Query
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    stands_in : bool
        True if the column has a public value for missing cells.

    Returns
    -------
    Fraction

    Raises
    ------
    QuestionError
        Edges of a category.
    """
    if isinstance(query, Tally) and query.edges and isinstance(setting.schema.column(query.column), Category):
        raise QuestionError(f"{query.column} is a category: it has no edges to count between. Nothing was charged.")
    return sum(stability(query, setting.schema.person, stands_in=stands_in), Fraction(0))


def geometric(bound: Fraction, setting: Setting, epsilon: Fraction) -> Geometric | None:
    """The mechanism for integers of this stability; None where they are the same for all neighbours.

    Parameters
    ----------
    bound : Fraction
        L1 distance between neighbours.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    Geometric or None
    """
    return None if bound == 0 else Geometric(L1(bound, setting.neighbours), epsilon)


def bounds(
    name: str, setting: Setting, column: str, low: Fraction | None, high: Fraction | None
) -> tuple[Fraction, Fraction]:
    """Bounds named in the question, or those of the schema, or the refusal that says how to declare them.

    Parameters
    ----------
    name : str
        The question, for the message.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    column : str
    low, high : Fraction or None
        Bounds of the question, in the unit of the column.

    Returns
    -------
    pair of Fraction

    Raises
    ------
    QuestionError
        Where neither the question nor the schema has bounds.
    """
    declared = setting.schema.column(column)
    if isinstance(declared, Category) or low is None or high is None:
        return setting.schema.bounded(column, name, instead=boundless(column))
    if isinstance(declared, Integer) and (low.denominator != 1 or high.denominator != 1):
        raise QuestionError(f"{column} is an integer column: low and high must be integers. Nothing was charged.")
    return low, high


def caveats_of(column: str, bounds: tuple[Fraction, Fraction] | None, setting: Setting, per: Per) -> tuple[str, ...]:
    """Caveats that follow from public declarations alone: clipping at bounds, and rows capped by person.

    Parameters
    ----------
    column : str
    bounds : pair of Fraction, or None
        In the unit of the column.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    per : "row" or "person"

    Returns
    -------
    tuple of str
    """
    found = []
    person = setting.schema.person
    if bounds is not None:
        found.append(clipping(column, bounds, setting))
    if person.column is not None and per == "row" and person.rows > 1:
        found.append(f"{at_most(person)}; the sampling part allows for their likeness")
    return tuple(found)


def at_most(person: Person) -> str:
    """Beginning of every caveat about the cap on rows: ``at most 5 rows of each person count``."""
    return (
        f"at most {person.rows} rows of each person count" if person.rows > 1 else "at most 1 row of each person counts"
    )


def clipping(column: str, bounds: tuple[Fraction, Fraction], setting: Setting) -> str:
    """Caveat of bounds: ``values of x outside [0, 9] count as the nearer bound``.

    Parameters
    ----------
    column : str
        Name of the column.
    bounds : tuple of Fraction and Fraction
        Its lower and upper bound.
    setting : Setting
        Public circumstances of the release.

    Returns
    -------
    str
        Sentence without its stop.
    """
    declared = setting.schema.column(column)
    ends = ", ".join(value_words(end, declared) for end in bounds)
    return f"values of {column} outside [{ends}] count as the nearer bound"


def public_size(query: PresentValues, setting: Setting) -> int | None:
    """The number of present values where it is the same for all neighbours and known: one for each unit."""
    declared = setting.schema.column(query.column)
    if setting.units is None or not setting.size_public:
        return None
    return setting.units if stability_of(query, setting, stands_in=stands_in(declared)) == 0 else None


def lifts(rows: int, setting: Setting) -> int:
    """Rows that come or go between neighbours: what one row may cost by group is so many times less than a person."""
    return rows * (2 if setting.neighbours.kind == "substitute" else 1)


def bounded(column: str, low: Fraction | None, high: Fraction | None, setting: Setting) -> bool:
    """Tell if the question names both bounds of a column or the schema declares them.

    Parameters
    ----------
    column : str
    low, high : Fraction or None
        Bounds of the question, in the unit of the column.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.

    Returns
    -------
    bool
    """
    declared = setting.schema.column(column)
    return (low is not None and high is not None) or (
        not isinstance(declared, Category) and declared.low is not None and declared.high is not None
    )


def groups(setting: Setting) -> int:
    """The number of declared groups; 1 where there are none."""
    return 1 if setting.keys is None else len(setting.keys.among)


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


def sharing_lines(lines: Sequence[tuple[str, str]], columns: Sequence[str]) -> list[tuple[str, str]]:
    """Names and texts; questions that differ in their columns alone share a line, with … for the columns.

    Parameters
    ----------
    lines : sequence of (name, text)
    columns : sequence of str
        Declared columns.

    Returns
    -------
    list of (name, text)
        In the order of the first of each; the names of all where the shared one would say too little.
    """
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name, text in lines:
        groups.setdefault(without_columns(name, text, columns), []).append((name, text))
    heads = Counter(name for name, _ in groups)
    return [
        alike[0] if len(alike) == 1 else (name if heads[name] == 1 else first_of(one for one, _ in alike), text)
        for (name, text), alike in groups.items()
    ]


def without_columns(name: str, text: str, columns: Sequence[str]) -> tuple[str, str]:
    """The name of a question, and a text about it, with … for the columns that it asks of.

    Parameters
    ----------
    name : str
    text : str
    columns : sequence of str
        Declared columns.

    Returns
    -------
    pair of str
    """
    own = [one for one in columns if one in name and not one.isdecimal() and re.search(STANDING % re.escape(one), name)]
    return _hidden(name, own), _hidden(text, own)


def _hidden(text: str, columns: Sequence[str]) -> str:
    """A text with … for these columns, and one … for a list of them; their odd cells need no name."""
    for name in columns:
        text = re.sub(STANDING % re.escape(name), "…", text)
    text = text if " where " in text else re.sub("…(?:(?:,| and| or) …)+", "…", text)  # a condition is no list
    text = text.replace("missing or unreadable …, or a missing or unlisted …", "missing, unreadable or unlisted cell")
    return re.sub("missing or (unreadable|unlisted) …", r"missing or \1 cell", text)
