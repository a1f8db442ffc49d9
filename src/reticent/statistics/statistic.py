"""Statistic: the public value that people ask for, and all that the system needs to know of it.

    rt.mean("age", low=0, high=99)    mean(age, low=0, high=99)    the value and its text, which name one another

A statistic is a frozen attrs class in a module of its own. Its options are its fields: converters read them, the text
is derived from them, and the grammar reads the text back by them. It states the columns it reads, its estimand, and
the step that answers it; the algorithm is imported when that step is made. ``registry`` lists all statistics.

    rt.mean("cost").by("ward").per("person").at("0.1")    mean(cost, per=person, epsilon=0.1) by ward

``Ask`` is a statistic with its groups, its unit of analysis, and a share of the loss of its own.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

import attrs

from reticent.data.expression_tree import Tree, column_text, joined, write
from reticent.data.formula import Expression, read
from reticent.data.query import Keys, Per
from reticent.errors import PublicParameterError, QuestionError, called_as, door, doors, made_as
from reticent.privacy.numbers import Number, positive, show
from reticent.statistics.options import KeySource, Words, check_per, read_delta, read_epsilon, shown, unknown

if TYPE_CHECKING:
    from reticent.data.schema import Schema
    from reticent.statistics.context import Setting, Step

T = TypeVar("T")
TOTALS = " with totals"
UNWEIGHTED = "1"  # in place of a weight: every row counts once
WEIGHTED = ("count", "sum", "mean", "proportion", "histogram", "median", "quantile", "quantiles", "iqr", "regress")
LAST = ("interval", "mode", "unit", "width")  # options of a text that stand behind the unit of analysis


class Dice(Protocol):
    """Chance for made-up statistics, which audits ask for."""

    def pick(self, items: Sequence[T], /) -> T: ...

    def chance(self, percent: int, /) -> bool: ...

    def some(self, items: Sequence[T], most: int, /) -> Sequence[T]: ...

    def shuffled(self, items: Sequence[T], /) -> Sequence[T]: ...


def seldom_bounds(dice: Dice, low: Number = -1, high: Number = 2) -> tuple[Number | None, Number | None]:
    """Bounds of a made-up statistic's own, one time in ten; else none.

    Parameters
    ----------
    dice : Dice
        Source of made-up options.
    low, high : number

    Returns
    -------
    pair of number or None
    """
    return (low, high) if dice.chance(10) else (None, None)


@attrs.frozen
class Statistic(ABC):
    """Base class of statistics: words, options, preparation and examples.

    Attributes
    ----------
    verb : str
        The word it is asked by.
    declines : str
        When it gives no reply, as words after "no reply"; empty where it always replies. Its steps state how probable
        that is, in ``Expected.replies``.
    synonyms : tuple of str
        Words of other tools, which a refusal answers with ``verb``.
    positions : tuple of str
        Options that a text may have without their names, in this order.
    takes_per : bool
        True if the rows of each person can be averaged first.
    has_delta : bool
        True if a question about it can name a delta.
    delta_in_rho : bool
        True if what spends a delta spends it in a release in rho, too.
    counts_rows : bool
        True if a cap on rows per person can change what is estimated.
    adds_up : bool
        True if each row that a cap cuts is missing in the answer: a number of rows, or a sum.
    may_be_public : bool
        True if it costs nothing where the number of people is public and nothing hides who counts.
    axis : str
        Kind of its numbers, by which figures share an axis: values or spread of its first column, share, rows, persons;
        effect for coefficients, which are compared with 0; empty for numbers of their own.
    takes_dates : bool
        True if it means something of a column of dates; else it is refused there.
    settles : tuple of str
        Options that the schema settles where the question leaves them open; names of answers always have them.
    examples : tuple of str
        Texts, the first of them typical; docs and audits use them.
    """

    verb: ClassVar[str]
    declines: ClassVar[str] = ""
    synonyms: ClassVar[tuple[str, ...]] = ()
    positions: ClassVar[tuple[str, ...]] = ()
    takes_per: ClassVar[bool] = False
    has_delta: ClassVar[bool] = False
    delta_in_rho: ClassVar[bool] = True
    counts_rows: ClassVar[bool] = True
    adds_up: ClassVar[bool] = False
    may_be_public: ClassVar[bool] = False
    axis: ClassVar[str] = ""
    takes_dates: ClassVar[bool] = False
    settles: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[tuple[str, ...]]

    if not TYPE_CHECKING:  # type checkers go by the fields

        @door
        def __new__(cls, *given: object, **named: object) -> Statistic:
            """A statistic to be filled; options of 0.1.0 are refused with their spelling of today."""
            known = attrs.fields_dict(cls).keys()
            if not named.keys() <= known or any(type(one).__name__ == "Study" for one in given):
                from reticent.former_names import refuse_options, refuse_study

                refuse_study(cls.verb, given)
                refuse_options(cls.verb, named, known)
            return super().__new__(cls)

    def __init_subclass__(cls) -> None:
        """Let a subclass be printed by its text, not by its fields, and refuse wrong arguments where they stand."""
        super().__init_subclass__()
        if "__init__" in vars(cls) and hasattr(
            cls, "examples"
        ):  # the class that attrs made of the one that was written
            shown = call_of(cls.examples[0])
            if cls.positions[:1] == ("names",):
                shown += f', or a list of several columns, rt.{cls.verb}(["x", "y"])'
            cls.__init__ = called_as(shown, cls.verb)(vars(cls)["__init__"])  # type: ignore[method-assign]
        cls.__repr__ = Statistic.__repr__  # type: ignore[method-assign]  # attrs keeps one of the class itself

    def __repr__(self) -> str:
        return self.name

    # --- what a statistic says of itself ------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose odd cells can change what is estimated."""
        return ()

    @property
    def may_decline(self) -> bool:
        """True if the answer may be no reply."""
        return bool(self.declines)

    @property
    def takes_weight(self) -> bool:
        """True if the rows can be weighted, as those of a sample are."""
        return False

    @property
    def counts_values(self) -> bool:
        """True if its answer tells a noisy number of the values of its column that it is of."""
        return False

    @property
    def by_name(self) -> bool:
        """True if its method, or the mode of the papers, was asked for by name: then it is tried, however unlikely."""
        fields = {field.name: (getattr(self, field.name), field.default) for field in attrs.fields(type(self))}
        method, default = fields.get("method", (None, None))
        ptr, _ = fields.get("ptr", (None, None))
        return method != default or getattr(ptr, "mode", "exact") == "paper"

    @property
    def spends_delta(self) -> bool:
        """True if no answer is possible with delta 0."""
        return False

    @property
    def note(self) -> str:
        """Words on what the question leaves out, for its plan and its release; empty where nothing is to be said."""
        return ""

    @property
    def takes_delta(self) -> bool:
        """True if a delta, where one is named, buys a better answer."""
        return self.spends_delta

    @abstractmethod
    def estimand(self, setting: Setting) -> str:
        """The quantity that is estimated, of the population or of this table, in words."""

    @abstractmethod
    def prepare(self, setting: Setting, epsilon: Fraction) -> Step:
        """The step that answers for exactly ``epsilon``. Every refusal is raised here, before rows are read."""

    @classmethod
    @abstractmethod
    def made_up(cls, dice: Dice) -> Statistic:
        """A statistic with options at random, often at their limits; audits ask for it on made-up columns."""

    # --- text ---------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The text that ``grammar.parse`` reads back: the name of the answer."""
        return self.text()

    @property
    def arguments(self) -> tuple[str, ...]:
        """Unnamed arguments that stand first in the text form."""
        return self.columns

    def renamed(self, of: Callable[[str], str]) -> Statistic:
        """The same statistic with each name of a column replaced; one without columns is itself."""
        return self

    def settled(self, schema: Schema) -> Statistic:
        """The same statistic with the options written out that only the schema settles; see ``settles``."""
        return self

    @property
    def named(self) -> tuple[str, ...]:
        """The names of columns, or texts of expressions in their place."""
        found: list[str] = []

        def note(name: str) -> str:
            found.append(name)
            return name

        self.renamed(note)
        return tuple(found)

    def __str__(self) -> str:
        return self.name

    def text(self, per: Per = "row", cost: Words = ()) -> str:
        """The text for a unit of analysis, and with a cost of its own: ``mean(x, per=person, epsilon=0.1)``."""
        words = list(self._words())
        if per == "person":
            place = next((i for i, (name, _) in enumerate(words) if name in LAST), len(words))
            words.insert(place, ("per", per))
        inner = ", ".join([*self.arguments, *(f"{name}={value}" for name, value in (*words, *cost))])
        return f"{self.verb}({inner})" if inner else self.verb

    def _words(self) -> Iterator[tuple[str, str]]:
        for field in attrs.fields(type(self)):
            value = getattr(self, field.name)
            if field.name in self.positional or value == field.default:
                continue
            unfolded = field.metadata.get("words")
            words: Words | None = getattr(value, "words", None) if unfolded is None else unfolded(value)
            if words is None:
                yield field.name, field.metadata.get("show", shown)(value)
            else:
                yield from words

    @property
    def positional(self) -> tuple[str, ...]:
        """The fields that ``arguments`` shows."""
        return self.positions[:1]

    @classmethod
    def options(cls) -> tuple[str, ...]:
        """The names of the options of a text, in order; a field of a small value stands by that value's options."""
        own = [name for field in attrs.fields(cls) for name in field.metadata.get("unfold", (field.name,))]
        return tuple(name for name in own if name != (cls.positions or ("",))[0])

    @classmethod
    def read(cls, texts: Mapping[str, str | Sequence[str]]) -> Statistic:
        """The statistic of options as text; those of a small value are read into it."""
        given: dict[str, object] = {}
        for field in attrs.fields(cls):
            names = field.metadata.get("unfold", (field.name,))
            found = {name: texts[name] for name in names if name in texts}
            if found:
                build = field.metadata.get("build")
                given[field.name] = found[field.name] if build is None else build(found)
        return cls(**given)

    # --- asking -------------------------------------------------------------------------------------------------------

    def where(self, condition: str | Expression) -> Ask:
        """The statistic of the rows for which a condition is true, such as ``"age >= 65"``."""
        return Ask(self).where(condition)

    def by(
        self,
        *columns: str | Expression,
        keys: str | None = None,
        at_least: int | None = None,
        groups: int | None = None,
    ) -> Ask:
        """The statistic in each group of a column, or of each combination of several.

        Parameters
        ----------
        *columns : str or Expression
        keys : str, optional
            "found", or the path of a public file of keys; by default those that are declared. ``Ask.by`` says more.
        at_least : int, optional
            A key of fewer persons is not found.
        groups : int, optional
            Most groups that one person counts in.

        Returns
        -------
        Ask
        """
        return Ask(self).by(*columns, keys=keys, at_least=at_least, groups=groups)

    def weight(self, column: str | Expression) -> Ask:
        """The statistic of a population, of which each row stands for as many as a column says."""
        return Ask(self).weight(column)

    def per(self, unit: Per) -> Ask:
        """The statistic of rows, or of each person's mean, so that every person weighs the same."""
        return Ask(self).per(unit)

    def at(self, epsilon: Number | None = None, *, delta: Number | None = None) -> Ask:
        """The statistic with a share of epsilon or delta of its own; other questions share what is left."""
        return Ask(self).at(epsilon, delta=delta)


for _asking in ("where", "by", "weight", "per", "at"):
    setattr(Statistic, _asking, door(vars(Statistic)[_asking]))


def call_of(text: str) -> str:
    """The call of ``rt`` that makes the statistic of a text: ``rt.quantile("x", 0.9)`` of ``quantile(x, 0.9)``."""
    verb, _, inner = text.removesuffix(")").partition("(")

    def written(value: str) -> str:
        if not re.fullmatch(r"-?[0-9.]+( -?[0-9.]+)*", value):
            return f'"{value}"'
        return f"[{value.replace(' ', ', ')}]" if " " in value else value

    parts = [part.rpartition("=") for part in inner.split(", ") if part]
    return f"rt.{verb}({', '.join(f'{name}{equals}{written(value)}' for name, equals, value in parts)})"


def read_column(column: str | Expression) -> str:
    """The name of a column, or the text of an expression in its place."""
    if isinstance(column, Expression):
        return column_text(plain_tree(column.tree))
    if type(column) is not str:
        raise QuestionError(f'a column is named by plain text, such as "age", got {column!r}')
    return column


@attrs.frozen
class OfColumn(Statistic, ABC):
    """A statistic of one column."""

    positions: ClassVar[tuple[str, ...]] = ("column",)
    column: str = attrs.field(converter=read_column)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def renamed(self, of: Callable[[str], str]) -> OfColumn:
        return attrs.evolve(self, column=of(self.column))


def read_statistic(statistic: Statistic) -> Statistic:
    """A statistic, and nothing that only looks like one."""
    if not isinstance(statistic, Statistic):
        raise QuestionError(f'a question is about a statistic, such as rt.mean("x"), got {statistic!r}')
    return statistic


def read_groups(groups: object) -> str | Keys:
    """The column of groups, or its public keys."""
    if not isinstance(groups, str | Keys):
        raise QuestionError(f'groups are those of columns, named as text: by("g") or by("g", "h"), got {groups!r}')
    return groups


def read_clause(columns: Sequence[str | Expression]) -> str:
    """Columns and expressions as the text behind ``by``."""
    if not columns:
        raise QuestionError('by names a column or more: by("g").')
    return ", ".join(map(read_column, columns))


def read_condition(condition: Tree | None) -> Tree | None:
    """A filter as a tree of plain parts."""
    return None if condition is None else plain_tree(condition)


def plain_tree(tree: Tree) -> Tree:
    """The tree of an expression in plain parts, as ``cleaned`` makes it."""
    from reticent.data.expression import cleaned

    return cleaned(tree)


@made_as('rt.Ask(rt.mean("age"), groups="ward")')
@attrs.frozen
class Ask:
    """One question.

    Attributes
    ----------
    statistic : Statistic
    groups : str, Keys or None
        The columns whose public values are the groups, with commas between them; ``Keys`` once the schema has said
        which values they have.
    unit : "row" or "person"
        "person" averages the rows of each person first.
    epsilon, delta : Fraction or None
        A share of its own; without it, an equal part of what the release has left.
    condition : Tree or None
        The filter: rows for which it is true.
    totals : bool
        The answer has the margins of its groups and the sum over all of them, too.
    weights : str or None
        The column by which rows are weighted; "1" where they are not, whatever the study says.
    source : KeySource or None
        Where the keys of the groups come from, if not from the schema, and how many of them a person may be in.
    as_asked : Statistic or None
        The statistic as it was before the schema settled an option; a request that is repeated is known by it.
    """

    statistic: Statistic = attrs.field(converter=read_statistic)
    groups: str | Keys | None = None
    unit: Per = "row"
    epsilon: Fraction | None = attrs.field(default=None, converter=read_epsilon)
    delta: Fraction | None = attrs.field(default=None, converter=read_delta)
    condition: Tree | None = attrs.field(default=None, converter=read_condition)
    totals: bool = False
    weights: str | None = None
    source: KeySource | None = None
    as_asked: Statistic | None = attrs.field(default=None, eq=False, repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_per(self.unit)
        if self.weighed_by is not None:
            self._check_weight()
        if not isinstance(self.totals, bool):
            raise PublicParameterError(f"totals is True or False, got {self.totals!r}")
        if self.totals and self.groups is None:
            raise QuestionError("totals are of groups: name them first, by g with totals.")
        if self.source is not None and self.groups is None:
            raise QuestionError("keys are of groups: name them first, by g keys=found.")
        if self.groups is not None:
            read_groups(self.groups)
        if self.unit == "person" and not self.statistic.takes_per:
            raise QuestionError(unknown(f"option of {self.statistic.verb}", "per", options_of(type(self.statistic))))
        if self.epsilon is not None:
            positive(self.epsilon, "epsilon")
        if self.delta is not None:
            positive(self.delta, "delta")
        if self.delta is not None and not self.statistic.takes_delta:
            raise QuestionError(
                f"delta would change nothing in {self.statistic.name}: name a method that spends a δ, such as M for a "
                "median, S for an iqr, TM for a trimmed mean. Nothing was charged."
            )

    def _check_weight(self) -> None:
        if self.unit == "person":
            raise QuestionError("a weight is of a row: leave out per=person, or have one row for each person.")
        if not self.statistic.takes_weight:
            raise QuestionError(
                f"{self.statistic.name} takes no weight. Weights are for {', '.join(WEIGHTED)}, by their usual method. "
                f"Of the rows as they are: {self.statistic.name} weight {UNWEIGHTED}. Nothing was charged."
            )

    def weight(self, column: str | Expression) -> Ask:
        """The same question with rows weighted by a column; "1" leaves them as they are."""
        return attrs.evolve(self, weights=read_column(column))

    def by(
        self,
        *columns: str | Expression,
        keys: str | None = None,
        at_least: int | None = None,
        groups: int | None = None,
    ) -> Ask:
        """The same question in each group of a column, or of each combination of several.

        Parameters
        ----------
        *columns : str or Expression
        keys : str, optional
            "found" for keys that nobody listed, of a column of texts: the release finds those that enough persons
            share. Or the path of a public file of keys, one on each line. By default those that are declared.
        at_least : int, optional
            A key of fewer persons is not found, for certain.
        groups : int, optional
            Most groups that one person counts in; by default as many as rows are kept. Fewer cost less.

        Returns
        -------
        Ask

        Raises
        ------
        QuestionError
            A question that is grouped already.
        """
        if self.groups is not None:
            raise QuestionError(f'{self.name} is grouped already: name all columns at once, by("g", "h")')
        plain = keys is None and at_least is None and groups is None
        source = None if plain else KeySource(keys, at_least, groups)
        return attrs.evolve(self, groups=read_clause(columns), source=source)

    def with_totals(self) -> Ask:
        """The same question with the margins of its groups and the sum over all of them: no further charge."""
        return attrs.evolve(self, totals=True)

    def where(self, condition: str | Expression) -> Ask:
        """The same question of the rows for which a condition is true, too."""
        tree = read(condition)
        both = tree if self.condition is None else joined("and", self.condition, tree)
        return attrs.evolve(self, condition=both)

    def per(self, unit: Per) -> Ask:
        """The same question of rows, or of each person's mean."""
        return attrs.evolve(self, unit=unit)

    def at(self, epsilon: Number | None = None, *, delta: Number | None = None) -> Ask:
        """The same question with a share of epsilon or delta of its own."""
        return attrs.evolve(self, epsilon=epsilon, delta=delta)

    @property
    def keys(self) -> Keys | None:
        """The public groups; None where there are none, or their values are not known yet."""
        return self.groups if isinstance(self.groups, Keys) else None

    @property
    def weighed_by(self) -> str | None:
        """The column by which rows are weighted; None where every row counts once."""
        return None if self.weights == UNWEIGHTED else self.weights

    @property
    def name(self) -> str:
        """The name of the answer, which no share of the loss belongs to."""
        return self._grouped(self.statistic.text(self.unit), self.weighed_by)

    def __str__(self) -> str:
        """The text that the grammar reads back, with the share of the loss."""
        shares = (("epsilon", self.epsilon), ("delta", self.delta))
        cost = tuple((name, show(share)) for name, share in shares if share is not None)
        return self._grouped(self.statistic.text(self.unit, cost), self.weights)

    def __repr__(self) -> str:
        """The text, which a release takes in place of the question."""
        return str(self)

    def _grouped(self, text: str, weights: str | None) -> str:
        chosen = "" if weights is None else f" weight {weights}"
        chosen += "" if self.condition is None else f" where {write(self.condition)}"
        if self.groups is None:
            return text + chosen
        groups = self.groups.clause if isinstance(self.groups, Keys) else self.groups
        told = f" {self.source}" if self.source is not None and isinstance(self.groups, str) else ""
        return f"{text}{chosen} by {groups}{told}{TOTALS if self.totals else ''}"

    @property
    def is_checked(self) -> bool:
        """True if a release of it is refused where it would most likely be no reply."""
        return self.statistic.may_decline and not self.statistic.by_name

    @property
    def spends_delta(self) -> bool:
        """True if the answer spends a delta: of its own, or a part of the release's."""
        return self.statistic.spends_delta or (self.delta is not None and self.statistic.takes_delta)

    @property
    def counts_rows(self) -> bool:
        """True if a cap on rows per person can change what is estimated."""
        return self.unit == "row" and self.statistic.counts_rows


doors(Ask)


def ask(question: Statistic | Ask) -> Ask:
    """The question, of a statistic as it stands."""
    return question if isinstance(question, Ask) else Ask(question)


def ours(question: Statistic | Ask) -> bool:
    """True if the class of the statistic is one of this package; else an extension has it."""
    return type(ask(question).statistic).__module__.partition(".")[0] == __name__.partition(".")[0]


def options_of(kind: type[Statistic]) -> tuple[str, ...]:
    """Every option of a text: those of the statistic, and those of a question about it."""
    named = (*(("per",) if kind.takes_per else ()), "epsilon", *(("delta",) if kind.has_delta else ()))
    return (*kind.options(), *named)
