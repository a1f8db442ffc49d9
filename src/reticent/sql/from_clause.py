"""FROM: the main table of a study, and the further tables that a statement joins to it.

    FROM visits v JOIN patients p ON v.patient = p.patient LEFT JOIN wards w ON p.ward = w.ward

The study declares how each table is reached, and a statement says it again: another join is refused with that one.
JOIN leaves out rows without a partner, LEFT JOIN keeps them. The name ``study`` alone is the rows with all tables.
A subquery or a name from WITH stands for a table too. Rows of the outcome are always those of the main table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from reticent.data.expression_tree import ColumnName, Tree
from reticent.data.format import section
from reticent.data.joined_table import own_name
from reticent.sql.syntax import TABLE, name_of, parts, refusal
from reticent.sql.view import RowView, narrowed

if TYPE_CHECKING:
    from reticent.data.schema import Schema

CROSSED: Final = "pairs everybody with everybody"
HOW: Final[Mapping[tuple[str, str], str]] = {
    ("", ""): "inner",
    ("", "INNER"): "inner",
    ("LEFT", ""): "left",
    ("LEFT", "OUTER"): "left",
    ("RIGHT", ""): "right",
    ("RIGHT", "OUTER"): "right",
}


@dataclass(frozen=True, slots=True)
class NamedRows:
    """Rows under the name by which a statement calls them."""

    word: str
    rows: RowView


def rows_of_table(name: str, schema: Schema, tables: Sequence[str], *, alone: bool) -> RowView:
    """The rows of one table by its name.

    Parameters
    ----------
    name : str
    schema : Schema
    tables : sequence of str
        The names of the main table.
    alone : bool
        Nothing is joined to it: ``study`` has the columns of all tables then.

    Returns
    -------
    RowView
        The rows, and the columns that they have.

    Raises
    ------
    QuestionError
        A name that no table has.
    """
    for further in schema.tables:
        if further.lower() == name.lower():
            own = {
                own_name(schema.tables, one): ColumnName(one)
                for one in schema.columns
                if schema.table_of(one) == further
            }
            return RowView(own, keys=_keys_of(schema, further), table=further)
    if name.lower() not in [one.lower() for one in tables]:
        known = f" Its tables: {', '.join([tables[-1], *schema.tables])}." if schema.tables else ""
        raise refusal(f"There is no table '{name}'.{known} Write FROM {tables[-1]}.")
    plain: dict[str, Tree] = {one: ColumnName(one) for one in schema.columns if not schema.table_of(one)}
    main = RowView(plain, keys=_keys_of(schema, ""), elsewhere=_elsewhere(schema, tables))
    if not alone or name.lower() != TABLE:
        return main
    of = {table: rows_of_table(table, schema, tables, alone=True).columns for table in schema.tables}
    qualified = {name.lower(): plain, **{table.lower(): columns for table, columns in of.items()}}
    how = {table: joined.join for table, joined in schema.tables.items()}
    return replace(main, columns={**_plain(qualified), **plain}, qualified=qualified, joined=how)


def joined_rows(
    first: NamedRows, joins: Sequence[tuple[Any, NamedRows]], schema: Schema, tables: Sequence[str]
) -> RowView:
    """The rows of the main table with those that are joined to it.

    Parameters
    ----------
    first : NamedRows
        Those after FROM.
    joins : sequence of pairs
        The node of each join, and the rows that it joins.
    schema : Schema
    tables : sequence of str
        The names of the main table.

    Returns
    -------
    RowView
        The rows, and the columns that they have by each alias.

    Raises
    ------
    QuestionError
        A join that the study does not declare, or that keeps rows of another table than the main one.
    """
    node, second = joins[0]
    if first.rows.table and not second.rows.table:  # FROM patients p RIGHT JOIN visits v: visits LEFT JOIN patients
        how = _how(node, first, second, schema, tables)
        if how == "left":
            raise refusal(
                f"LEFT JOIN keeps rows of {first.rows.table} without one of {tables[-1]}, and rows here are those of "
                f"{tables[-1]}: write FROM {tables[-1]} LEFT JOIN {first.rows.table}."
            )
        swapped = "left" if how == "right" else how
        found = _Joining(second, schema, tables)
        found.add(node, first, swapped)
    else:
        found = _Joining(first, schema, tables)
        if first.rows.table:
            raise refusal(_of_main(first.rows.table, schema, tables))
        found.add(node, second, _how(node, first, second, schema, tables))
    for node, rows in joins[1:]:
        found.add(node, rows, _how(node, first, rows, schema, tables))
    return found.rows()


def check_joined(rows: RowView, schema: Schema, tables: Sequence[str]) -> None:
    """Refuse rows of another table than the main one, or without a table that decides how many rows there are.

    Parameters
    ----------
    rows : RowView
        Rows that the statement joins.
    schema : Schema
        Schema of the study.
    tables : sequence of str
        Names of the main table.

    Raises
    ------
    QuestionError
        Rows of a further table alone, or a join that leaves the number of rows open.
    """
    if rows.table:
        raise refusal(_of_main(rows.table, schema, tables))
    for table, joined in schema.tables.items():
        if joined.always and table not in rows.joined:
            word = "JOIN" if joined.join == "inner" else "LEFT JOIN"
            shown = _shown(schema, table, {"": tables[-1]})
            raise refusal(f"The study joins {table} to each row: {word} {table} ON {shown}.")


class _Joining:
    """The rows of the main table on their way through the joins of a statement."""

    def __init__(self, main: NamedRows, schema: Schema, tables: Sequence[str]) -> None:
        self.schema, self.tables, self.main = schema, tables, main
        self.views: dict[str, RowView] = {main.word.lower(): main.rows}
        self.words: dict[str, str] = {"": main.word}  # by table, what the statement calls it
        self.how: dict[str, str] = dict(main.rows.joined)
        self.condition = main.rows
        self.merged: dict[str, Tree] = {}  # columns of USING, which need no table before them

    def add(self, node: Any, given: NamedRows, how: str) -> None:
        """Join one further table."""
        table, word = given.rows.table, given.word
        if not table:
            raise refusal(_beside_itself(self.tables))
        if table in self.how:
            raise refusal(f"{table} is joined twice. A row has one partner there: JOIN {table} once.")
        if word.lower() in self.views:
            raise refusal(f"Two tables are called {word}: name one with AS.")
        if how == "right":
            raise refusal(
                f"RIGHT JOIN keeps rows of {table} without one of {self.tables[-1]}, and rows here are those of "
                f"{self.tables[-1]}: write LEFT JOIN {table}, or FROM {table} RIGHT JOIN {self.tables[-1]}."
            )
        self.check(node, given)
        if (self.schema.tables[table].join, how) == ("inner", "left"):
            raise refusal(f"The study leaves out rows without {table}: write JOIN {table}, not LEFT JOIN.")
        if given.rows.condition is not None:
            if how == "left":
                raise refusal(
                    f"LEFT JOIN of rows of {table} with WHERE has missing cells where it is not fulfilled. Write its "
                    f"condition after the joins, or CASE WHEN … THEN … ELSE … END; or JOIN."
                )
            self.condition = narrowed(self.condition, given.rows.condition)
        for name in [name_of(one).lower() for one in node.args.get("using") or ()]:
            held = [pair for rows in self.views.values() for pair in rows.columns.items() if pair[0].lower() == name]
            self.merged.update(held[:1])
        self.views[word.lower()] = given.rows
        self.words[table], self.how[table] = word, how

    def check(self, node: Any, given: NamedRows) -> None:
        """Refuse a condition other than the declared one."""
        table = given.rows.table
        declared = {(ours, f"{table}.{theirs}") for ours, theirs in _pairs(self.schema, table)}
        known = {**self.views, given.word.lower(): given.rows}
        if node.args.get("using"):
            names = [name_of(one).lower() for one in node.args["using"]]
            sides = [(self.found("", name, self.views), self.found("", name, {"": given.rows})) for name in names]
        else:
            sides = [
                _columns_of(one, lambda word, name: self.found(word, name, known))
                for one in _equalities(node.args["on"])
            ]
        met = [
            pair
            for one, other in sides
            for pair in declared
            if (pair[0] in one and pair[1] in other) or (pair[0] in other and pair[1] in one)
        ]
        if len(sides) != len(declared) or set(met) != declared:
            shown = _shown(self.schema, table, {**self.words, table: given.word})
            raise refusal(f"{table} is joined as the study declares: JOIN {table} ON {shown}.")

    def found(self, word: str, name: str, views: Mapping[str, RowView]) -> set[str]:
        """The declared columns that a name of an equality may mean; those that rows with a partner have equal, too."""
        some = [rows for alias, rows in views.items() if not word or alias == word.lower()]
        full = {known[low] for rows in some if (low := name.lower()) in (known := _lower(rows.keys))}
        for one in sorted(full):
            while (table := self.schema.table_of(one)) and self.how.get(table) == "inner":
                equal = [ours for ours, theirs in _pairs(self.schema, table) if f"{table}.{theirs}" == one]
                if not equal:
                    break
                one = equal[0]
                full.add(one)
        return full

    def rows(self) -> RowView:
        qualified: dict[str, Mapping[str, Tree]] = {word: rows.columns for word, rows in self.views.items()}
        inside = {**self.main.rows.qualified, **qualified}
        keys = {name: full for rows in reversed(self.views.values()) for name, full in rows.keys.items()}
        columns = {**_plain(qualified), **self.merged}
        names = frozenset(qualified)
        elsewhere = self.main.rows.elsewhere
        how, condition = self.how, self.condition.condition
        tables = {word.lower(): table for table, word in self.words.items()}
        return RowView(columns, condition, names, qualified and inside, how, keys, elsewhere=elsewhere, tables=tables)


def _lower(keys: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): full for name, full in keys.items()}


def _keys_of(schema: Schema, table: str) -> dict[str, str]:
    """The columns of a table that a join may name, with their full names."""
    of = [ours for one in schema.tables.values() for ours, _ in one.keys]
    if not table:
        person = schema.person_here
        own = [*([] if person is None else [person]), *(ours for ours in of if not schema.table_of(ours))]
        return {name: name for name in own}
    joined = schema.tables[table]
    theirs = [*([] if joined.person is None else [joined.person]), *(name for _, name in joined.keys)]
    theirs += [own_name(schema.tables, ours) for ours in of if schema.table_of(ours) == table]
    return {name: f"{table}.{name}" for name in theirs}


def _beside_itself(tables: Sequence[str]) -> str:
    return (
        f"Rows of {tables[-1]} beside other rows of {tables[-1]} are no rows of one person alone: join a further table "
        "by its name."
    )


def _of_main(table: str, schema: Schema, tables: Sequence[str]) -> str:
    return f"The rows of this study are those of {tables[-1]}. Write FROM {tables[-1]} {_join(schema, table, tables)}."


def _join(schema: Schema, table: str, tables: Sequence[str]) -> str:
    """The join that the study declares of a table with the main one."""
    return f"JOIN {table} ON {_shown(schema, table, {'': tables[-1]})}"


def _elsewhere(schema: Schema, tables: Sequence[str]) -> dict[str, str]:
    """Words for names that the main table has not as columns: those of further tables, keys and the person."""
    found: dict[str, str] = {}
    for full in schema.columns:
        if table := schema.table_of(full):
            own = own_name(schema.tables, full)
            words = f"{own} is a column of {table}: {_join(schema, table, tables)}."
            found.setdefault(own.lower(), words)
    for name in _keys_of(schema, ""):
        found[name.lower()] = f"{name} joins tables and is not declared: {section(name)} makes it a column."
    if (person := schema.person_here) is not None:
        found[person.lower()] = f"{person} names the person. COUNT(DISTINCT {person}) counts persons, COUNT(*) rows."
    return found


def _plain(qualified: Mapping[str, Mapping[str, Tree]]) -> dict[str, Tree]:
    """The columns that need no table before them: those whose name one table has."""
    found: dict[str, Tree] = {}
    several: set[str] = set()
    for columns in qualified.values():
        several |= columns.keys() & found.keys()
        found |= columns
    return {name: tree for name, tree in found.items() if name not in several}


def _how(node: Any, first: NamedRows, given: NamedRows, schema: Schema, tables: Sequence[str]) -> str:
    """The kind of a join, whose node holds nothing but that and a condition."""
    if not given.rows.table and not first.rows.table:
        raise refusal(_beside_itself(tables))
    table = given.rows.table or first.rows.table or tables[-1]
    words = {"": tables[-1] if first.rows.table else first.word, table: given.word if given.rows.table else first.word}
    shown = _shown(schema, table, words) if table in schema.tables else "…"
    side, kind, method = (str(node.args.get(part) or "") for part in ("side", "kind", "method"))
    if side == "FULL":
        raise refusal(
            f"FULL JOIN keeps rows of {table} without one of {tables[-1]}, and rows here are those of {tables[-1]}: "
            f"write LEFT JOIN {table} ON {shown}."
        )
    if method or (side, kind) not in HOW:
        word = " ".join(filter(None, (method, side, kind)))
        raise refusal(f"{word} JOIN is not allowed here. Write JOIN {table} ON {shown}, or LEFT JOIN.")
    parts(node, "this", "on", "using", "side", "kind")
    if node.args.get("on") is None and not node.args.get("using"):
        raise refusal(f"A comma between tables, or JOIN without ON, {CROSSED}. Write JOIN {table} ON {shown}.")
    return HOW[side, kind]


def _pairs(schema: Schema, table: str) -> list[tuple[str, str]]:
    """The columns that agree: of the main table, or of one that is joined before, and of the further one."""
    joined = schema.tables[table]
    named = joined.person is not None and table not in schema.owners
    person = [(schema.person.column or "", joined.person or "")] if named else []
    return [*person, *(pair for pair in joined.keys if pair not in person)]


def _shown(schema: Schema, table: str, words: Mapping[str, str]) -> str:
    """The condition of the join that the study declares, by what the statement calls its tables."""

    def column(full: str) -> str:
        at = schema.table_of(full)
        return f"{words.get(at, at)}.{own_name(schema.tables, full)}"

    return " AND ".join(f"{column(ours)} = {column(f'{table}.{theirs}')}" for ours, theirs in _pairs(schema, table))


def _equalities(node: Any) -> Iterator[Any]:
    match node.key:
        case "and":
            parts(node, "this", "expression")
            yield from _equalities(node.this)
            yield from _equalities(node.expression)
        case "paren":
            parts(node, "this")
            yield from _equalities(node.this)
        case _:
            yield node


def _columns_of(node: Any, found: Any) -> tuple[set[str], set[str]]:
    """The declared columns of the sides of one equality; none for anything else."""
    if node.key != "eq" or node.this.key != "column" or node.expression.key != "column":
        return set(), set()
    parts(node, "this", "expression")
    one, other = (_side(side, found) for side in (node.this, node.expression))
    return one, other


def _side(node: Any, found: Any) -> set[str]:
    parts(node, "this", "table")
    if node.this.key != "identifier":
        return set()
    table = node.args.get("table")
    named: set[str] = found("" if table is None else name_of(table), name_of(node.this))
    return named
