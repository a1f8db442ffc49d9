"""FROM: the main table of a study, and the further tables that a statement joins to it.

    FROM visits v JOIN patients p ON v.patient = p.patient LEFT JOIN wards w USING (ward)

The study declares how each table is reached, and a statement says it again: another join is refused with that one.
JOIN leaves out rows without a partner, LEFT JOIN keeps them. The name ``study`` alone is the rows with all tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from reticent.data.expression_tree import ColumnName, Tree
from reticent.sql.syntax import TABLE, name_of, parts, refusal
from reticent.sql.view import RowView

if TYPE_CHECKING:
    from reticent.data.schema import Schema

CROSSED: Final = "pairs everybody with everybody"
HOW: Final[Mapping[tuple[str, str], str]] = {
    ("", ""): "inner",
    ("", "INNER"): "inner",
    ("LEFT", ""): "left",
    ("LEFT", "OUTER"): "left",
}


def base_rows(name: str, alias: str, joins: Sequence[Any], schema: Schema, tables: Sequence[str]) -> RowView:
    """The rows of the main table with those joined to it.

    Parameters
    ----------
    name, alias : str
        Of the table after FROM; the alias is empty where there is none.
    joins : sequence of nodes
    schema : Schema
    tables : sequence of str
        The names of the main table.

    Raises
    ------
    QuestionError
        Another table, or a join that the study does not declare.
    """
    main = tables[-1]
    if name.lower() in [one.lower() for one in schema.tables]:
        raise refusal(f"The rows of this study are those of {main}. Write FROM {main} JOIN {name} ON …")
    if name.lower() not in [one.lower() for one in tables]:
        raise refusal(f"There is no table '{name}'. Write FROM {main}.")
    called = alias or name
    aliases: Mapping[str, str]
    how: Mapping[str, str]
    if not joins and name.lower() == TABLE:
        how = {table: joined.join for table, joined in schema.tables.items()}
        aliases = {table: table for table in schema.tables}
    else:
        aliases, how = _joined(joins, called, schema)
    for table, joined in schema.tables.items():
        if joined.always and table not in how:
            word = "JOIN" if joined.join == "inner" else "LEFT JOIN"
            raise refusal(f"The study joins {table} to each row: {word} {table} ON {_declared(schema, table, called)}.")
    own = {one: ColumnName(one) for one in schema.columns if not schema.table_of(one)}
    qualified: dict[str, Mapping[str, Tree]] = {called.lower(): own}
    for table, word in aliases.items():
        qualified[word.lower()] = {
            one.partition(".")[2]: ColumnName(one) for one in schema.columns if schema.table_of(one) == table
        }
    return RowView(_plain(qualified), None, frozenset(qualified), qualified, how)


def _plain(qualified: Mapping[str, Mapping[str, Tree]]) -> dict[str, Tree]:
    """The columns that need no table before them: those whose name one table has."""
    found: dict[str, Tree] = {}
    several: set[str] = set()
    for columns in qualified.values():
        several |= columns.keys() & found.keys()
        found |= columns
    return {name: tree for name, tree in found.items() if name not in several}


def _joined(joins: Sequence[Any], main: str, schema: Schema) -> tuple[dict[str, str], dict[str, str]]:
    """The alias of each table that is joined, and its kind of join."""
    aliases: dict[str, str] = {}
    how: dict[str, str] = {}
    for node in joins:
        table, word = _table(node.this, schema, main)
        expected = _declared(schema, table, main, word)
        side, kind, method = (str(node.args.get(part) or "") for part in ("side", "kind", "method"))
        if method or (side, kind) not in HOW:
            shown = " ".join(filter(None, (method, side, kind)))
            raise refusal(f"{shown} JOIN is not allowed here. Write JOIN {table} ON {expected}, or LEFT JOIN.")
        parts(node, "this", "on", "using", "side", "kind")
        if node.args.get("on") is None and not node.args.get("using"):
            raise refusal(f"A comma between tables, or JOIN without ON, {CROSSED}. Write JOIN {table} ON {expected}.")
        if table in aliases:
            raise refusal(f"{table} is joined twice. A row has one partner there: JOIN {table} once.")
        if word.lower() in (main.lower(), *map(str.lower, aliases.values())):
            raise refusal(f"Two tables are called {word}: name one with AS.")
        _check(node, table, {main.lower(): "", word.lower(): table}, schema, expected)
        declared = schema.tables[table].join
        if (declared, HOW[side, kind]) == ("inner", "left"):
            raise refusal(f"The study leaves out rows without {table}: write JOIN {table}, not LEFT JOIN.")
        aliases[table], how[table] = word, HOW[side, kind]
    return aliases, how


def _table(node: Any, schema: Schema, main: str) -> tuple[str, str]:
    """The further table of a join, and what the statement calls it."""
    if node.key != "table" or node.this.key != "identifier":
        raise refusal("JOIN takes a table by its name. Filter its rows with WHERE.")
    if node.args.get("db") is not None or node.args.get("catalog") is not None:
        raise refusal("A table stands by its one name: JOIN patients.")
    parts(node, "this", "alias")
    name = name_of(node.this)
    alike = [one for one in schema.tables if one.lower() == name.lower()]
    if not alike:
        known = f"Its tables: {', '.join(schema.tables)}." if schema.tables else f"It has one: FROM {main}."
        raise refusal(f"This study has no table '{name}' to join. {known}")
    alias = node.args.get("alias")
    if alias is None:
        return alike[0], alike[0]
    parts(alias, "this")
    return alike[0], name_of(alias.this)


def _pairs(schema: Schema, table: str) -> list[tuple[str, str]]:
    """The columns that agree: of the main table, and of the further one."""
    joined = schema.tables[table]
    person = [] if joined.person is None else [(schema.person.column or "", joined.person)]
    return [*person, *(pair for pair in joined.keys if pair not in person)]


def _declared(schema: Schema, table: str, main: str, word: str = "") -> str:
    """The condition of the join that the study declares."""
    return " AND ".join(f"{main}.{ours} = {word or table}.{theirs}" for ours, theirs in _pairs(schema, table))


def _check(node: Any, table: str, known: Mapping[str, str], schema: Schema, expected: str) -> None:
    """Refuse a condition other than the declared one, whose words are ``expected``."""
    declared = {(ours.lower(), theirs.lower()) for ours, theirs in _pairs(schema, table)}
    if node.args.get("using"):
        names = [name_of(one).lower() for one in node.args["using"]]
        found = [(name, name) for name in names]
    else:
        found = [_pair(one, known, declared) for one in _equalities(node.args["on"])]
    if len(found) != len(declared) or set(found) != declared:
        raise refusal(f"{table} is joined as the study declares: JOIN {table} ON {expected}.")


def _equalities(node: Any) -> list[Any]:
    match node.key:
        case "and":
            parts(node, "this", "expression")
            return [*_equalities(node.this), *_equalities(node.expression)]
        case "paren":
            parts(node, "this")
            return _equalities(node.this)
        case _:
            return [node]


def _pair(node: Any, known: Mapping[str, str], declared: set[tuple[str, str]]) -> tuple[str, str]:
    """The columns of one equality, the main table's first; empty names for anything else."""
    if node.key != "eq" or node.this.key != "column" or node.expression.key != "column":
        return "", ""
    parts(node, "this", "expression")
    sides = [_side(one, known) for one in (node.this, node.expression)]
    for (first, ours), (second, theirs) in (sides, sides[::-1]):
        if first in ("", None) and second != "" and (ours, theirs) in declared:
            return ours, theirs
    return "", ""


def _side(node: Any, known: Mapping[str, str]) -> tuple[str | None, str]:
    """The table of a column, empty for the main one and None where none is said; and its name."""
    parts(node, "this", "table")
    if node.this.key != "identifier":
        return None, ""
    table = node.args.get("table")
    said = None if table is None else known.get(name_of(table).lower(), "?")
    return said, "" if said == "?" else name_of(node.this).lower()
