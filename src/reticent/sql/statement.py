"""A SELECT as questions to a study, and what is computed from their answers.

    SELECT ward, AVG(cost), SUM(cost) / COUNT(*) FROM study WHERE age >= 65 GROUP BY ward HAVING COUNT(*) > 20

    questions   mean(cost), sum(cost), count, each where age >= 65 by ward
    outputs     the group, a weighted sum of answers, a quotient of two such sums

What stands in WHERE, GROUP BY or an aggregate is computed from rows, by the expressions of a study. What stands around
aggregates, and in HAVING, ORDER BY and LIMIT, is computed from released numbers and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from reticent.data.expression_tree import Application, ColumnName, Tree, column_text, write
from reticent.data.formula import Expression
from reticent.data.joined_table import own_name
from reticent.sql.from_clause import NamedRows, check_joined, joined_rows, rows_of_table
from reticent.sql.grouping import GroupingSets, grouping_sets
from reticent.sql.output import (
    GroupKey,
    IntervalEnd,
    Output,
    Quotient,
    TotalFlag,
    WeightedSum,
    divided,
    names_of,
    plus,
    product,
    times,
)
from reticent.sql.scalar import limit_of, nth_column, number_of, tree_of, unknown, unknown_around
from reticent.sql.syntax import (
    TABLE,
    alias_of,
    column_title,
    is_number,
    listed_parts,
    name_of,
    named_column,
    only_part,
    parts,
    refusal,
    select,
    the_only,
    union_sides,
)
from reticent.sql.view import RowView, narrowed, united
from reticent.statistics.registry import KINDS
from reticent.statistics.statistic import Ask

if TYPE_CHECKING:
    from reticent.data.schema import Schema

MOST_OUTPUTS: Final = 200
NO_REPLY: Final = "no_reply"  # the column of a result that names what got none


@dataclass(frozen=True, slots=True)
class ReleasedCondition:
    """A condition of HAVING on released numbers: ``word`` joins choices, or compares two outputs."""

    word: str
    operands: tuple[ReleasedCondition | Output | str, ...]


@dataclass(frozen=True, slots=True)
class SelectStatement:
    """The questions and outputs of a SELECT.

    Attributes
    ----------
    text : str
    asks : tuple of Ask
        The questions, each once.
    outputs : tuple of pairs
        The name and content of each column of the result.
    groups : tuple of str
        What the rows are grouped by.
    sets : tuple of tuple of int
        Of each kind of row the places of the groups it has; those it lacks are summed over.
    having : ReleasedCondition or None
    order : tuple of pairs
        Outputs that rows are sorted by, and True where the greatest comes first.
    limit : int or None
    joined : mapping of str to str
        Further tables with "inner", which leaves out rows without a partner, or "left".
    cost : mapping of str to str
        Epsilon and delta, where the statement names them.
    """

    text: str
    asks: tuple[Ask, ...]
    outputs: tuple[tuple[str, Output], ...]
    groups: tuple[str, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ((),)
    having: ReleasedCondition | None = None
    order: tuple[tuple[Output, bool], ...] = ()
    limit: int | None = None
    joined: Mapping[str, str] = field(default_factory=dict)
    cost: Mapping[str, str] = field(default_factory=dict)


def read(text: str, schema: Schema, tables: Sequence[str] = (TABLE,)) -> SelectStatement:
    """The questions and outputs of a statement.

    Parameters
    ----------
    text : str
    schema : Schema
    tables : sequence of str
        The names that stand for the table of the study.

    Returns
    -------
    SelectStatement
        Questions, outputs, and the options of the statement.

    Raises
    ------
    QuestionError
        What cannot be read, is not allowed, or names no column; nothing is read or charged.
    """
    tree, options = select(text, schema.columns)
    try:
        return _StatementReader(schema, tuple(tables), options).statement(text, tree)
    except RecursionError:
        raise refusal("The statement is too deep.") from None


class _StatementReader:
    """One statement on its way: the questions found so far."""

    def __init__(self, schema: Schema, tables: tuple[str, ...], options: Mapping[str, str]) -> None:
        self.schema = schema
        self.tables = tables
        self.texts = {full.removeprefix(f"{schema.table_of(full)}."): full for full in schema.texts}
        self.asks: dict[str, Ask] = {}
        self.rows = RowView({})
        self.groups = GroupingSets()
        self.cost = _cost(options, schema)
        self.weight = options.get("weight")

    def statement(self, text: str, node: Any) -> SelectStatement:
        parts(node, "expressions", "from_", "where", "group", "having", "order", "limit", "with_", "joins")
        self.rows = self._source(node, {})
        check_joined(self.rows, self.schema, self.tables)
        if node.args.get("where") is not None:
            self.rows = narrowed(self.rows, self._condition(node.args["where"], self.rows))
        columns = [named_column(one) for one in node.expressions]
        if len(columns) > MOST_OUTPUTS:
            raise refusal(f"A statement has at most {MOST_OUTPUTS} outputs.")
        self.groups = self._groups(node.args.get("group"), columns)
        if any(one.key == "star" for _, one in columns):
            raise refusal(
                "Rows cannot be released: * is allowed in COUNT(*) and in subqueries. Ask COUNT, AVG, MEDIAN."
            )
        read = [
            (name, one, self._output(one)) for name, one in columns
        ]  # a refusal comes before SQLGlot writes a title
        outputs = tuple((name or column_title(one), output) for name, one, output in read)
        names = [NO_REPLY, *(found for name, output in outputs for found in names_of(name, output))]
        for name in names:
            if names.count(name) > 1:
                raise refusal(f"Two columns are called {name}: name one with AS.")
        aliases = {name.lower(): output for name, output in outputs}
        having, order, limit = (node.args.get(name) for name in ("having", "order", "limit"))
        found = SelectStatement(
            text,
            (),
            outputs,
            tuple(map(write, self.groups.columns)),
            self.groups.sets,
            None if having is None else self._choice(only_part(having, "this"), aliases),
            () if order is None else tuple(self._sorted(one, aliases) for one in listed_parts(order)),
            None if limit is None else limit_of(limit),
            self.rows.joined,
            self.cost,
        )
        if not self.asks:
            raise refusal(
                "The statement has no aggregate, and rows cannot be released. Ask COUNT(*), AVG(x), MEDIAN(x)."
            )
        return replace(found, asks=tuple(self.asks.values()))

    # --- rows -----------------------------------------------------------------------------------------------------

    def _source(self, node: Any, known: Mapping[str, RowView]) -> RowView:
        """The rows of FROM: the table of the study, a subquery, or a name from WITH."""
        within = dict(known)
        given = node.args.get("with_")
        if given is not None:
            parts(given, "expressions")
            for one in given.expressions:
                parts(one, "this", "alias")
                name = alias_of(one.args.get("alias"))
                within[name.lower()] = replace(self._view(one.this, within), names=frozenset({name.lower()}))
        source = node.args.get("from_")
        if source is None:
            raise refusal(f"The statement names no table: FROM {self.tables[0]}.")
        parts(source, "this")
        joins = node.args.get("joins") or []
        first = self._table(source.this, within, alone=not joins)
        if not joins:
            names = frozenset({first.word.lower(), *first.rows.qualified} - {""})
            return replace(first.rows, names=names)
        further = [(one, self._table(one.this, within, alone=False)) for one in joins]
        return joined_rows(first, further, self.schema, self.tables)

    def _table(self, node: Any, known: Mapping[str, RowView], *, alone: bool) -> NamedRows:
        """The rows of a table, a subquery or a name from WITH, and what the statement calls them."""
        match node.key:
            case "subquery":
                parts(node, "this", "alias")
                rows = self._view(node.this, known)
                word = alias_of(node.args.get("alias"))
                return NamedRows(word, replace(rows, qualified={}))
            case "table" if node.args.get("db") is None and node.args.get("catalog") is None:
                parts(node, "this", "alias")
                if node.this.key != "identifier":
                    raise refusal(f"A table stands by its name: FROM {self.tables[0]}.")
                name = name_of(node.this)
                word = alias_of(node.args.get("alias")) or name
                if name.lower() in known:
                    return NamedRows(word, replace(known[name.lower()], qualified={}))
                rows = rows_of_table(name, self.schema, self.tables, alone=alone)
                called = {word.lower(): rows.columns} if not rows.qualified else rows.qualified
                called = {word.lower() if one == name.lower() else one: own for one, own in called.items()}
                return NamedRows(word, replace(rows, qualified=called))
            case "table":
                raise refusal(f"A table stands by its one name: FROM {self.tables[0]}.")
            case _:
                raise refusal(f"{node.key.upper()} stands for no table here: FROM {self.tables[0]}.")

    def _view(self, node: Any, known: Mapping[str, RowView]) -> RowView:
        """The rows of a subquery, which names columns and filters; of UNION ALL those of its sides."""
        match node.key:
            case "union":
                return united([self._side(one, known, named=place == 0) for place, one in enumerate(union_sides(node))])
            case "select":
                return self._side(node, known)
            case "intersect" | "except":
                raise refusal(f"{node.key.upper()} compares rows of sets: write its condition with AND, or AND NOT.")
            case word:
                raise refusal(f"A subquery is a SELECT of rows; this one is {word.upper()}.")

    def _side(self, node: Any, known: Mapping[str, RowView], *, named: bool = True) -> RowView:
        """The rows of one SELECT; where ``named`` is False its columns need no names."""
        if node.key != "select":
            raise refusal(f"A side of UNION ALL is a SELECT of rows; this one is {node.key.upper()}.")
        if node.args.get("group"):
            raise refusal(
                "GROUP BY is not allowed in a subquery, which has rows of people. Write instead: mean(x, per=person) "
                "in a release, or a table of such sums that the study joins."
            )
        for word in ("having", "order", "limit", "distinct"):
            if node.args.get(word):
                raise refusal(f"{word.upper()} is not allowed in a subquery: it names columns and filters rows.")
        parts(node, "expressions", "from_", "where", "with_", "joins")
        rows = self._source(node, known)
        if node.args.get("where") is not None:
            rows = narrowed(rows, self._condition(node.args["where"], rows))
        columns: dict[str, Tree] = {}
        keys: dict[str, str] = {}
        for place, one in enumerate(node.expressions):
            name, inner = named_column(one)
            if inner.key == "star":
                parts(inner)
                columns |= rows.columns
                keys |= rows.keys
                continue
            self._check_tables(inner, rows)
            if (key := _key_of(inner, rows)) is not None:
                keys[(name or column_title(inner)) if named else f"{place}"] = key
                if not _is_column(inner, rows):
                    continue
            if inner.key in AGGREGATES:
                raise refusal("A subquery names columns and filters rows; aggregates stand in the outer SELECT.")
            tree = tree_of(inner, rows)
            if named and not name and not isinstance(tree, ColumnName):
                raise refusal("Name what a subquery computes: cost / 100 AS euros.")
            columns[(name or column_title(inner)) if named else f"{place}"] = tree
        return RowView(columns, rows.condition, joined=rows.joined, keys=keys, table=rows.table)

    def _condition(self, node: Any, rows: RowView) -> Tree:
        inner = only_part(node, "this")
        self._check_tables(inner, rows)
        if (within := next((one for one in inner.walk() if one.key in ("subquery", "select")), None)) is not None:
            raise refusal(unknown(within))
        if _aggregated(inner):
            raise refusal("WHERE is about one row: a condition on an aggregate stands in HAVING.")
        return tree_of(inner, rows)

    def _check_tables(self, node: Any, rows: RowView) -> None:
        for one in node.walk():
            if one.key == "exists":
                raise refusal(unknown(one))
            if one.key == "column" and one.this.key == "identifier" and name_of(one.this) in self.texts:
                name = self.texts[name_of(one.this)]
                raise refusal(f"Nobody lists the values of {name}: keys({name}) finds those that many persons share.")
            if one.key == "column" and one.args.get("table") is not None:
                table = name_of(one.args["table"])
                if table.lower() not in rows.names:
                    raise refusal(f"There is no table '{table}' here.")

    def _groups(self, node: Any, columns: Sequence[tuple[str, Any]]) -> GroupingSets:
        if node is None:
            return GroupingSets()
        aliases = {name.lower(): one for name, one in columns if name}

        def group(one: Any) -> Tree:
            inner = one
            if is_number(one):
                inner = columns[nth_column(one, "GROUP BY", len(columns))][1]
            elif one.key == "column" and one.args.get("table") is None:
                name = name_of(one.this).lower()
                if name in aliases and name not in {known.lower() for known in self.rows.columns}:
                    inner = aliases[name]
            if _aggregated(inner):
                raise refusal("GROUP BY takes columns and expressions of one row, no aggregate.")
            self._check_tables(inner, self.rows)
            return tree_of(inner, self.rows)

        return grouping_sets(node, group)

    # --- outputs --------------------------------------------------------------------------------------------------

    def _output(self, node: Any) -> Output:
        """A column of the result."""
        self._check_tables(node, self.rows)
        if node.key == "anonymous" and str(node.this).upper() in ENDS:
            parts(node, "this", "expressions")
            (inner,) = node.expressions if len(node.expressions) == 1 else (None,)
            if inner is None:
                raise refusal(f"{str(node.this).upper()} takes one number.")
            found = self._output(inner)
            if not isinstance(found, WeightedSum | Quotient):
                raise refusal(f"{str(node.this).upper()} takes an aggregate, or arithmetic on aggregates.")
            return IntervalEnd(found, ENDS[str(node.this).upper()])
        if node.key == "grouping":
            parts(node, "expressions")
            if len(node.expressions) != 1:
                raise refusal("GROUPING takes one column of GROUP BY.")
            return TotalFlag(self._key(node.expressions[0]).place)
        if not _aggregated(node) and node.key not in ("literal", "neg"):
            return self._key(node)
        return self._number(node)

    def _key(self, node: Any) -> GroupKey:
        tree = tree_of(node, self.rows)
        if tree not in self.groups.columns:
            raise refusal(f"{write(tree)} stands in no GROUP BY and in no aggregate, and rows cannot be released.")
        return GroupKey(self.groups.columns.index(tree))

    def _number(self, node: Any) -> WeightedSum | Quotient:
        """Arithmetic on aggregates: a weighted sum of them, or a quotient of two."""
        match node.key:
            case "paren":
                return self._number(only_part(node, "this"))
            case "neg":
                return times(self._number(only_part(node, "this")), Fraction(-1))
            case "literal":
                return WeightedSum((), number_of(node))
            case "add" | "sub":
                parts(node, "this", "expression")
                return plus(
                    self._number(node.this), self._number(node.expression), Fraction(1 if node.key == "add" else -1)
                )
            case "mul":
                parts(node, "this", "expression")
                return product(self._number(node.this), self._number(node.expression))
            case "div":
                parts(node, "this", "expression")
                return divided(self._number(node.this), self._number(node.expression))
            case word if word in AGGREGATES:
                ask = AGGREGATES[word](self, node)
                return WeightedSum(((self._asked(ask), Fraction(1)),))
            case _:
                raise refusal(unknown_around(node))

    def _asked(self, ask: Ask) -> str:
        """Keep a question about the rows of the statement; its name, which those of equal questions share."""
        if self.rows.condition is not None:
            ask = ask.where(Expression(self.rows.condition))
        if self.groups.columns:
            ask = ask.by(*map(Expression, self.groups.columns))
        if len(self.groups.sets) > 1:
            ask = ask.with_totals()
        if self.weight is not None:
            ask = ask.weight(self.weight)
        return self.asks.setdefault(ask.name, ask).name

    # --- aggregates -----------------------------------------------------------------------------------------------

    def of_column(self, verb: str, node: Any) -> Ask:
        """A statistic of what an aggregate is of."""
        inner = only_part(node, "this", *(name for name in ("quantile",) if name in node.args))
        if inner is None or inner.key == "star":
            raise refusal(f"{node.key.upper()} takes a column.")
        if inner.key == "distinct":
            raise refusal(f"{node.key.upper()}(DISTINCT …) is no statistic here: COUNT(DISTINCT person) is.")
        if _aggregated(inner):
            raise refusal("An aggregate is of a column, not of another aggregate.")
        return Ask(KINDS[verb].read({"column": column_text(tree_of(inner, self.rows))}))

    def count(self, node: Any) -> Ask:
        inner = only_part(node, "this", "expressions")
        if node.args.get("expressions"):
            raise refusal("COUNT takes *, one column, or DISTINCT and the person.")
        if inner is None or inner.key == "star" or is_number(inner):  # COUNT(1) is COUNT(*)
            if inner is not None and inner.key == "star":
                parts(inner)
            return Ask(KINDS["count"].read({}))
        if inner.key != "distinct":
            lack = Application("is missing", (tree_of(inner, self.rows),))
            return Ask(KINDS["count"].read({})).where(Expression(Application("not", (lack,))))
        parts(inner, "expressions")
        if [self._names_person(one) for one in inner.expressions] != [True]:
            person = self.schema.person.column
            known = "each row is one person: COUNT(*)" if person is None else f"COUNT(DISTINCT {person})"
            raise refusal(f"COUNT(DISTINCT …) counts persons: {known}. How many values there are is no statistic.")
        return Ask(KINDS["persons"].read({}))

    def _names_person(self, node: Any) -> bool:
        """Tell if a column is the one that names the person, by its own table where the main one has that name too."""
        person = self.schema.person.column
        if person is None or node.key != "column":
            return False
        own, table = own_name(self.schema.tables, person), node.args.get("table")
        if name_of(node.this).lower() != own.lower():
            return False
        at = self.rows.tables.get("" if table is None else name_of(table).lower())
        if at is not None:
            return at == self.schema.table_of(person)
        return own == person or own not in self.schema.columns  # else another column of the main table

    def within_group(self, node: Any) -> Ask:
        """``PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x)``."""
        parts(node, "this", "expression")
        if node.this.key not in ("percentilecont", "percentiledisc"):
            raise refusal("WITHIN GROUP goes with PERCENTILE_CONT.")
        level, (ordered,) = number_of(only_part(node.this, "this")), the_only(listed_parts(node.expression))
        parts(ordered, "this", "desc")
        if ordered.args.get("desc"):
            level = 1 - level
        return self._quantile(ordered.this, level)

    def percentile(self, node: Any) -> Ask:
        parts(node, "this", "expression", "quantile")
        level = node.args.get("expression") or node.args.get("quantile")
        if level is None:
            raise refusal("Write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x).")
        return self._quantile(node.this, number_of(level))

    def _quantile(self, node: Any, level: Fraction) -> Ask:
        column = column_text(tree_of(node, self.rows))
        return Ask(KINDS["quantile"].read({"column": column, "level": str(level)}))

    def filtered(self, node: Any) -> Ask:
        """``AVG(x) FILTER (WHERE …)``."""
        parts(node, "this", "expression")
        if node.this.key not in AGGREGATES:
            raise refusal("FILTER goes with an aggregate.")
        return AGGREGATES[node.this.key](self, node.this).where(Expression(self._condition(node.expression, self.rows)))

    def counted(self, node: Any) -> Ask:
        """``COUNT_IF(condition)``."""
        condition = tree_of(only_part(node, "this"), self.rows)
        return Ask(KINDS["count"].read({})).where(Expression(condition))

    def extreme(self, node: Any) -> Ask:
        level = "0.01" if node.key == "min" else "0.99"
        raise refusal(
            f"{node.key.upper()} is one person's value. Ask PERCENTILE_CONT({level}) WITHIN GROUP (ORDER BY …)."
        )

    # --- released numbers -----------------------------------------------------------------------------------------

    def _choice(self, node: Any, aliases: Mapping[str, Output]) -> ReleasedCondition:
        match node.key:
            case "paren":
                return self._choice(only_part(node, "this"), aliases)
            case "not":
                return ReleasedCondition("not", (self._choice(only_part(node, "this"), aliases),))
            case "and" | "or":
                parts(node, "this", "expression")
                return ReleasedCondition(
                    node.key, tuple(self._choice(one, aliases) for one in (node.this, node.expression))
                )
            case "between":
                parts(node, "this", "low", "high")
                x, low, high = (self._released(node.args[name], aliases) for name in ("this", "low", "high"))
                return ReleasedCondition("and", (ReleasedCondition(">=", (x, low)), ReleasedCondition("<=", (x, high))))
            case word if word in COMPARISONS:
                parts(node, "this", "expression")
                return ReleasedCondition(
                    COMPARISONS[word], (self._compared(node.this, aliases), self._compared(node.expression, aliases))
                )
            case _:
                raise refusal("HAVING compares released numbers: HAVING COUNT(*) > 20.")

    def _compared(self, node: Any, aliases: Mapping[str, Output]) -> Output | str:
        if node.key == "literal" and node.args.get("is_string"):
            return str(node.this)
        return self._released(node, aliases)

    def _released(self, node: Any, aliases: Mapping[str, Output]) -> Output:
        """An output by its name, or one that is computed for a choice alone."""
        if node.key == "column" and node.args.get("table") is None:
            name = name_of(node.this).lower()
            if name in aliases:
                return aliases[name]
        return self._output(node)

    def _sorted(self, node: Any, aliases: Mapping[str, Output]) -> tuple[Output, bool]:
        parts(node, "this", "desc")
        if is_number(node.this):
            outputs = list(aliases.values())
            return outputs[nth_column(node.this, "ORDER BY", len(outputs))], bool(node.args.get("desc"))
        return self._released(node.this, aliases), bool(node.args.get("desc"))


AGGREGATES: Final[Mapping[str, Callable[[_StatementReader, Any], Ask]]] = {
    "count": _StatementReader.count,
    "countif": _StatementReader.counted,
    "sum": lambda reader, node: reader.of_column("sum", node),
    "avg": lambda reader, node: reader.of_column("mean", node),
    "variance": lambda reader, node: reader.of_column("variance", node),
    "variancepop": lambda reader, node: reader.of_column("variance", node),
    "stddev": lambda reader, node: reader.of_column("sd", node),
    "stddevsamp": lambda reader, node: reader.of_column("sd", node),
    "stddevpop": lambda reader, node: reader.of_column("sd", node),
    "median": lambda reader, node: reader.of_column("median", node),
    "withingroup": _StatementReader.within_group,
    "percentilecont": _StatementReader.percentile,
    "percentiledisc": _StatementReader.percentile,
    "quantile": _StatementReader.percentile,
    "approxquantile": _StatementReader.percentile,
    "filter": _StatementReader.filtered,
    "min": _StatementReader.extreme,
    "max": _StatementReader.extreme,
}
COMPARISONS: Final = {"eq": "=", "neq": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
ENDS: Final = {"INTERVAL_LOW": "low", "INTERVAL_HIGH": "high", "DP_INTERVAL_LOW": "low", "DP_INTERVAL_HIGH": "high"}


# --- parts of nodes -------------------------------------------------------------------------------------------


def _aggregated(node: Any) -> bool:
    """Tell if an aggregate stands anywhere in a node."""
    return any(one.key in AGGREGATES for one in node.walk())


def _key_of(node: Any, rows: RowView) -> str | None:
    """The declared column of a name that the condition of a join may name."""
    if node.key != "column" or node.this.key != "identifier":
        return None
    low = {name.lower(): full for name, full in rows.keys.items()}
    return low.get(name_of(node.this).lower())


def _is_column(node: Any, rows: RowView) -> bool:
    """Tell if a name is a column that can be asked for, too."""
    return name_of(node.this).lower() in [name.lower() for name in rows.columns]


def _cost(options: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """Epsilon and delta of the options, whose other words must agree with the study."""
    found = {name: options[name] for name in ("epsilon", "delta") if name in options}
    for name, given in options.items():
        match name:
            case "epsilon" | "delta" | "weight":
                pass
            case "privacy_unit_column":
                if given != schema.person.column:
                    told = "each row is one person" if schema.person.column is None else schema.person.column
                    raise refusal(f"privacy_unit_column is {told}, as the study declares.")
            case "max_groups_contributed" | "max_rows_contributed":
                if given != str(schema.person.rows):
                    raise refusal(f"{name} is {schema.person.rows}, as the study declares.")
            case "group_selection_strategy":
                if given.upper() != "PUBLIC_GROUPS":
                    raise refusal(
                        "group_selection_strategy is PUBLIC_GROUPS; the line keys(x) of a release finds others."
                    )
            case _:
                raise refusal(f"There is no option {name}: write epsilon, delta, weight.")
    return found
