"""Scalars of SQL: what is computed from the cells of one row, as an expression of this package.

An operator or function stands in ``_OPERATIONS`` or has a reading of its own. Anything else is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from reticent.data.expression_tree import Application, KeyLiteral, NumberLiteral, Tree, joined
from reticent.data.format import nearest
from reticent.errors import first_of
from reticent.sql.syntax import name_of, only_part, parts, refusal
from reticent.sql.view import RowView

ONE: Final = NumberLiteral(Fraction(1))

# nodes with the operation, and the parts that hold its operands in order
_OPERATIONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "add": ("+", ("this", "expression")),
    "sub": ("-", ("this", "expression")),
    "mul": ("*", ("this", "expression")),
    "div": ("/", ("this", "expression")),
    "eq": ("=", ("this", "expression")),
    "neq": ("!=", ("this", "expression")),
    "lt": ("<", ("this", "expression")),
    "lte": ("<=", ("this", "expression")),
    "gt": (">", ("this", "expression")),
    "gte": (">=", ("this", "expression")),
    "abs": ("abs", ("this",)),
    "ln": ("log", ("this",)),
    "sqrt": ("sqrt", ("this",)),
    "lower": ("lower", ("this",)),
    "trim": ("trim", ("this",)),
    "left": ("left", ("this", "expression")),
    "least": ("least", ("this", "expressions")),
    "greatest": ("greatest", ("this", "expressions")),
    "coalesce": ("coalesce", ("this", "expressions")),
    **{word: (word, ("this",)) for word in ("year", "quarter", "month", "week", "day", "hour")},
    "dayofweekiso": ("weekday", ("this",)),
}
_PARTS: Final = {"isodow": "weekday", **{word: word for word in ("year", "quarter", "month", "week", "day", "hour")}}
_INSTEAD: Final[Mapping[str, str]] = {
    "like": "list the keys: ward IN ('north', 'south'), or LEFT(code, 3) = 'I21'",
    "ilike": "list the keys: ward IN ('north', 'south')",
    "cast": "declare the column as what it is, in the study",
    "trycast": "declare the column as what it is, in the study",
    "mod": "cut classes: CASE WHEN x < 10 THEN …",
    "intdiv": "FLOOR(x / 10)",
    "ceil": "FLOOR(x)",
    "trunc": "FLOOR(x)",
    "pow": "x * x",
    "exp": "a column that holds it",
    "sign": "CASE WHEN x > 0 THEN 1 ELSE 0 END",
    "nullif": "AVG(x) FILTER (WHERE x <> 0)",
    "nullsafeeq": "x = 3, or x IS NULL",
    "nullsafeneq": "x <> 3, or x IS NOT NULL",
    **dict.fromkeys(("dpipe", "concat"), "group by both columns"),
    **dict.fromkeys(("interval", "dateadd", "datesub"), "DATE_DIFF('day', a, b) > 2"),
    **dict.fromkeys(("currentdate", "currenttimestamp", "datefromparts"), "a date, DATE '2024-03-01'"),
    **dict.fromkeys(("timetostr", "tochar"), "DATE_TRUNC('month', x), or MONTH(x)"),
    **dict.fromkeys(("minute", "second"), "HOUR(x)"),
    "monthname": "MONTH(x)",
    "lastday": "DATE_TRUNC('month', x)",
    "dayofweek": "EXTRACT(ISODOW FROM x)",
    "dayofyear": "EXTRACT(WEEK FROM x)",
    "substring": "LEFT(x, 3)",
    **dict.fromkeys(
        ("regexplike", "regexpfullmatch", "similarto", "glob", "startswith", "right", "length", "replace"),
        "list the keys: ward IN ('north', 'south'), or LEFT(code, 3) = 'I21'",
    ),
    **dict.fromkeys(
        ("first", "last", "firstvalue", "lastvalue", "ignorenulls"), "MEDIAN(x), or COUNT(*) with GROUP BY"
    ),
    **dict.fromkeys(("logicaland", "logicalor"), "COUNT_IF(x > 3)"),
    **dict.fromkeys(("skewness", "kurtosis"), "COUNT(*) with GROUP BY FLOOR(x / 10)"),
    **dict.fromkeys(("argmax", "argmin"), "PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY x)"),
    "upper": "LOWER(x)",
    "log": "LN(x), the natural logarithm",
    "rand": "the noise is drawn by the release",
    "exists": "a JOIN that the study declares, or a condition",
    "null": "x IS NULL, or COALESCE(x, 0)",
    "round": "the number as it is, which is shown to the digits that its interval leaves",
    "mode": "COUNT(*) with GROUP BY, whose ORDER BY and LIMIT cost nothing",
    "arrayagg": "COUNT(*) with GROUP BY",
    "groupconcat": "COUNT(*) with GROUP BY",
    "anyvalue": "MEDIAN(x)",
    "corr": "the line test(x ~ y, kind=correlation) of a release",
    "covarpop": "the line regress(y ~ x) of a release",
    "covarsamp": "the line regress(y ~ x) of a release",
    "regrslope": "the line regress(y ~ x) of a release",
    "regrintercept": "the line regress(y ~ x) of a release",
    "approxdistinct": "COUNT(DISTINCT person)",
    "approxquantile": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
    "approxquantiles": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
    "widthbucket": "CASE WHEN x < 10 THEN 'low' ELSE 'high' END",
    "window": "ORDER BY and LIMIT, which cost nothing after a release",
    "subquery": "a JOIN that the study declares, or a condition",
    "select": "a JOIN that the study declares, or a condition",
}
_FUNCTIONS: Final[Mapping[str, str]] = {
    "ANON_COUNT": "COUNT(*)",
    "ANON_SUM": "SUM(x)",
    "ANON_AVG": "AVG(x)",
    "ANON_PERCENTILE_CONT": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
    "ANON_QUANTILES": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
    "ANON_VAR_POP": "VARIANCE(x)",
    "ANON_STDDEV_POP": "STDDEV(x)",
    "AGE": "DATE_DIFF('day', a, b)",
    "DATE_PART": "EXTRACT(MONTH FROM x)",
    "ENTROPY": "COUNT(*) with GROUP BY",
    "GEOMEAN": "AVG(LN(x))",
    "HISTOGRAM": "COUNT(*) with GROUP BY FLOOR(x / 10)",
    "ISNULL": "x IS NULL",
    "NOW": "a date, DATE '2024-03-01'",
    "PRODUCT": "SUM(LN(x))",
}


def tree_of(node: Any, rows: RowView) -> Tree:
    """The expression of a scalar over the columns of a view.

    Parameters
    ----------
    node : node of SQLGlot
    rows : RowView
        What each name of its tables, or of a subquery, stands for.

    Raises
    ------
    QuestionError
        A word that no expression has, with what to write instead; an unknown column.
    """
    if node is None:
        raise refusal("An operand is missing in the statement.")
    reading = _READINGS.get(node.key)
    if reading is not None:
        return reading(node, rows)
    if node.key in _OPERATIONS:
        operation, names = _OPERATIONS[node.key]
        parts(node, *names)
        found: list[Any] = []
        for name in names:
            value = node.args.get(name)
            found += value if isinstance(value, list) else [value]
        return Application(operation, tuple(tree_of(one, rows) for one in found))
    raise refusal(unknown(node))


def unknown(node: Any) -> str:
    """The words for a node that is not allowed, with what to write instead."""
    word = node.key
    if word == "anonymous":
        named = str(node.this).upper()
        instead = f" Write instead: {_FUNCTIONS[named]}." if named in _FUNCTIONS else ""
        return f"There is no function {named} here.{instead}"
    hint = f" Write instead: {_INSTEAD[word]}." if word in _INSTEAD else ""
    return f"{_title(node)} is not allowed in an expression of a row.{hint}"


def unknown_around(node: Any) -> str:
    """The words for a node around aggregates that is not allowed, with what to write instead."""
    instead = _AROUND.get(node.key) or _INSTEAD.get(node.key) or "the aggregate alone, and compute the rest from it"
    return f"{_title(node)} is not allowed in arithmetic on aggregates. Write instead: {instead}."


def _title(node: Any) -> str:
    """The word of a node, as it is written in SQL."""
    if node.key in _TITLES:
        return _TITLES[node.key]
    if node.key in _OPERATIONS:
        return _OPERATIONS[node.key][0].upper()
    return str(node.sql_name() if hasattr(node, "sql_name") else node.key.upper())


_AROUND: Final[Mapping[str, str]] = {
    **dict.fromkeys(("eq", "neq", "lt", "lte", "gt", "gte", "case", "if"), "HAVING AVG(x) > 3, which chooses rows"),
    "nullif": "SUM(x) / COUNT(*), which has no reply where the divisor may be 0",
    "coalesce": "the aggregate alone; the column no_reply names what has no number",
}
_TITLES: Final[Mapping[str, str]] = {
    "window": "A window (OVER)",
    "subquery": "A subquery inside an expression",
    "dpipe": "||",
    "mod": "%",
    "null": "NULL",
    "select": "A subquery inside an expression",
    "intdiv": "//",
    "pow": "POWER",
    "dateadd": "DATE_ADD",
    "datesub": "DATE_SUB",
    "timetostr": "STRFTIME",
    "groupconcat": "STRING_AGG",
    "ignorenulls": "ANY_VALUE",
    "approxdistinct": "APPROX_COUNT_DISTINCT",
    "logicaland": "BOOL_AND",
    "logicalor": "BOOL_OR",
    "regexplike": "REGEXP_MATCHES",
    "regexpfullmatch": "A regular expression",
    "similarto": "SIMILAR TO",
    "startswith": "STARTS_WITH",
    "nullsafeeq": "IS NOT DISTINCT FROM",
    "nullsafeneq": "IS DISTINCT FROM",
    "datefromparts": "MAKE_DATE",
}


def column_of(
    name: str, columns: Mapping[str, Tree], *, quoted: bool, elsewhere: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The spelling of a column; without double quotes capitals do not matter where that leaves one.

    Parameters
    ----------
    name : str
        Name as it is written.
    columns : mapping of str to Tree
        Columns of the table, by name.
    quoted : bool
        True for a name in double quotes, whose capitals matter.
    elsewhere : mapping of str to str
        Words for names that are no column here, in small letters.

    Returns
    -------
    str
        Declared name.

    Raises
    ------
    QuestionError
        A name of no column, or of several.
    """
    if name in columns:
        return name
    alike = [] if quoted else [one for one in columns if one.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    if not alike and name.lower() in elsewhere:
        raise refusal(elsewhere[name.lower()])
    near = nearest(name, columns)
    hint = f" Did you mean {near}?" if near else ""
    quotes = " A text stands in single quotes." if quoted else ""
    raise refusal(f"There is no column '{name}'.{hint}{quotes} Declared columns: {first_of(columns)}.")


def _column(node: Any, rows: RowView) -> Tree:
    parts(node, "this", "table")
    if node.this.key == "star":
        raise refusal("* stands in COUNT(*) alone.")
    name, quoted, table = name_of(node.this), bool(node.this.args.get("quoted")), node.args.get("table")
    if table is not None and rows.qualified:
        columns = rows.qualified.get(name_of(table).lower(), {})
        return columns[column_of(name, columns, quoted=quoted, elsewhere=rows.elsewhere)]
    several = [f"{one}.{name}" for one, columns in rows.qualified.items() if name.lower() in map(str.lower, columns)]
    if len(several) > 1 and name.lower() not in map(str.lower, rows.columns):
        raise refusal(f"'{name}' is a column of several tables. Say {' or '.join(several)}.")
    return rows.columns[column_of(name, rows.columns, quoted=quoted, elsewhere=rows.elsewhere)]


def _literal(node: Any, _: RowView) -> Tree:
    parts(node, "this", "is_string")
    if node.args.get("is_string"):
        return KeyLiteral(str(node.this))
    return NumberLiteral(number_of(node))


def number_of(node: Any) -> Fraction:
    """The public number of a literal."""
    if node.key == "neg":
        parts(node, "this")
        return -number_of(node.this)
    if node.key == "paren":
        parts(node, "this")
        return number_of(node.this)
    try:
        if node.key == "literal" and not node.args.get("is_string") and len(str(node.this)) <= 40:
            found = Decimal(str(node.this))
            if found.is_finite() and abs(found.adjusted()) <= 300:
                return Fraction(found)
    except ArithmeticError:
        pass
    raise refusal("A public number stands here, such as 0.5.")


def _boolean(node: Any, _: RowView) -> Tree:
    parts(node, "this")
    return KeyLiteral(bool(node.this))


def _paren(node: Any, rows: RowView) -> Tree:
    parts(node, "this")
    return tree_of(node.this, rows)


def _negative(node: Any, rows: RowView) -> Tree:
    parts(node, "this")
    inner = tree_of(node.this, rows)
    if isinstance(inner, NumberLiteral):
        return NumberLiteral(-inner.value)
    return Application("-", (NumberLiteral(Fraction(0)), inner))


def _logic(word: str) -> Callable[[Any, RowView], Tree]:
    def reading(node: Any, rows: RowView) -> Tree:
        parts(node, "this", "expression")
        return joined(word, tree_of(node.this, rows), tree_of(node.expression, rows))

    return reading


def _not(node: Any, rows: RowView) -> Tree:
    parts(node, "this")
    return Application("not", (tree_of(node.this, rows),))


def _is(node: Any, rows: RowView) -> Tree:
    parts(node, "this", "expression")
    match node.expression.key:
        case "null":
            return Application("is missing", (tree_of(node.this, rows),))
        case "boolean":
            found = Application("=", (tree_of(node.this, rows), KeyLiteral(bool(node.expression.this))))
            return Application("and", (found, Application("not", (Application("is missing", (found.operands[0],)),))))
        case _:
            raise refusal("IS asks for NULL, TRUE or FALSE.")


def _between(node: Any, rows: RowView) -> Tree:
    parts(node, "this", "low", "high")
    x, low, high = (tree_of(node.args[name], rows) for name in ("this", "low", "high"))
    return joined("and", Application(">=", (x, low)), Application("<=", (x, high)))


def _among(node: Any, rows: RowView) -> Tree:
    if node.args.get("query") is not None:
        raise refusal(f"A QUERY inside IN is not allowed. Write instead: {_INSTEAD['subquery']}.")
    parts(node, "this", "expressions")
    if not node.expressions:
        raise refusal("IN takes a list of public values, at least one.")
    return Application("in", tuple(tree_of(one, rows) for one in (node.this, *node.expressions)))


def _case(node: Any, rows: RowView) -> Tree:
    parts(node, "this", "ifs", "default")
    if node.args.get("default") is None:
        raise refusal("CASE needs an ELSE: what the other rows have.")
    subject = node.args.get("this")
    found: list[Tree] = []
    for one in node.args["ifs"]:
        parts(one, "this", "true")
        condition = tree_of(one.this, rows)
        if subject is not None:
            condition = Application("=", (tree_of(subject, rows), condition))
        found += [condition, tree_of(one.args["true"], rows)]
    return Application("case", (*found, tree_of(node.args["default"], rows)))


def _if(node: Any, rows: RowView) -> Tree:
    """``IF(condition, x, y)``, a CASE of two."""
    parts(node, "this", "true", "false")
    if node.args.get("false") is None:
        raise refusal("IF needs three parts: the last is what the other rows have.")
    return Application("case", tuple(tree_of(node.args[name], rows) for name in ("this", "true", "false")))


def _named_function(node: Any, rows: RowView) -> Tree:
    """``DAYS(b - a)`` and ``HOURS(b - a)``, of a difference of dates."""
    word = str(node.this).lower()
    if word not in ("days", "hours") or len(node.expressions) != 1:
        raise refusal(unknown(node))
    parts(node, "this", "expressions")
    return Application(word, (tree_of(node.expressions[0], rows),))


def _floor(node: Any, rows: RowView) -> Tree:
    parts(node, "this")
    return Application("floor", (tree_of(node.this, rows), ONE))


def _date(node: Any, rows: RowView) -> Tree:
    """``DATE '2024-03-01'`` or ``TIMESTAMP '2024-03-01 10:00'``; no other cast is read."""
    parts(node, "this", "to")
    inner, kind = node.this, str(node.args["to"].this).rpartition(".")[2]
    if not (inner.key == "literal" and inner.args.get("is_string") and kind in ("DATE", "TIMESTAMP", "TIMESTAMPNTZ")):
        raise refusal(unknown(node))
    return KeyLiteral(str(inner.this))  # beside a date a text is read as one


def _extract(node: Any, rows: RowView) -> Tree:
    """``EXTRACT(YEAR FROM x)``."""
    parts(node, "this", "expression")
    word = str(node.this.this).lower()
    if word not in _PARTS:
        raise refusal(f"EXTRACT takes {', '.join(_PARTS).upper()}.")
    return Application(_PARTS[word], (tree_of(node.expression, rows),))


def _unit(node: Any) -> str:
    """The word of a unit of time, empty where none stands there."""
    found = node.args.get("unit")
    return "" if found is None else str(found.this).lower()


def _truncated(node: Any, rows: RowView) -> Tree:
    """``DATE_TRUNC('month', x)``."""
    parts(node, "this", "unit")
    return Application("trunc", (tree_of(node.this, rows), KeyLiteral(_unit(node))))


def _between_dates(node: Any, rows: RowView) -> Tree:
    """``DATE_DIFF('day', a, b)``: the days, or hours, from a to b."""
    parts(node, "this", "expression", "unit")
    unit = _unit(node)
    if unit not in ("day", "hour"):
        raise refusal("DATE_DIFF counts days or hours: DATE_DIFF('day', a, b).")
    span = Application("-", (tree_of(node.this, rows), tree_of(node.expression, rows)))
    return Application(f"{unit}s", (span,))


_READINGS: Final[Mapping[str, Callable[[Any, RowView], Tree]]] = {
    "column": _column,
    "literal": _literal,
    "boolean": _boolean,
    "paren": _paren,
    "neg": _negative,
    "and": _logic("and"),
    "or": _logic("or"),
    "not": _not,
    "is": _is,
    "between": _between,
    "in": _among,
    "case": _case,
    "if": _if,
    "anonymous": _named_function,
    "floor": _floor,
    "cast": _date,
    "extract": _extract,
    "timestamptrunc": _truncated,
    "datetrunc": _truncated,
    "datediff": _between_dates,
}


def nth_column(node: Any, clause: str, columns: int) -> int:
    """The place, from 0, of a column of the SELECT that a clause names by its number.

    Parameters
    ----------
    node : node of SQLGlot
    clause : str
        Name of the clause, such as "ORDER BY".
    columns : int
        Number of columns of the SELECT.

    Returns
    -------
    int

    Raises
    ------
    QuestionError
        There is no column of this number.
    """
    place = number_of(node)
    if place.denominator != 1 or not 1 <= place <= columns:
        raise refusal(f"{clause} {node.this}: the SELECT has {columns} columns.")
    return int(place) - 1


def limit_of(node: Any) -> int:
    found = number_of(only_part(node, "expression"))
    if found.denominator != 1 or found < 0:
        raise refusal("LIMIT takes a whole number.")
    return int(found)
